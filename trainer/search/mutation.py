"""Cell-wise variation of a policy's vector (paper §5.1)."""

from __future__ import annotations

import math
from collections.abc import MutableSequence
from random import Random

from policies import Encoding

CELLS_OF_A_KIND = 1.5
"""How many cells `mutate_kind` changes on average."""


def mutate_cells(
    vector: MutableSequence[int],
    encoding: Encoding,
    probability: float,
    distance: float,
    random: Random,
) -> None:
    """Change each cell with a probability, in place.

    A binary cell flips. An integer cell moves by a whole number drawn uniformly from
    [-distance, distance], and is clipped into its range, never wrapped. Masked cells stay.

    Args:
        vector: the policy.
        encoding: its space.
        probability: of each cell, 0..1.
        distance: the paper's λ; at least 1 is used.
        random: the source of randomness.
    """
    reach = max(1, math.floor(distance + 0.5))
    for index, cell in enumerate(encoding.cells):
        if not cell.mutable or random.random() >= probability:
            continue
        if cell.binary:
            vector[index] = 1 - vector[index]
        else:
            moved = vector[index] + random.randint(-reach, reach)
            vector[index] = min(max(moved, 0), len(cell.choices) - 1)


def mutate_kind(
    vector: MutableSequence[int],
    encoding: Encoding,
    probability: float,
    distance: float,
    random: Random,
) -> None:
    """Change cells of one kind of action only, drawn at random, in place.

    A good table is spoiled by most changes of most cells, so a child that differs from its parent
    in every kind at once is rarely better. This one keeps all kinds but one, and of that changes
    one or two cells on average, whatever the table's size.

    Args: as for `mutate_cells`; the probability is raised to that average.
    """
    kinds: dict[str, list[int]] = {}
    for index, cell in enumerate(encoding.cells):
        if cell.mutable:
            kind = "backoff" if cell.state is None else cell.kind
            kinds.setdefault(kind, []).append(index)
    chosen = kinds[random.choice(sorted(kinds))]
    raised = max(probability, CELLS_OF_A_KIND / len(chosen))
    mutated = list(vector)
    mutate_cells(mutated, encoding, raised, distance, random)
    for index in chosen:
        vector[index] = mutated[index]


def cross_rows(
    one: MutableSequence[int], other: MutableSequence[int], encoding: Encoding, random: Random
) -> None:
    """Swap each row of two policies with probability ½, in place.

    A row is the cells of one state, or the backoff of one type. The paper finds that this does
    not help (§5.1); it is off.
    """
    for row in rows_of(encoding):
        if random.random() < 0.5:
            for index in row:
                one[index], other[index] = other[index], one[index]


def rows_of(encoding: Encoding) -> list[range]:
    """The positions of each state's row, then of each type's backoff row."""
    rows: list[range] = []
    start = 0
    cells = encoding.cells
    for index in range(1, len(cells) + 1):
        if index == len(cells) or _row_key(cells[index]) != _row_key(cells[start]):
            rows.append(range(start, index))
            start = index
    return rows


def _row_key(cell: object) -> tuple[object, object]:
    state = getattr(cell, "state", None)
    return (state, None) if state is not None else (None, getattr(cell, "type", None))
