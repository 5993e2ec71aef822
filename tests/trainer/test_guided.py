from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from statistics import median
from typing import Any

import pytest

from envs import Result
from policies import ACTION_GROUPS, SCHEDULE, Encoding, Signature
from tests.scale import scaled
from tests.trainer.fake_signatures import SIGNATURES
from tests.trainer.test_searches import best, make, noise, play, separable
from trainer.search import Candidate, Measured, Search
from trainer.search.blame import Blame, blame_of
from trainer.search.credit import Credit
from trainer.search.effect import effective, points
from trainer.search.layout import Layout
from trainer.search.moves import MOVES


def result_of(signature: Signature, **changed: object) -> Result:
    """Return a result without lost time, except for the given fields."""
    states = signature.state_count + 1
    source = {
        "types": {name: {} for name in signature.type_names},
        "aborts": {"by_state": [0] * states},
        "waiting_by_state_s": [0.0] * states,
    }
    return replace(Result.from_dict(source), **changed)  # type: ignore[arg-type]


def aborted(result: Result, **aborts: int) -> Result:
    types = {name: replace(kind, aborts=aborts.get(name, 0)) for name, kind in result.types.items()}
    return replace(result, types=types)


def test_without_a_result_blame_is_uniform(tpcc: Signature) -> None:
    for result in (None, result_of(tpcc)):
        blame = blame_of(tpcc, [result] if result else [], 0.2)
        assert blame.states == pytest.approx([1 / 26] * 26)
        assert blame.types == pytest.approx([1 / 3] * 3)
        assert blame.longer_backoff == 0.5


def test_wait_time_and_wasted_work_are_blamed_on_their_state(tpcc: Signature) -> None:
    waits, aborts = [0.0] * 27, [0] * 27
    waits[4], aborts[15] = 3.0, 10
    result = result_of(
        tpcc,
        waiting_by_state_s=waits,
        aborts_by_state=aborts,
        time_s={"wasted": 1.0, "backoff": 3.0},
    )
    blame = blame_of(tpcc, [aborted(result, payment=10)], 0.2)
    assert blame.states[4] == pytest.approx(0.8 * 0.75 + 0.2 / 26)
    assert blame.states[15] == pytest.approx(0.8 * 0.25 + 0.2 / 26)
    assert blame.states[0] == pytest.approx(0.2 / 26)
    assert sum(blame.states) == pytest.approx(1.0)
    assert blame.types == pytest.approx((0.2 / 3, 0.8 + 0.2 / 3, 0.2 / 3))
    assert blame.longer_backoff == 0.25


def test_aborts_at_commit_are_blamed_on_the_contended_accesses_of_their_type(
    tpcc: Signature,
) -> None:
    aborts = [0] * 26 + [8]
    result = result_of(tpcc, aborts_by_state=aborts, time_s={"wasted": 1.0, "backoff": 0.0})
    blame = blame_of(tpcc, [aborted(result, new_order=8)], 0.0)
    item = next(access.state for access in tpcc.accesses if access.table == "ITEM")
    assert blame.states[item] == 0.0  # which is only read
    assert all(blame.states[state] == pytest.approx(1 / 10) for state in range(11) if state != item)
    assert sum(blame.states[11:]) == 0.0
    assert Blame.from_json(blame.as_json()) == blame


def test_successful_moves_get_credit() -> None:
    credit, random = Credit(["good", "bad"], 0.98), Random(1)
    for _ in range(100):
        name = credit.choose(random)
        credit.tell([name], name == "good")
    assert sum(credit.choose(random) == "good" for _ in range(200)) > 150


def test_credit_is_discounted() -> None:
    credit, random = Credit(["one", "other"], 0.9), Random(1)
    for _ in range(50):
        credit.tell(["one"], True)
    for _ in range(50):
        credit.tell(["one"], False)
        credit.tell(["other"], True)
    assert sum(credit.choose(random) == "other" for _ in range(200)) > 150


def test_without_discount_all_moves_stay_equal() -> None:
    credit, random = Credit(["good", "bad"], 0.0), Random(1)
    for _ in range(100):
        credit.tell(["good"], True)
    assert 60 < sum(credit.choose(random) == "good" for _ in range(200)) < 140


def test_a_table_without_a_move_gives_no_credit() -> None:
    credit = Credit(["good", "bad"], 0.5)
    credit.tell(["good"], True)
    credit.tell([], True)
    assert credit.state_dict() == {"won": {"good": 0.5, "bad": 0.0}, "lost": {"good": 0, "bad": 0}}


def test_credit_does_not_choose_an_excluded_move() -> None:
    credit, random = Credit(["good", "bad"], 0.9), Random(1)
    for _ in range(20):
        credit.tell(["good"], True)
    assert {credit.choose(random, excluded={"good"}) for _ in range(50)} == {"bad"}
    assert Credit(["only"], 0.9).choose(random, excluded={"only"}) == "only"


@pytest.mark.parametrize("actions", [["backoff"], ["early_validation"], ["schedule"]])
@pytest.mark.slow
def test_batches_are_full_under_few_actions(encoding: Encoding, actions: list[str]) -> None:
    """Moves without an effect are never credited, and must not crowd out the others."""
    scheduled = Encoding(encoding.signature, scheduled=actions == ["schedule"])
    search = make("guided", scheduled, actions=actions, again=0)
    asked = play(search, separable(scheduled, 1), scaled(200, most=400))
    # Only the warm start fills no batch, because it has few tables under few actions.
    assert [len(batch) for batch in asked[2:-1]] == [search.batch] * (len(asked) - 3)


def test_credit_of_a_removed_move_is_dropped() -> None:
    before = Credit(["one", "other"], 0.9)
    before.tell(["one"], True)
    after = Credit(["other", "new"], 0.9)
    after.load_state_dict(before.state_dict())
    assert after.state_dict()["won"] == {"other": 0.0, "new": 0.0}


def moves_made(search: Search, encoding: Encoding) -> set[str]:
    """Return the moves that made the candidates."""
    asked = play(search, separable(encoding, 1), 240)
    words = {word for batch in asked for one in batch for word in one.origin.split(", ")}
    return words & set(MOVES)


def test_all_moves_are_made(encoding: Encoding) -> None:
    assert moves_made(make("guided", encoding), encoding) == set(MOVES) - {
        "schedule",
        "protocol",
        "grant",
    }


def test_tables_with_different_schedules_are_not_similar(encoding: Encoding) -> None:
    scheduled = Encoding(encoding.signature, scheduled=True)
    search = make("guided", scheduled, actions=["schedule"])
    play(search, noise, 120)
    elites = search.state_dict()["elites"]
    assert len(elites) > 4  # at most two publish after the same accesses


@pytest.fixture
def both(encoding: Encoding) -> Encoding:
    """Return an encoding of policies with schedules."""
    return Encoding(encoding.signature, scheduled=True)


def is_scheduled(candidate: Candidate, encoding: Encoding) -> bool:
    return candidate.vector[encoding.schedule_cells[0]] != 0


def play_both(search: Search, encoding: Encoding) -> list[list[Candidate]]:
    """Play with a fitness that prefers every scheduled table to every unscheduled one."""
    worth = separable(encoding, 3)
    return play(search, lambda one: worth(one) + 2 * is_scheduled(one, encoding), 200)


def elites_of(search: Search) -> list[Candidate]:
    return [Candidate(tuple(one[0]), one[1]) for one in search.state_dict()["elites"]]


def test_a_joint_search_keeps_unscheduled_tables(both: Encoding) -> None:
    search = make("guided", both, actions=[*ACTION_GROUPS, SCHEDULE])
    asked = play_both(search, both)
    late = [one for batch in asked[len(asked) // 2 :] for one in batch]
    scheduled = sum(is_scheduled(one, both) for one in late)
    assert 0.35 < scheduled / len(late) < 0.7
    assert sum(is_scheduled(one, both) for one in elites_of(search)) == 3


@pytest.mark.slow
def test_a_search_of_schedules_alone_keeps_the_best_as_elites(both: Encoding) -> None:
    search = make("guided", both, actions=[SCHEDULE])
    play_both(search, both)
    assert all(is_scheduled(one, both) for one in elites_of(search))


def test_the_best_table_is_tried_under_the_best_schedule(both: Encoding) -> None:
    cells, tried = both.schedule_cells, 0
    for seed in range(1, 5):
        search = make("guided", both, seed, actions=[*ACTION_GROUPS, SCHEDULE])
        play_both(search, both)
        elites = elites_of(search)
        (with_it, without) = (
            next(one for one in elites if is_scheduled(one, both) == wanted).vector
            for wanted in (True, False)
        )
        composed = (*without[: cells.start], *with_it[cells.start :])
        if composed in [one.vector for one in elites]:  # already an elite
            continue
        state = search.state_dict()
        search.load_state_dict(state | {"seen": []})  # as if the table had not been proposed yet
        asked = {one.vector: one.origin for one in search.ask(search.batch)}
        assert asked[composed] == "the best of both"
        tried += 1
    assert tried


@pytest.mark.parametrize("elites", [1, 2, 3, 12])
def test_each_half_keeps_its_best_if_elites_suffice(both: Encoding, elites: int) -> None:
    search = make("guided", both, actions=[*ACTION_GROUPS, SCHEDULE], elites=elites)
    play_both(search, both)
    scheduled = [is_scheduled(one, both) for one in elites_of(search)]
    assert len(scheduled) == elites
    assert scheduled.count(False) == min(elites // 2, 3)
    assert scheduled == sorted(scheduled, reverse=True)  # scheduled tables are better here


@pytest.mark.slow
def test_half_of_the_children_of_a_scheduled_table_change_only_the_schedule(
    both: Encoding,
) -> None:
    shares = []
    for seed in range(1, 5):
        search = make("guided", both, seed, actions=[*ACTION_GROUPS, SCHEDULE], again=0)
        play_both(search, both)
        tables = {one.vector[: both.schedule_cells.start] for one in elites_of(search)}
        children = [one for _ in range(20) for one in search.ask(search.batch)]
        scheduled = [one for one in children if is_scheduled(one, both)]
        assert 0.3 < len(scheduled) / len(children) < 0.7
        same_table = [one.vector[: both.schedule_cells.start] in tables for one in scheduled]
        shares.append(sum(same_table) / len(same_table))
    assert 0.4 < median(shares) < 0.6


@pytest.mark.slow
def test_for_a_single_type_a_model_finds_the_backoff_sooner() -> None:
    encoding = Encoding(Signature.from_dict(SIGNATURES["transfer"]))
    cells = Layout(encoding).backoff(0)

    def worth(candidate: Candidate) -> float:
        good = (9, 1, 0, 3, 0, 3, 4)
        pairs = zip(candidate.vector[cells.start :], good, strict=True)
        apart = [(a - b) / (4 if at else 12) for at, (a, b) in enumerate(pairs)]
        # As in YCSB, every cell except the backoff is best as in OCC.
        others = sum(value != 0 for value in candidate.vector[: cells.start])
        return 2.0 - sum(distance**2 for distance in apart) - 0.1 * others

    def reached(**settings: object) -> float:
        runs = [play(make("guided", encoding, seed=s, **settings), worth, 96) for s in range(1, 6)]
        return median(best(asked, worth) for asked in runs)

    assert reached() > reached(modelled=0.0) + 0.05


@pytest.mark.slow
def test_the_model_is_part_of_the_state() -> None:
    encoding = Encoding(Signature.from_dict(SIGNATURES["transfer"]))
    worth = separable(encoding, 3)
    straight, stopped, resumed = (make("guided", encoding, seed) for seed in (5, 5, 99))
    asked = play(straight, worth, 8 * 12)
    assert any(one.origin == "backoff by a model" for one in asked[-2])
    play(stopped, worth, sum(map(len, asked[:-2])))
    resumed.load_state_dict(json.loads(json.dumps(stopped.state_dict(), allow_nan=False)))
    assert play(resumed, worth, sum(map(len, asked[-2:]))) == asked[-2:]


@pytest.mark.slow
def test_a_removed_move_is_not_made(encoding: Encoding) -> None:
    left_out = [name for name in MOVES if name not in ("cells", "merge")]
    search = make("guided", encoding, without=left_out)
    assert moves_made(search, encoding) == {"cells", "merge"}


def test_elites_are_measured_again_until_certain(encoding: Encoding) -> None:
    search = make("guided", encoding, again=2, sure=3)
    worth = separable(encoding, 2)
    counts: dict[str, int] = {}

    def tell(asked: list[Candidate]) -> None:
        for one in asked:
            counts[one.key] = counts.get(one.key, 0) + 1
        search.tell(asked, [Measured(worth(one), slices=counts[one.key]) for one in asked])

    for _ in range(30):
        tell(search.ask(search.batch))
    assert max(counts.values()) == 3


def children_of(search: Search, encoding: Encoding) -> list[tuple[int, ...]]:
    """Return the candidates made by moves."""
    asked = play(search, separable(encoding, 3), 240)
    found = (one for batch in asked for one in batch)
    return [one.vector for one in found if set(one.origin.split(", ")) <= set(MOVES)]


def test_children_have_no_cells_without_effect(encoding: Encoding) -> None:
    layout = Layout(encoding)
    pruned = children_of(make("guided", encoding), encoding)
    assert len(set(pruned)) > 150
    assert all(effective(layout, vector) == vector for vector in pruned)
    kept = children_of(make("guided", encoding, effective=False), encoding)
    assert any(effective(layout, vector) != vector for vector in kept)


def test_the_number_of_similar_elites_is_limited(encoding: Encoding) -> None:
    """Even if only backoffs matter, tables that publish elsewhere stay among the elites."""
    search = make("guided", encoding, elites=6, alike=2)
    last = len(encoding.cells) - 7
    play(search, lambda one: float(one.vector[last]), 400)
    elites = [tuple(vector) for vector, *_ in search.state_dict()["elites"]]
    kinds = Counter(points(Layout(encoding), vector) for vector in elites)
    assert len(elites) == 6
    assert max(kinds.values()) <= 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"elites": 0}, r"search\.elites=0: must be at least 1"),
        ({"alike": 0}, r"search\.alike=0: must be at least 1"),
        ({"moves": 0}, r"search\.moves=0: must be at least 1"),
        ({"again": -1}, r"search\.again=-1: must be at least 0"),
        ({"proposals": 1}, r"search\.proposals=1: must be at least 2"),
        ({"even": 1.5}, r"search\.even=1\.5: must be from 0 to 1"),
        ({"discount": -0.1}, r"search\.discount=-0\.1: must be from 0 to 1"),
        ({"specialists": 1.5}, r"search\.specialists=1\.5: must be from 0 to 1"),
        ({"modelled": 1.5}, r"search\.modelled=1\.5: must be from 0 to 1"),
        ({"without": ["marge"]}, r"search\.without=\[marge\]: no such move; there are publish,"),
        ({"without": list(MOVES)}, r"search\.without: must leave a move other than merge"),
        ({"without": [m for m in MOVES if m != "merge"]}, r"search\.without: must leave a move"),
        ({"without": [m for m in MOVES if m != "schedule"]}, r"the moves are publish,.*, merge$"),
    ],
)
def test_settings_out_of_range_are_named(
    encoding: Encoding, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make("guided", encoding, **changed)
