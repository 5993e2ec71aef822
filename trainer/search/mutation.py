"""Cell-wise variation of a policy's vector (paper §5.1)."""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from random import Random

from policies import Cell, Encoding
from trainer.search.space import Space

CELLS_OF_A_KIND = 1.5
"""Average number of cells that `mutate_kind` changes."""

PROTOCOL_KINDS = ("protocol", "option", "grant", "rank")
"""The kinds of the cells of the protocol."""


def mutate_cells(
    vector: MutableSequence[int],
    space: Space,
    probability: float,
    distance: float,
    random: Random,
) -> None:
    """Change each cell with a probability, in place.

    A binary cell flips. An integer cell moves by a whole number drawn uniformly from
    [-distance, distance] and is clipped to its range, never wrapped. It moves among its allowed
    values: if fine waits are not allowed, `COMMIT` is next to `NO_WAIT`. Cells without a choice
    stay.

    Args:
        vector: the policy, of this space.
        space: the values that cells may take.
        probability: of each cell, 0..1.
        distance: the paper's λ; at least 1 is used.
        random: the source of randomness.
    """
    reach = max(1, math.floor(distance + 0.5))
    for index in space.open:
        if random.random() >= probability:
            continue
        if space.encoding.cells[index].binary:
            vector[index] = 1 - vector[index]
        else:
            values = space.values[index]
            moved = values.index(vector[index]) + random.randint(-reach, reach)
            vector[index] = values[min(max(moved, 0), len(values) - 1)]


def mutate_kind(
    vector: MutableSequence[int],
    space: Space,
    probability: float,
    distance: float,
    random: Random,
) -> None:
    """Change cells of only one kind of action, drawn at random, in place.

    Most changes make a good table worse, so a child that differs from its parent in every kind at
    once is rarely better. This operator changes one or two cells of one kind on average, whatever
    the table's size.

    Args: as for `mutate_cells`; the probability is raised to that average.
    """
    kinds: dict[str, list[int]] = {}
    for index in space.open:
        kinds.setdefault(_group(space.encoding.cells[index]), []).append(index)
    chosen = kinds[random.choice(sorted(kinds))]
    raised = max(probability, CELLS_OF_A_KIND / len(chosen))
    mutated = list(vector)
    mutate_cells(mutated, space, raised, distance, random)
    for index in chosen:
        vector[index] = mutated[index]


def cross_rows(
    one: MutableSequence[int], other: MutableSequence[int], encoding: Encoding, random: Random
) -> None:
    """Swap each row of two policies with probability ½, in place.

    A row is the cells of one state, the backoff of one type, the schedule, or the protocol. It is
    off by default,
    because the paper finds that crossover does not help (§5.1).
    """
    for row in rows_of(encoding):
        if random.random() < 0.5:
            for index in row:
                one[index], other[index] = other[index], one[index]


def rows_of(encoding: Encoding) -> list[range]:
    """Return the positions of each state's row, of each type's backoff, and of the schedule."""
    rows: list[range] = []
    start = 0
    cells = encoding.cells
    for index in range(1, len(cells) + 1):
        if index == len(cells) or _row_key(cells[index]) != _row_key(cells[start]):
            rows.append(range(start, index))
            start = index
    return rows


def _group(cell: Cell) -> str:
    if cell.state is not None:
        return cell.kind
    if cell.kind in PROTOCOL_KINDS:
        return "protocol"
    return "schedule" if cell.kind in ("admission", "unscheduled") else "backoff"


def _row_key(cell: object) -> tuple[object, object]:
    state = getattr(cell, "state", None)
    if getattr(cell, "kind", None) in ("admission", "unscheduled"):
        return ("schedule", None)
    if getattr(cell, "kind", None) in PROTOCOL_KINDS:
        return ("protocol", None)
    return (state, None) if state is not None else (None, getattr(cell, "type", None))
