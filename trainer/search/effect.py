"""Which actions of a table have an effect: two tables that differ in others need one measurement.

As the engine derives when it compiles a table (`engine/protocol/compiled_policy.h`), and a little
further: a dirty read sees something only where somebody's writes to that table are public; a type
has dependencies only from its own effective dirty reads and public writes on; and nobody depends on
a type that has no publication point. Of a schedule only what its policy goes by has an effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.search.layout import Layout


def effective(layout: Layout, vector: Sequence[int]) -> tuple[int, ...]:
    """The table with `CLEAN` and `NO_WAIT` for dirty reads and waits that nobody could notice."""
    table = list(vector)
    accesses = layout.signature.accesses
    published = {one.table for one in accesses if vector[layout.write(one.state)]}
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
    """The states after which a table publishes."""
    states = range(layout.signature.state_count)
    return frozenset(s for s in states if vector[layout.write(s)] or vector[layout.validate(s)])


def _may_be_waited_for(layout: Layout, table: Sequence[int], states: Iterable[int]) -> bool:
    return any(table[layout.write(s)] or table[layout.validate(s)] for s in states)


def _depends_before(layout: Layout, table: Sequence[int], state: int) -> bool:
    """Whether a transaction may depend on another one when it comes to this access."""
    accesses = layout.signature.accesses
    states = layout.signature.types[layout.type_of[state]].states
    end = state
    while end < states.stop and accesses[end].loop:  # the round before went to the loop's end
        end += 1
    before = range(states.start, end)
    return any(table[layout.read(s)] or table[layout.write(s)] for s in before)
