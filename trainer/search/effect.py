"""The actions of a table that have an effect: tables that differ in others are measured once.

The rules are those by which the engine compiles a table (`engine/protocol/compiled_policy.h`), and
three more. A dirty read has an effect only if some type publishes writes to that table. A type has
dependencies only from its own first effective dirty read or public write on. No transaction depends
on a type without a publication point. Of a schedule only the parameters of its policy have an
effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.search.layout import Layout


def effective(layout: Layout, vector: Sequence[int]) -> tuple[int, ...]:
    """Return the table with `CLEAN` and `NO_WAIT` for dirty reads and waits without effect."""
    table = list(vector)
    accesses = layout.signature.accesses
    published = {access.table for access in accesses if vector[layout.write(access.state)]}
    for access in accesses:
        if access.table not in published:
            table[layout.read(access.state)] = 0
    known = [_may_be_waited_for(layout, table, kind.states) for kind in layout.signature.types]
    for kind in layout.signature.types:
        first = _first_dependency(layout, table, kind.states)
        for state in kind.states:
            bound = first < layout.reached[state]
            for cell, may_be_waited_for in zip(layout.waits(state), known, strict=True):
                if not (bound and may_be_waited_for):
                    table[cell] = 0
    return layout.encoding.canonical(table)


def points(layout: Layout, vector: Sequence[int]) -> frozenset[int]:
    """Return the states after which a table publishes."""
    states = range(layout.signature.state_count)
    return frozenset(s for s in states if vector[layout.write(s)] or vector[layout.validate(s)])


def _may_be_waited_for(layout: Layout, table: Sequence[int], states: Iterable[int]) -> bool:
    return any(table[layout.write(s)] or table[layout.validate(s)] for s in states)


def _first_dependency(layout: Layout, table: Sequence[int], states: range) -> int:
    """Return the first access from which a transaction may depend on another; their end if none."""
    dependent = (s for s in states if table[layout.read(s)] or table[layout.write(s)])
    return next(dependent, states.stop)
