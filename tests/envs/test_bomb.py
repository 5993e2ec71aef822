"""Policies that starve a long transaction lose against those that do not."""

from __future__ import annotations

from engine import RunOptions, Session
from envs import NATIVE, ComparisonPlan, Evaluator, Row, compare
from envs.objective import THROUGHPUT

BOMB = {"name": "bomb", "factories": "1", "materials": "64", "trees": "100"}
"""Long transactions whose materials are bought all the time."""
LONG = "update_product_cost"


def rows(kind: str, seconds: float) -> tuple[Row, Row]:
    """Return the rows of Silo, which starves the long type, and of two-phase locking."""
    evaluator = Evaluator(BOMB, 4, machine={"kind": kind})
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    found = compare(evaluator.run_round, subjects, ComparisonPlan(seconds, 1, 0.0), seed=1)
    evaluator.close()
    silo, locking = found.rows
    return silo, locking


def test_a_policy_that_starves_the_long_type_loses() -> None:
    silo, locking = rows("virtual", 0.01)
    starved, kept = silo.repeats[0], locking.repeats[0]
    assert starved.types[LONG].commits < kept.types[LONG].commits
    # By the transactions of any type Silo would win, because its short ones are not held up.
    assert starved.throughput > kept.throughput
    # What a search maximizes, and what a table shows.
    assert THROUGHPUT.value(starved) < THROUGHPUT.value(kept)
    assert silo.throughput < locking.throughput


def test_real_cores_are_compared_in_the_mix_as_well() -> None:
    for row in rows("threads", 0.2):
        (result,) = row.repeats
        assert result.in_mix
        assert THROUGHPUT.value(result) == result.mixed_throughput


def test_workers_that_draw_all_types_need_no_weights() -> None:
    def weights(options: dict[str, str]) -> list[float | None]:
        session = Session(BOMB | options, 2, 1, {"kind": "virtual"})
        result = session.run(RunOptions(seconds=0.001))
        return [one.get("weight") for one in result["types"].values()]

    assert weights({}) == [1, 500, 100, 1, 200, 10]
    assert weights({"long_workers": "0"}) == [None] * 6
