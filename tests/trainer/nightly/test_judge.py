from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from envs import Comparison, Machine, Result, Subject
from envs.comparison import Row
from envs.objective import Limit, Objective
from policies import Signature, build_seed
from trainer.config import HeldOutConfig
from trainer.nightly.judge import FARTHEST, judge
from trainer.nightly.training import with_served_limits

SETTINGS = HeldOutConfig(resamples=999)


RAW = {"machine": {"kind": "threads", "cores": 2}, "seed": 1, "throughput": 1.0, "commits": 1}


def result(throughput: float, seed: int) -> Result:
    return Result.from_dict({**RAW, "seed": seed, "throughput": throughput})


def block(number: int, throughputs: Mapping[str, Sequence[float]]) -> Comparison:
    """Return a comparison with the given throughputs."""
    rows = [
        Row(Subject(name, "silo"), [result(one, 10 * number + at) for at, one in enumerate(runs)])
        for name, runs in throughputs.items()
    ]
    return Comparison(rows)


def blocks(candidate: Sequence[float], **others: float) -> list[Comparison]:
    """Return a block for each throughput of the candidate; the others have a constant one."""
    return [
        block(at, {"candidate": [one], **{name: [value] for name, value in others.items()}})
        for at, one in enumerate(candidate)
    ]


def test_a_candidate_better_on_every_block_is_promoted() -> None:
    verdict = judge(blocks([118, 120, 122], champion=100, silo=150), SETTINGS, 1)
    assert verdict.promotes
    assert verdict.opponent == "champion"
    assert verdict.decisive.blocks == pytest.approx((1.18, 1.2, 1.22))
    assert verdict.decisive.low <= verdict.decisive.ratio <= verdict.decisive.high
    assert verdict.throughput == {"candidate": 120, "champion": 100, "silo": 150}
    assert verdict.machine == Machine("threads", 2)


def test_a_candidate_beyond_a_limit_is_not_promoted() -> None:
    limits = (Limit("abort_rate", None, 0.3),)
    measured = blocks([118, 120, 122], champion=100)
    for found in measured:
        found.objective = Objective(limits=limits)
    assert judge(measured, SETTINGS, 1).promotes
    for found in measured[:2]:  # the median run decides
        row = found.row("candidate")
        assert row is not None
        row.repeats[:] = [replace(result, abort_rate=0.5) for result in row.repeats]
    verdict = judge(measured, SETTINGS, 1)
    assert not verdict.promotes
    assert verdict.beyond == "abort_rate 0.5 > 0.3"
    assert verdict.decisive.ratio > 1.1


def test_a_candidate_is_judged_by_the_objective() -> None:
    measured = blocks([118, 120, 122], champion=100)
    for found in measured:
        found.objective = Objective("abort_rate")
        for row in found.rows:
            rate = 0.2 if row.subject.name == "candidate" else 0.4
            row.repeats[:] = [replace(result, abort_rate=rate) for result in row.repeats]
    assert judge(measured, SETTINGS, 1).decisive.ratio == pytest.approx(2.0)


def test_the_limits_of_the_served_policy_hold_unless_replaced(tpcc: Signature) -> None:
    own = Objective(limits=(Limit("p99", "delivery", 100.0),))
    served = Objective(
        "mean", (), (Limit("p99", "delivery", 50.0), Limit("cv", None, 2.0), Limit("p99", "x", 1.0))
    )
    policy = build_seed("occ", tpcc)
    assert with_served_limits(own, None) == own
    assert with_served_limits(own, policy) == own
    policy = replace(policy, provenance={"objective": served.as_dict()})
    assert with_served_limits(own, policy).limits == (*own.limits, Limit("cv", None, 2.0))
    several = replace(policy, provenance={"objective": [served.as_dict()]})
    assert with_served_limits(own, several) == own


def test_a_policy_that_starves_transactions_is_neither_promoted_nor_an_opponent() -> None:
    def starve(found: list[Comparison], name: str) -> list[Comparison]:
        held_up = {"commits": 0, "unfinished": 2, "throughput": 0.0}
        stuck = Result.from_dict({**RAW, "types": {"long": held_up, "short": {"commits": 9}}})
        for one in found:
            row = one.row(name)
            assert row is not None
            row.repeats[:] = [replace(result, types=stuck.types) for result in row.repeats]
        return found

    fast = blocks([118, 120, 122], silo=100, occ=200)
    assert judge(fast, SETTINGS, 1).opponent == "occ"
    verdict = judge(starve(fast, "occ"), SETTINGS, 1)
    assert (verdict.opponent, verdict.promotes, verdict.left_out) == ("silo", True, None)
    verdict = judge(starve(fast, "candidate"), SETTINGS, 1)
    assert (verdict.opponent, verdict.promotes) == ("silo", False)
    assert verdict.left_out is not None
    assert verdict.left_out.startswith("candidate committed long none of ")
    assert judge(starve(fast, "silo"), SETTINGS, 1).opponent == "occ"


def test_three_favourable_blocks_are_not_enough() -> None:
    verdict = judge(blocks([110, 180, 105], champion=100), SETTINGS, 1)
    assert min(verdict.decisive.blocks) > 1
    assert verdict.decisive.low < 1 < verdict.decisive.high
    assert not verdict.promotes
    assert judge(blocks([110, 180, 105, 130, 120], champion=100), SETTINGS, 1).promotes


def test_better_on_average_is_not_enough() -> None:
    verdict = judge(blocks([150, 95, 96, 104, 97], champion=100), SETTINGS, 1)
    assert verdict.decisive.ratio > 1
    assert not verdict.promotes


def test_an_equally_fast_candidate_is_not_promoted() -> None:
    assert not judge(blocks([100, 100, 100], champion=100), SETTINGS, 1).promotes


def test_without_a_champion_the_opponent_is_the_best_baseline() -> None:
    verdict = judge(blocks([118, 120, 122], silo=100, occ=140), SETTINGS, 1)
    assert verdict.opponent == "occ"
    assert not verdict.promotes


def test_ratios_are_taken_within_a_repeat() -> None:
    """The machine was twice as fast at the second repeat, which must not change a ratio."""
    pairs = {"candidate": [110.0, 220.0], "champion": [100.0, 200.0]}
    verdict = judge([block(at, pairs) for at in range(3)], SETTINGS, 1)
    assert verdict.decisive.ratio == pytest.approx(1.1)


def test_a_policy_without_commits_has_a_finite_ratio() -> None:
    assert judge(blocks([0, 0, 0], champion=1), SETTINGS, 1).decisive.ratio == pytest.approx(
        1 / FARTHEST
    )
    assert judge(blocks([1, 1, 1], champion=0), SETTINGS, 1).decisive.ratio == pytest.approx(
        FARTHEST
    )


def test_the_same_measurements_give_the_same_interval() -> None:
    measured = blocks([110, 90, 131, 105.5, 87.3, 142.7, 99.1, 103.9], champion=100)
    assert judge(measured, SETTINGS, 1) == judge(measured, SETTINGS, 1)
    assert judge(measured, SETTINGS, 1).standings != judge(measured, SETTINGS, 2).standings
