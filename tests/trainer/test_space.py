from __future__ import annotations

from random import Random

import pytest

from policies import ACTION_GROUPS, Encoding, build_seed
from trainer.search.mutation import mutate_cells
from trainer.search.space import Space


def test_what_does_not_fit_becomes_occs(encoding: Encoding) -> None:
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    occ = encoding.encode(build_seed("occ", encoding.signature))
    fitted = Space(encoding, ["dirty_read", "public_write"]).fit(ic3)
    for cell, kept, seed, default in zip(encoding.cells, fitted, ic3, occ, strict=True):
        known = cell.kind in ("read_version", "write_visibility")
        assert kept == (seed if known else default)
    assert list(Space(encoding, ACTION_GROUPS).fit(ic3)) == ic3


def test_its_size_is_the_number_of_tables(encoding: Encoding) -> None:
    bits = sum(cell.kind == "early_validation" for cell in encoding.cells)
    space = Space(encoding, ["early_validation"])
    assert space.size == 2**bits
    assert len(space.open) == bits
    assert len(list(space.moves(space.draw(Random(1))))) == bits


def test_redrawn_cells_change_and_no_others(encoding: Encoding) -> None:
    space, random = Space(encoding, ACTION_GROUPS), Random(3)
    before = space.draw(random)
    cells = random.sample(space.open, 10)
    after = space.redraw(before, cells, random)
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert changed == sorted(cells)


@pytest.mark.parametrize("distance", [1.0, 4.0])
def test_where_no_fine_wait_is_allowed_a_mutation_reaches_commit_and_comes_back(
    encoding: Encoding, distance: float
) -> None:
    space = Space(encoding, ["wait_coarse"])
    waits = [index for index in space.open if encoding.cells[index].kind == "wait"]
    occ = space.fit([cell.default for cell in encoding.cells])
    commit = [max(values) for values in space.values]
    for start, other in ((occ, commit), (commit, occ)):
        child = list(start)
        mutate_cells(child, space, 1.0, distance, Random(1))
        assert any(child[index] == other[index] for index in waits)
        assert all(child[index] in space.values[index] for index in range(encoding.size))
