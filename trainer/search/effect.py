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
    for access in accesses:
        bound = _depends_before(layout, table, access.state)
        for cell, may_be_waited_for in zip(layout.waits(access.state), known, strict=True):
            if not (bound and may_be_waited_for):
                table[cell] = 0
    return layout.encoding.canonical(table)


def points(layout: Layout, vector: Sequence[int]) -> frozenset[int]:
    """Return the states after which a table publishes."""
    states = range(layout.signature.state_count)
    return frozenset(s for s in states if vector[layout.write(s)] or vector[layout.validate(s)])


def _may_be_waited_for(layout: Layout, table: Sequence[int], states: Iterable[int]) -> bool:
    return any(table[layout.write(s)] or table[layout.validate(s)] for s in states)


def _depends_before(layout: Layout, table: Sequence[int], state: int) -> bool:
    """Return whether a transaction may depend on another one when it reaches this access."""
    accesses = layout.signature.accesses
    states = layout.signature.types[layout.type_of[state]].states
    end = state
    while end < states.stop and accesses[end].loop:  # the previous round has run to the loop's end
        end += 1
    before = range(states.start, end)
    return any(table[layout.read(s)] or table[layout.write(s)] for s in before)
