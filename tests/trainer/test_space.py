from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from policies import ACTION_GROUPS, Encoding, PolicyFileError, Signature, build_seed, save
from policies.signature import Access, TransactionType
from trainer.config import SearchConfig
from trainer.search.mutation import mutate_cells
from trainer.search.space import Space, space_of


def test_cells_outside_the_space_become_occs(encoding: Encoding) -> None:
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    occ = encoding.encode(build_seed("occ", encoding.signature))
    fitted = Space(encoding, ["dirty_read", "public_write"]).fit(ic3)
    for cell, kept, seed, default in zip(encoding.cells, fitted, ic3, occ, strict=True):
        known = cell.kind in ("read_version", "write_visibility")
        assert kept == (seed if known else default)
    assert list(Space(encoding, ACTION_GROUPS).fit(ic3)) == ic3


def test_a_space_can_have_another_base(encoding: Encoding) -> None:
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    occ = encoding.encode(build_seed("occ", encoding.signature))
    space = Space(encoding, ["wait_coarse"], ic3)
    assert space.base == tuple(ic3)
    assert list(space.fit(ic3)) == ic3
    for cell, kept, old in zip(encoding.cells, space.fit(occ), ic3, strict=True):
        assert kept == (0 if cell.kind == "wait" else old)
    for cell, values, old in zip(encoding.cells, space.values, ic3, strict=True):
        last = len(cell.choices) - 1
        assert values == (tuple(sorted({0, old, last})) if cell.kind == "wait" else (old,))


def test_the_settings_determine_base_and_schedule(
    fake_engine: ModuleType, tpcc: Signature, tmp_path: Path
) -> None:
    plain = space_of(SearchConfig(name="x"), tpcc)
    assert plain.encoding == Encoding(tpcc)
    assert list(plain.base) == [cell.default for cell in plain.encoding.cells]
    both = space_of(SearchConfig(name="x", actions=["backoff", "schedule"]), tpcc)
    assert both.encoding == Encoding(tpcc, scheduled=True)
    ic3 = space_of(SearchConfig(name="x", actions=["schedule"], base="ic3"), tpcc)
    assert list(ic3.base) == ic3.encoding.encode(build_seed("ic3", tpcc))
    # A schedule of the base stays, whatever the actions are.
    file = tmp_path / "scheduled.json"
    schedule = {"policy": "smf", "window": 16, "k": 5, "unscheduled": ["payment"]}
    save(replace(build_seed("occ", tpcc), schedule=schedule), file)
    kept = space_of(SearchConfig(name="x", actions=["backoff"], base=str(file)), tpcc)
    document = kept.encoding.decode(kept.fit(kept.draw(Random(1))), "x")
    assert document.schedule is not None
    assert document.schedule | schedule == document.schedule
    with pytest.raises(PolicyFileError, match=r"search\.base: .*no_such"):
        space_of(SearchConfig(name="x", base="no_such.json"), tpcc)


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
def test_without_fine_waits_a_mutation_can_set_and_reset_commit(
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


def test_actions_with_a_single_table_are_refused() -> None:
    read = Access(state=0, name="read", table="T", kind="read", loop=False)
    look_up = TransactionType(name="look_up", accesses=(read,))
    encoding = Encoding(Signature(workload="lookups", types=(look_up,)))
    with pytest.raises(ValueError, match=r"search\.actions=\[public_write\]: .*lookups; name more"):
        Space(encoding, ["public_write"])
