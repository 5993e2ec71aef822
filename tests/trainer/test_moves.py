from __future__ import annotations

from random import Random

import pytest

from policies import ACTION_GROUPS, SCHEDULE, Encoding, Signature, build_seed
from policies.protocol import IN_MEMORY, TABLE
from policies.signature import Access, TransactionType
from trainer.search.blame import Blame, blame_of
from trainer.search.layout import Layout
from trainer.search.moves import MOVES, Change, Context, Moves
from trainer.search.space import Space

Table = tuple[int, ...]


def draws(
    encoding: Encoding, name: str, vector: Table, count: int = 200, **more: object
) -> set[Table]:
    """Return the results of a move on a table, with uniform blame."""
    moves = Moves(Space(encoding, [*ACTION_GROUPS, SCHEDULE]), Random(1))
    even = blame_of(encoding.signature, [], 1.0)
    context = Context(vector, **{"blame": even, "donors": [], **more})  # type: ignore[arg-type]
    return {moves.make(name, context) for _ in range(count)}


def seed(encoding: Encoding, name: str) -> Table:
    return tuple(encoding.encode(build_seed(name, encoding.signature)))


def changed(encoding: Encoding, before: Table, after: Table) -> list[str]:
    names = encoding.names
    return [names[i] for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]


OTHERS = tuple(name for name in IN_MEMORY if name != TABLE)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("start", ["occ", "ic3"])
def test_every_move_makes_valid_changed_tables(encoding: Encoding, name: str, start: str) -> None:
    encoding = Encoding(encoding.signature, scheduled=True, protocols=OTHERS)
    before = seed(encoding, start)
    gains: list[Change] = [{0: 1, 1: 2}]
    found = draws(encoding, name, before, donors=[seed(encoding, "ic3")], gains=gains)
    for after in found:
        encoding.decode(after, "x")
    # OCC's table has no publication and nothing to reset.
    nothing_to_do = start == "occ" and name in ("shift_publication", "reset")
    assert (found == {before}) == nothing_to_do


@pytest.mark.parametrize("name", MOVES)
def test_moves_stay_within_the_actions(encoding: Encoding, name: str) -> None:
    space = Space(encoding, ["dirty_read", "backoff"])
    moves = Moves(space, Random(1))
    ic3 = seed(encoding, "ic3")
    context = Context(space.fit(ic3), blame_of(encoding.signature, [], 1.0), [ic3], [{0: 1}])
    for _ in range(100):
        after = moves.make(name, context)
        assert space.fit(after) == after


def test_the_waits_of_a_row_change_together_and_no_others(encoding: Encoding) -> None:
    before = seed(encoding, "occ")
    for after in draws(encoding, "row_waits", before):
        rows = {name.split(".wait.")[0] for name in changed(encoding, before, after)}
        assert len(rows) <= 1
    last = len(encoding.signature.accesses) - 1
    commits = [after for after in draws(encoding, "row_waits", before) if after[-1] == before[-1]]
    width, types = encoding.row_width, len(encoding.signature.types)
    row = range(last * width, last * width + types)
    assert any(
        all(after[cell] == len(encoding.cells[cell].choices) - 1 for cell in row)
        for after in commits
    )


def test_only_the_waits_of_a_pair_of_types_change(encoding: Encoding) -> None:
    before = seed(encoding, "ic3")
    for after in draws(encoding, "pair_waits", before):
        pairs = {(n.split(".")[0], n.split(".")[-1]) for n in changed(encoding, before, after)}
        assert len(pairs) <= 1


def test_backoffs_of_all_types_change_together(encoding: Encoding) -> None:
    before = seed(encoding, "occ")
    for after in draws(encoding, "backoff_of_all", before):
        rows = {
            tuple(
                value
                for cell, value in zip(encoding.cells, after, strict=True)
                if cell.state is None and cell.type == kind
            )
            for kind in encoding.signature.type_names
        }
        assert len(rows) == 1


def test_sharing_changes_accesses_of_one_table(encoding: Encoding) -> None:
    before = seed(encoding, "occ")
    tables = {
        f"{kind.name}.{access.name}": access.table for kind, access in encoding.signature.rows()
    }
    several = 0
    for after in draws(encoding, "share", before):
        names = changed(encoding, before, after)
        assert len({tables[name.rsplit(".", 1)[0]] for name in names}) <= 1
        several += len(names) > 1
    assert several


def test_a_publication_point_moves_with_its_waits(encoding: Encoding) -> None:
    occ = list(seed(encoding, "occ"))
    width, types = encoding.row_width, len(encoding.signature.types)
    occ[4 * width + types + 2] = 1  # validates after the state 4 …
    waits = [1, 2, 3]
    occ[5 * width : 5 * width + types] = waits  # … after these waits
    moved = 0
    for after in draws(encoding, "shift_publication", tuple(occ)) - {tuple(occ)}:
        (there,) = (s for s in range(11) if after[s * width + types + 2])
        row = (there + 1) * width
        if there < 10:  # no row of its own type follows the last access
            assert list(after[row : row + types]) == waits
        moved += 1
    assert moved == 10


def test_a_single_publication_is_mostly_at_the_end(encoding: Encoding) -> None:
    signature, ic3 = encoding.signature, seed(encoding, "ic3")
    width, types = encoding.row_width, len(signature.types)
    ends = 0
    found = draws(encoding, "publish_once", ic3)
    for after in found:
        changed_types = {n.split(".")[0] for n in changed(encoding, ic3, after)}
        assert len(changed_types) == 1
        states = signature.type_named(changed_types.pop()).states
        points = [s for s in states if any(after[s * width + types + 1 : s * width + types + 3])]
        assert len(points) == 1
        ends += points[0] == states[-1]
    assert ends == 3


def test_moves_change_blamed_states(encoding: Encoding) -> None:
    states = [0.0] * encoding.signature.state_count
    states[12] = 1.0
    blame = Blame(tuple(states), (0.0, 1.0, 0.0), 0.5)
    before = seed(encoding, "occ")
    width = encoding.row_width
    for name in ("publish", "row_waits", "cells"):
        for after in draws(encoding, name, before, blame=blame):
            differing = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
            assert all(i // width == 12 for i in differing)
    for after in draws(encoding, "backoff", before, blame=blame):
        assert all(n.startswith("backoff.payment.") for n in changed(encoding, before, after))


@pytest.mark.parametrize(("longer", "sign"), [(1.0, 1), (0.0, -1)])
def test_the_backoff_changes_where_time_is_lost(
    encoding: Encoding, longer: float, sign: int
) -> None:
    even = blame_of(encoding.signature, [], 1.0)
    blame = Blame(even.states, even.types, longer)
    first = next(i for i, cell in enumerate(encoding.cells) if cell.kind == "initial_us")
    middle = list(seed(encoding, "occ"))
    for index, cell in enumerate(encoding.cells):
        if cell.kind == "initial_us":
            middle[index] = 5
    found = draws(encoding, "backoff_of_all", tuple(middle), blame=blame)
    assert {(after[first] > 5) - (after[first] < 5) for after in found} == {0, sign}


@pytest.mark.parametrize(("longer", "sign"), [(1.0, 1), (0.0, -1)])
def test_the_factors_of_a_single_type_change_where_time_is_lost(longer: float, sign: int) -> None:
    """Factors change by a step; a larger factor of aborts or a smaller of commits waits longer."""
    access = Access(0, "update", "ROWS", "update")
    encoding = Encoding(Signature("one", (TransactionType("only", (access,)),)))
    even = blame_of(encoding.signature, [], 1.0)
    before = seed(encoding, "occ")
    found = draws(encoding, "backoff", before, blame=Blame(even.states, even.types, longer))
    cells = Layout(encoding).backoff(0)
    single = [after for after in found if len(changed(encoding, before, after)) == 1]
    ways = {tuple(after[cell] - before[cell] for cell in cells[1:]) for after in single}
    steps = [sign] * 3 + [-sign] * 3
    expected = {tuple(s if i == at else 0 for i in range(6)) for at, s in enumerate(steps)}
    assert ways - {(0,) * 6} == expected


def test_a_gain_is_merged_completely(encoding: Encoding) -> None:
    before = seed(encoding, "occ")
    (after,) = draws(encoding, "merge", before, gains=[{0: 2, 7: 1}])
    assert {i: v for i, v in enumerate(after) if v != before[i]} == {0: 2, 7: 1}
    assert draws(encoding, "merge", after, gains=[{0: 2, 7: 1}]) == {after}


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["backoff"], {"type_block", "backoff", "backoff_of_all"}),
        (["wait_fine"], {"row_waits", "pair_waits", "type_block", "row", "reset", "cells"}),
        (["dirty_read"], {"share", "type_block", "row", "reset", "cells"}),
        (["schedule"], {"schedule"}),
    ],
)
def test_moves_change_only_cells_with_a_choice(
    encoding: Encoding, actions: list[str], expected: set[str]
) -> None:
    space = Space(Encoding(encoding.signature, scheduled=True), actions)
    assert set(Moves(space, Random(1)).names) == {*expected, "merge"}


def test_the_schedule_changes_only_if_it_is_searched(encoding: Encoding) -> None:
    scheduled = Encoding(encoding.signature, scheduled=True)
    own = {"protocol", "grant"}
    known = {
        space: Moves(Space(of, actions), Random(1)).names
        for space, of, actions in (
            ("table", encoding, ACTION_GROUPS),
            ("fixed", scheduled, ACTION_GROUPS),
            ("both", scheduled, [*ACTION_GROUPS, SCHEDULE]),
        )
    }
    assert "schedule" not in known["table"]
    assert "schedule" not in known["fixed"]
    assert known["both"] == [name for name in MOVES if name not in own]


def test_a_schedule_changes_by_its_policy_a_parameter_or_a_type(encoding: Encoding) -> None:
    scheduled = Encoding(encoding.signature, scheduled=True)
    before = seed(scheduled, "occ")
    found = draws(scheduled, "schedule", before, count=400)
    names = {name for after in found for name in changed(scheduled, before, after)}
    assert names == set(scheduled.names[scheduled.schedule_cells.start :])
    assert all(len(changed(scheduled, before, after)) <= 1 for after in found)
    smf = list(before)
    smf[scheduled.schedule_cells[0]] = 1
    smf[scheduled.schedule_cells[1]] = 4
    copied = draws(scheduled, "schedule", before, donors=[tuple(smf)])
    assert tuple(smf) in copied
