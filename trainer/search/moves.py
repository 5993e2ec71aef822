"""Changes of whole units of concurrency control instead of single cells.

Most cells of a good table depend on others. The waits of one access belong together, and so do the
waits of one type for another. The writes to a table belong to the reads of them, and a publication
point to the waits before it. Changing a single cell of such a unit rarely helps, even on the way to
a better table. Each move here changes a unit. Blame (`trainer.search.blame`) determines where it is
likely to apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from policies import SEEDS, build_seed
from policies.document import ALPHAS, PRIOR_ABORTS
from policies.protocol import LOCKING
from trainer.search.blame import Blame
from trainer.search.layout import Layout
from trainer.search.space import Space

Change = Mapping[int, int]
"""New values by cell."""

STEPS = (-2, -1, 1, 2)
"""Steps by which a wait moves along the accesses of a type."""

AS_ANOTHER = 0.4
"""The probability that a schedule changes its policy, or is copied, instead of one parameter."""

RANKS_CHANGED = 0.4
"""The probability that a move of the grants changes the rank of a type."""

OPTIONS_CHANGED = 0.6
"""The sum of that probability and that of changing an option of the grant policy."""

AT_END = 0.5
"""The probability that a type's only publication point is after its last access."""


@dataclass(frozen=True)
class Context:
    """The inputs of a move.

    Attributes:
        vector: the table to change.
        blame: the time that it loses, by access and type.
        donors: other good tables; may be empty.
        gains: changes that have made a table better.
    """

    vector: tuple[int, ...]
    blame: Blame
    donors: Sequence[tuple[int, ...]]
    gains: Sequence[Change] = ()


class Moves:
    """Draws moves of a space.

    Args:
        space: the tables. Cells outside the space stay unchanged.
        random: the source of randomness.

    Attributes:
        layout: of the tables.
        random: the source of randomness.
        names: the moves that can change at least one open cell.
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

    def of_rows(self) -> list[str]:
        """Return the moves that change only rows, which no protocol but the table has."""
        rows = set(self.layout.all_rows())
        return [name for name in self.names if rows.issuperset(MOVES[name].reach(self.layout))]

    def make(self, name: str, context: Context) -> tuple[int, ...]:
        """Return the table after a move of `MOVES`; unchanged if the move has no result."""
        vector = list(context.vector)
        for cell, value in MOVES[name].draw(self, context).items():
            if value in self._allowed[cell]:
                vector[cell] = value
        return tuple(vector)

    def state(self, context: Context) -> int:
        """Draw a state, weighted by blame."""
        weights = context.blame.states
        (state,) = self.random.choices(range(len(weights)), weights=weights)
        return state

    def type(self, context: Context) -> int:
        """Draw a type, weighted by the blame of its states."""
        return self.layout.type_of[self.state(context)]

    def open(self, cells: Iterable[int]) -> list[int]:
        """Return those of the cells that have a choice."""
        return [cell for cell in cells if len(self._allowed[cell]) > 1]

    def values(self, cell: int) -> Sequence[int]:
        """Return the values that the cell may take."""
        return self._values[cell]

    def value(self, cell: int) -> int:
        """Draw a value that the cell may take."""
        return self.random.choice(self._values[cell])

    def donor(self, context: Context) -> tuple[int, ...]:
        """Draw another good table, or a seed."""
        return self.random.choice([*context.donors, *self.seeds])

    def one_of(self, changes: Iterable[Change], context: Context) -> Change:
        """Draw one of the changes that have an effect; an empty one if none has."""
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
    """Add or remove a publication point: a public write, or an early validation."""
    state = draw.state(context)
    cells = draw.open([draw.layout.write(state), draw.layout.validate(state)])
    if not cells:
        return {}
    cell = draw.random.choice(cells)
    return {cell: 1 - context.vector[cell]}


def publish_once(draw: Moves, context: Context) -> Change:
    """Give a type a single publication point, after its last access or earlier.

    Every point costs a validation. A single one after most of the work wastes little of it.
    """
    layout = draw.layout
    states = layout.signature.types[draw.type(context)].states
    at = states[-1] if draw.random.random() < AT_END else draw.random.choice(states)
    points = [cell for state in states for cell in (layout.write(state), layout.validate(state))]
    return dict.fromkeys(points, 0) | {layout.validate(at): 1}


def shift_publication(draw: Moves, context: Context) -> Change:
    """Move a publication point within its type, together with the waits before it.

    Those waits are in the row after the point (paper §4.3).
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
    # A read can't be public, so an early validation publishes there.
    public = vector[layout.write(here)] and draw.open([layout.write(there)])
    change = {layout.validate(here): 0, layout.write(here): 0}
    change[layout.write(there) if public else layout.validate(there)] = 1
    if here + 1 in states and there + 1 in states:
        change |= dict.fromkeys(layout.waits(here + 1), 0)
        pairs = zip(layout.waits(there + 1), layout.waits(here + 1), strict=True)
        change |= {new: vector[old] for new, old in pairs}
    return change


def row_waits(draw: Moves, context: Context) -> Change:
    """Set all waits before an access: none, for commits, past the last conflict, or a seed's."""
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
    """Change all waits of one type for another: to the same value, or by a few accesses."""
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
    """Publish the writes to a table and read them dirty, or neither: in one type or in all."""
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
    """Copy all rows of a type from a donor, with or without its backoff."""
    donor, number = draw.donor(context), draw.type(context)
    backoff = draw.layout.backoff(number) if draw.random.random() < 0.5 else ()
    return {cell: donor[cell] for cell in [*draw.layout.block(number), *backoff]}


def row(draw: Moves, context: Context) -> Change:
    """Copy a state's row from a donor."""
    donor = draw.donor(context)
    return {cell: donor[cell] for cell in draw.layout.row(draw.state(context))}


def reset(draw: Moves, context: Context) -> Change:
    """Set OCC's actions in a row or a column of a type: all other actions cost time."""
    layout = draw.layout
    states = layout.signature.types[draw.type(context)].states
    units: list[Iterable[int]] = [layout.row(state) for state in states]
    units += [[cell for state in states for cell in layout.waits(state)]]
    units += [
        [at(state) for state in states] for at in (layout.read, layout.write, layout.validate)
    ]
    return draw.one_of([dict.fromkeys(cells, 0) for cells in units], context)


def backoff(draw: Moves, context: Context) -> Change:
    """Change the backoff of one type; see `backoff_of_all`."""
    types = range(len(draw.layout.signature.types))
    return _backoff(draw, draw.random.choices(types, weights=context.blame.types), context)


def backoff_of_all(draw: Moves, context: Context) -> Change:
    """Change the start of all types' backoff, whether it grows, or one of its factors."""
    return _backoff(draw, range(len(draw.layout.signature.types)), context)


def _backoff(draw: Moves, types: Sequence[int], context: Context) -> Change:
    rows = [draw.layout.backoff(number) for number in types]
    longer = 1 if draw.random.random() < context.blame.longer_backoff else -1
    step = longer * draw.random.choice((1, 2))
    begin = {cells[0]: _moved(draw, context, cells[0], step) for cells in rows}
    constant = {cell: ALPHAS.index(0.0) for cells in rows for cell in cells[1:]}
    at = draw.random.randrange(1, len(rows[0]))
    if len(draw.layout.signature.types) == 1:
        # An abort multiplies by this factor, and a commit divides by it.
        step = longer if at <= PRIOR_ABORTS else -longer
        factor = {cells[at]: _moved(draw, context, cells[at], step) for cells in rows}
        return draw.one_of([begin, begin, constant | begin, factor, factor], context)
    # With several types, blame does not show which type's backoff is too long.
    value = draw.random.randrange(len(ALPHAS))
    factor = {cells[at]: value for cells in rows}
    return draw.one_of([begin, begin, constant | begin, factor], context)


def _moved(draw: Moves, context: Context, cell: int, steps: int) -> int:
    return min(max(context.vector[cell] + steps, 0), draw.layout.last(cell))


def cells(draw: Moves, context: Context) -> Change:
    """Redraw one or two cells of a row, for tables that no unit reaches."""
    found = draw.open(draw.layout.row(draw.state(context)))
    count = min(len(found), draw.random.randint(1, 2))
    return {cell: draw.value(cell) for cell in draw.random.sample(found, count)}


def schedule(draw: Moves, context: Context) -> Change:
    """Change the schedule: another admission policy, one parameter, or one type."""
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


def protocol(draw: Moves, context: Context) -> Change:
    """Change the protocol, or one of its options, with what the option needs to have an effect."""
    if not draw.layout.protocol:
        return {}
    name, *options = draw.layout.rule()
    changes: list[Change] = [{name: value} for value in draw.values(name)]
    for option in options:
        needed = draw.layout.needs(option, context.vector, draw.random)
        changes += [{**needed, option: value} for value in draw.values(option)]
    return draw.one_of(changes, context)


def grant(draw: Moves, context: Context) -> Change:
    """Change who is granted a lock: the grant policy, one of its options, or a type's rank."""
    layout = draw.layout
    if not layout.grants():
        return {}
    policy, *options = layout.grants()
    name, rule = layout.rule()[0], layout.option("conflict")
    detects = {name: layout.value_of(name, LOCKING), rule: layout.value_of(rule, "detect")}
    ranks = draw.open(layout.ranks())
    at = draw.random.random()
    if ranks and at < RANKS_CHANGED:
        rank = ranks[draw.type(context)]
        return draw.one_of([detects | {rank: value} for value in draw.values(rank)], context)
    changes = [detects | {policy: value} for value in draw.values(policy)]
    if at < OPTIONS_CHANGED and options:
        option = draw.random.choice(options)
        changes = [detects | {option: value} for value in draw.values(option)]
    return draw.one_of(changes, context)


def merge(draw: Moves, context: Context) -> Change:
    """Apply a change that made another table better, since gains may add up."""
    return draw.one_of(context.gains, context)


@dataclass(frozen=True)
class Move:
    """A kind of change.

    Attributes:
        draw: draws a change; an empty one if the move has no result.
        reach: the cells that it may change. The move is disabled if none of them has a choice.
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
        (protocol, Layout.rule),
        (grant, lambda layout: [*layout.grants(), *layout.ranks()]),
        (merge, lambda layout: [*layout.table(), *layout.schedule, *layout.protocol]),
    )
}
"""All moves by name."""
