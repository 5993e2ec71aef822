"""Changes of a table that mean something: a unit of concurrency control at a time, not a cell.

Most cells of a good table rest on others. The waits of one access belong together; so do the waits
of one type for another all along it, the writes to a table and the reads that are to see them, and
a publication point with what is waited for before it. To change one cell of such a unit is rarely
better, however good the table that it is on the way to. Each move here changes a unit. Where it
strikes is drawn by blame (`trainer.search.blame`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from policies import SEEDS, build_seed
from policies.document import ALPHAS, PRIOR_ABORTS
from trainer.search.blame import Blame
from trainer.search.layout import Layout
from trainer.search.space import Space

Change = Mapping[int, int]
"""New values by cell."""

STEPS = (-2, -1, 1, 2)
"""How far a wait moves along the accesses of a type."""

AS_ANOTHER = 0.4
"""How often a schedule changes by its policy, or becomes another table's, not by a parameter."""

AT_END = 0.5
"""How often a type's only publication point is after its last access."""


@dataclass(frozen=True)
class Context:
    """What a move is drawn with.

    Attributes:
        vector: the table to change.
        blame: where it loses time.
        donors: other tables that are good; there may be none.
        gains: changes that have made a table better.
    """

    vector: tuple[int, ...]
    blame: Blame
    donors: Sequence[tuple[int, ...]]
    gains: Sequence[Change] = ()


class Moves:
    """Draws moves of a space.

    Args:
        space: whose tables they change. What it does not allow is left as it is.
        random: the source of randomness.

    Attributes:
        layout: of the tables.
        random: the source of randomness.
        names: the moves that can change a cell which has a choice there.
        seeds: the seeds' tables.
    """

    def __init__(self, space: Space, random: Random) -> None:
        self.layout = Layout(space.encoding)
        self.random = random
        self._values = space.values
        self._allowed = [frozenset(values) for values in space.values]
        self.names = [name for name, move in MOVES.items() if self.open(move.reach(self.layout))]
        self.seeds = [
            tuple(space.encoding.encode(build_seed(name, self.layout.signature))) for name in SEEDS
        ]

    def make(self, name: str, context: Context) -> tuple[int, ...]:
        """The table after a move, one of `MOVES`; as it was if the move came to nothing."""
        vector = list(context.vector)
        for cell, value in MOVES[name].draw(self, context).items():
            if value in self._allowed[cell]:
                vector[cell] = value
        return tuple(vector)

    def state(self, context: Context) -> int:
        """A state, by blame."""
        weights = context.blame.states
        (state,) = self.random.choices(range(len(weights)), weights=weights)
        return state

    def type(self, context: Context) -> int:
        """A type, by the blame of its states."""
        return self.layout.type_of[self.state(context)]

    def open(self, cells: Iterable[int]) -> list[int]:
        """Those of the cells that have a choice."""
        return [cell for cell in cells if len(self._allowed[cell]) > 1]

    def values(self, cell: int) -> Sequence[int]:
        """Those that the cell may take."""
        return self._values[cell]

    def value(self, cell: int) -> int:
        """Any that the cell may take."""
        return self.random.choice(self._values[cell])

    def donor(self, context: Context) -> tuple[int, ...]:
        """Another good table, or a seed."""
        return self.random.choice([*context.donors, *self.seeds])

    def one_of(self, changes: Iterable[Change], context: Context) -> Change:
        """One of those changes that do change something; else none."""
        real = [
            change
            for change in changes
            if any(
                context.vector[cell] != value and value in self._allowed[cell]
                for cell, value in change.items()
            )
        ]
        return self.random.choice(real) if real else {}


def publish(draw: Moves, context: Context) -> Change:
    """A publication point begins or ends to be one: a public write, or an early validation."""
    state = draw.state(context)
    cells = draw.open([draw.layout.write(state), draw.layout.validate(state)])
    if not cells:
        return {}
    cell = draw.random.choice(cells)
    return {cell: 1 - context.vector[cell]}


def publish_once(draw: Moves, context: Context) -> Change:
    """A type gets one publication point for all: at its end, or somewhere on the way.

    Every point costs a validation; one alone, when most of the work is done, wastes little of it.
    """
    layout = draw.layout
    states = layout.signature.types[draw.type(context)].states
    at = states[-1] if draw.random.random() < AT_END else draw.random.choice(states)
    points = [cell for state in states for cell in (layout.write(state), layout.validate(state))]
    return dict.fromkeys(points, 0) | {layout.validate(at): 1}


def shift_publication(draw: Moves, context: Context) -> Change:
    """A publication point goes elsewhere in its type, and what is waited for before it goes along.

    That stands in the row after the point (paper §4.3).
    """
    layout, vector = draw.layout, context.vector
    states = layout.signature.types[draw.type(context)].states
    points = [s for s in states if vector[layout.validate(s)] or vector[layout.write(s)]]
    if not points:
        return {}
    here = draw.random.choice(points)
    there = draw.random.choice(states)
    if there == here:
        return {}
    # A read can't be public; an early validation publishes there.
    public = vector[layout.write(here)] and draw.open([layout.write(there)])
    change = {layout.validate(here): 0, layout.write(here): 0}
    change[layout.write(there) if public else layout.validate(there)] = 1
    if here + 1 in states and there + 1 in states:
        change |= dict.fromkeys(layout.waits(here + 1), 0)
        pairs = zip(layout.waits(there + 1), layout.waits(here + 1), strict=True)
        change |= {new: vector[old] for new, old in pairs}
    return change


def row_waits(draw: Moves, context: Context) -> Change:
    """All waits before an access: none, for commits, past the last conflict, or as in a seed."""
    state = draw.state(context)
    waits = draw.layout.waits(state)
    return draw.one_of(
        [
            dict.fromkeys(waits, 0),
            {cell: draw.layout.last(cell) for cell in waits},
            draw.layout.conflict_waits(state),
            *({cell: seed[cell] for cell in waits} for seed in draw.seeds),
        ],
        context,
    )


def pair_waits(draw: Moves, context: Context) -> Change:
    """How one type waits for another, all along it: likewise, or a little longer or shorter."""
    layout, vector = draw.layout, context.vector
    states = layout.signature.types[draw.type(context)].states
    other = draw.random.randrange(len(layout.signature.types))
    cells = [layout.waits(state)[other] for state in states]
    pairs = zip(cells, states, strict=True)
    conflicts = {cell: layout.conflict_waits(state)[cell] for cell, state in pairs}
    step = draw.random.choice(STEPS)
    moved = {cell: min(max(vector[cell] + step, 0), layout.last(cell)) for cell in cells}
    return draw.one_of(
        [
            dict.fromkeys(cells, 0),
            conflicts,
            {cell: layout.last(cell) for cell in cells if conflicts[cell]},
            {cell: value for cell, value in moved.items() if vector[cell]},
            *({cell: seed[cell] for cell in cells} for seed in draw.seeds),
        ],
        context,
    )


def share(draw: Moves, context: Context) -> Change:
    """What is written to a table is shown, or seen, before commit, or not: by one type, or all."""
    layout = draw.layout
    state = draw.state(context)
    accesses = layout.signature.accesses
    one_type = draw.random.random() < 0.5
    states = [
        access.state
        for access in accesses
        if access.table == accesses[state].table
        and not (one_type and layout.type_of[access.state] != layout.type_of[state])
    ]
    seen = {layout.read(s): 1 for s in states}
    shown = {layout.write(s): 1 for s in states}
    return draw.one_of([seen | shown, seen, shown, dict.fromkeys(seen | shown, 0)], context)


def type_block(draw: Moves, context: Context) -> Change:
    """All rows of a type as a donor has them, with its backoff or without."""
    donor, number = draw.donor(context), draw.type(context)
    backoff = draw.layout.backoff(number) if draw.random.random() < 0.5 else ()
    return {cell: donor[cell] for cell in [*draw.layout.block(number), *backoff]}


def row(draw: Moves, context: Context) -> Change:
    """A state's row as a donor has it."""
    donor = draw.donor(context)
    return {cell: donor[cell] for cell in draw.layout.row(draw.state(context))}


def reset(draw: Moves, context: Context) -> Change:
    """OCC's actions, in a row of a type or in a column of it: all others cost something."""
    layout = draw.layout
    states = layout.signature.types[draw.type(context)].states
    units: list[Iterable[int]] = [layout.row(state) for state in states]
    units += [[cell for state in states for cell in layout.waits(state)]]
    units += [
        [at(state) for state in states] for at in (layout.read, layout.write, layout.validate)
    ]
    return draw.one_of([dict.fromkeys(cells, 0) for cells in units], context)


def backoff(draw: Moves, context: Context) -> Change:
    """The backoff of one type; see `backoff_of_all`."""
    types = range(len(draw.layout.signature.types))
    return _backoff(draw, draw.random.choices(types, weights=context.blame.types), context)


def backoff_of_all(draw: Moves, context: Context) -> Change:
    """Where the backoff of all types begins, whether it grows, or one of its factors."""
    return _backoff(draw, range(len(draw.layout.signature.types)), context)


def _backoff(draw: Moves, types: Sequence[int], context: Context) -> Change:
    rows = [draw.layout.backoff(number) for number in types]
    longer = 1 if draw.random.random() < context.blame.longer_backoff else -1
    step = longer * draw.random.choice((1, 2))
    begin = {cells[0]: _moved(draw, context, cells[0], step) for cells in rows}
    constant = {cell: ALPHAS.index(0.0) for cells in rows for cell in cells[1:]}
    at = draw.random.randrange(1, len(rows[0]))
    if len(draw.layout.signature.types) == 1:
        # What an abort multiplies by, a commit divides by.
        step = longer if at <= PRIOR_ABORTS else -longer
        factor = {cells[at]: _moved(draw, context, cells[at], step) for cells in rows}
        return draw.one_of([begin, begin, constant | begin, factor, factor], context)
    # Of several types the blame doesn't tell which one's backoff takes long.
    value = draw.random.randrange(len(ALPHAS))
    factor = {cells[at]: value for cells in rows}
    return draw.one_of([begin, begin, constant | begin, factor], context)


def _moved(draw: Moves, context: Context, cell: int, steps: int) -> int:
    return min(max(context.vector[cell] + steps, 0), draw.layout.last(cell))


def cells(draw: Moves, context: Context) -> Change:
    """One or two cells of a row, drawn anew: what no unit reaches."""
    found = draw.open(draw.layout.row(draw.state(context)))
    count = min(len(found), draw.random.randint(1, 2))
    return {cell: draw.value(cell) for cell in draw.random.sample(found, count)}


def schedule(draw: Moves, context: Context) -> Change:
    """When transactions start: another admission policy, one parameter, a type more or less."""
    layout, vector = draw.layout, context.vector
    if not layout.schedule:
        return {}
    policy, *others = layout.schedule
    if not draw.open([policy]) or draw.random.random() < AS_ANOTHER:
        donor = draw.random.choice(context.donors) if context.donors else vector
        whole = {cell: donor[cell] for cell in layout.schedule}
        return draw.one_of([{policy: value} for value in draw.values(policy)] + [whole], context)
    cell = draw.random.choice(draw.open(others) or [policy])
    if layout.last(cell) == 1:
        return {cell: 1 - vector[cell]}
    moved = vector[cell] + draw.random.choice((-1, 1))
    return {cell: min(max(moved, 0), layout.last(cell))}


def merge(draw: Moves, context: Context) -> Change:
    """A change that made another table better: where gains add up, this adds them."""
    return draw.one_of(context.gains, context)


@dataclass(frozen=True)
class Move:
    """A way to change a table.

    Attributes:
        draw: draws a change; an empty one if the move comes to nothing.
        reach: the cells that it is for. Where none of them has a choice it is not made.
    """

    draw: Callable[[Moves, Context], Change]
    reach: Callable[[Layout], Iterable[int]]


MOVES: dict[str, Move] = {
    draw.__name__: Move(draw, reach)
    for draw, reach in (
        (publish, Layout.all_points),
        (publish_once, Layout.all_points),
        (shift_publication, Layout.all_points),
        (row_waits, Layout.all_waits),
        (pair_waits, Layout.all_waits),
        (share, Layout.all_versions),
        (type_block, Layout.table),
        (row, Layout.all_rows),
        (reset, Layout.all_rows),
        (backoff, Layout.all_backoffs),
        (backoff_of_all, Layout.all_backoffs),
        (cells, Layout.all_rows),
        (schedule, lambda layout: layout.schedule),
        (merge, lambda layout: [*layout.table(), *layout.schedule]),
    )
}
"""All moves by name."""
