from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from envs import (
    NATIVE,
    Comparison,
    ComparisonPlan,
    Evaluator,
    compare,
    comparison_table,
    static_silo,
)
from policies import INITIAL_US, BackoffRow, Signature, build_seed, save
from tests.trainer.fake_run import settings, train
from trainer.command.errors import NOT_BETTER
from trainer.command.main import heddle
from trainer.command.output import as_text
from trainer.config import VerdictConfig
from trainer.report.figures import comparison_view
from trainer.verdict import Kind, Verdict, judge, left_out_by, ratios_judged, same_as_known

NEAR = [0.99, 1.0, 1.01, 0.995, 1.005]


def around(ratio: float) -> list[float]:
    return [ratio * near for near in NEAR]


def validated(**ratios: list[float]) -> Verdict:
    found = judge(ratios, 0.95)
    assert found is not None
    return found


def test_a_gain_over_every_baseline_is_better() -> None:
    found = validated(silo=around(1.4), silo_tuned=around(1.14))
    assert (found.kind, found.baseline) == (Kind.BETTER, "silo_tuned")
    assert found.line == ("use it: 1.140 × silo_tuned (95% interval 1.129 to 1.151, 5 repeats)")


def test_as_fast_as_the_best_baseline_is_no_gain() -> None:
    found = validated(silo=around(1.4), silo_tuned=around(1.004))
    assert found.kind is Kind.NO_DIFFERENCE
    assert found.line.startswith("no gain: use silo_tuned; 1.004 × silo_tuned (95% interval ")
    assert found.line.endswith("no significant difference")


def test_a_slower_policy_is_worse_than_the_best_baseline() -> None:
    found = validated(silo=around(0.678), occ=around(0.9))
    assert found.kind is Kind.WORSE
    assert found.line.startswith("worse: use silo; 0.678 × silo (")


def test_one_repeat_is_not_decisive() -> None:
    found = validated(silo=[1.233])
    assert found.line == (
        "not decided: 1.233 × silo; one repeat has no interval; set run.repeats to 3 or more"
    )
    same = validated(silo=[1.233] * 4)
    assert same.kind is Kind.UNDECIDED
    assert "all 4 repeats are the same run" in same.line
    assert validated(silo=[1.0] * 4).kind is Kind.NO_DIFFERENCE


def test_a_noisy_baseline_prevents_a_gain() -> None:
    found = validated(silo=around(1.1), occ=[0.9, 1.1, 1.05, 0.95, 1.1])
    assert (found.kind, found.baseline) == (Kind.NO_DIFFERENCE, "occ")


def test_a_wide_interval_asks_for_more_repeats() -> None:
    found = validated(silo=[0.5, 1.4, 3.9])
    assert found.kind is Kind.UNDECIDED
    assert found.line.startswith("not decided: 1.398 × silo (95% interval 0.1")
    assert "too wide; allow more repeats (verdict.repeats_max, verdict.se" in found.line
    assert not found.is_decided(0.01)
    sure = validated(silo=[1.45, 1.6, 1.8])
    assert (sure.kind, sure.is_decided(0.01)) == (Kind.BETTER, False)
    assert validated(silo=around(1.4)).is_decided(0.01)
    assert validated(silo=[1.233]).is_decided(0.01), "its repeats are as many as were asked for"


def starved(comparison: Comparison, name: str) -> None:
    """Change a comparison as if a policy had committed twice the rest but no Payment."""
    row = comparison.row(name)
    assert row is not None
    row.repeats[:] = [
        replace(
            one,
            throughput=2 * one.throughput,
            mixed_throughput=2 * one.fitness,
            types=one.types | {"payment": replace(one.types["payment"], commits=0, unfinished=2)},
        )
        for one in row.repeats
    ]


def test_a_baseline_that_starves_transactions_is_not_compared(evaluator: Evaluator) -> None:
    subjects = [replace(NATIVE[name], name=name) for name in ("silo", "two_phase_locking")]
    learned = replace(NATIVE["silo"], name="learned")
    plan = ComparisonPlan(0.1, 3, 0.0)
    comparison = compare(evaluator.run_round, [learned, *subjects], plan, 1)
    starved(comparison, "two_phase_locking")
    assert [row.subject.name for row in comparison.ranked][-1] == "two_phase_locking"
    view = comparison_view(comparison)
    assert view is not None
    assert [row.learned for row in view.rows] == [True, False, False]
    assert view.rows[-1].name.endswith(" *")
    assert view.rows[-1].throughput == max(row.throughput for row in view.rows)
    (ratios,) = ratios_judged("learned", [comparison])
    assert list(ratios) == ["silo"]
    starved(comparison, "silo")
    (ratios,) = ratios_judged("learned", [comparison])
    assert list(ratios) == ["silo", "two_phase_locking"]


def test_scores_equal_the_ratios_of_the_verdict(evaluator: Evaluator) -> None:
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    comparison = compare(evaluator.run_round, subjects, ComparisonPlan(0.1, 4, 0.0), 1)
    found = judge(comparison.ratios("silo"), 0.95)
    assert found is not None
    assert comparison.scores("silo") == {found.baseline: found.ratio}


def test_names_of_baselines_are_escaped_in_a_line() -> None:
    found = judge({"a\nb\x1b[1m.json": around(0.9)}, 0.95)
    assert found is not None
    assert "\n" not in found.line
    assert "\x1b" not in found.line


def test_a_policy_that_starves_transactions_is_not_better(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, [NATIVE["silo"]], ComparisonPlan(0.1, 1, 0.0), 1)
    assert left_out_by("silo", [comparison]) is None
    (result,) = comparison.rows[0].repeats
    stuck = replace(result.types["payment"], commits=0, unfinished=2)
    types = result.types | {"payment": stuck}
    comparison.rows[0].repeats[0] = replace(result, types=types)
    words = left_out_by("silo", [comparison])
    assert words is not None
    found = judge({"occ": around(1.2)}, 0.95, left_out=words)
    assert found is not None
    assert found.kind is Kind.LEAVES_OUT
    assert found.is_decided(0.01)
    assert found.line.startswith("leaves transactions out: use occ; silo committed payment none of")
    assert "1.200 × occ (95% interval" in found.line
    assert Verdict.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    worse = judge({"occ": around(0.9)}, 0.95, left_out=words)
    assert worse is not None
    assert worse.kind is Kind.WORSE


def test_without_a_baseline_there_is_no_verdict() -> None:
    assert judge({}, 0.95) is None
    assert judge({"silo": []}, 0.95) is None


def test_several_analyses_need_more_confidence() -> None:
    ratios = {"silo": around(1.012)}
    once, often = judge(ratios, 0.95), judge(ratios, 0.95, analyses=3)
    assert once is not None
    assert often is not None
    assert (once.kind, often.kind) == (Kind.BETTER, Kind.NO_DIFFERENCE)


def test_repeated_analyses_rarely_call_equal_policies_better() -> None:
    draw, plan = random.Random(7), ComparisonPlan(0.1, 5, 0.0, repeats_max=20)
    wrong = 0
    for _ in range(200):
        taken: list[float] = []
        for count in plan.analyses:
            taken += [math.exp(draw.gauss(0.0, 0.05)) for _ in range(count - len(taken))]
            found = judge({"silo": taken}, 0.95, analyses=len(plan.analyses))
            assert found is not None
            if found.is_decided(0.01):
                break
        wrong += found.kind is Kind.BETTER
    # At most half of one in twenty is expected: 5, with a standard deviation of 2.2.
    assert wrong <= 13


def test_a_verdict_survives_json() -> None:
    for found in (validated(silo=around(1.2)), validated(silo=[1.2])):
        assert Verdict.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    for broken in ({}, {"kind": "better"}, validated(silo=[1.2]).as_dict() | {"kind": "good"}):
        with pytest.raises(ValueError, match=r"verdict|Kind"):
            Verdict.from_dict(broken)


def test_a_known_algorithm_is_recognised_by_its_effect(tpcc: Signature) -> None:
    occ = build_seed("occ", tpcc)
    assert same_as_known(occ) == "OCC"
    assert same_as_known(build_seed("ic3", tpcc)) == "IC3"
    # A wait for a type without possible dependencies has no effect.
    idle = replace(occ.cc[3], wait=dict.fromkeys(occ.cc[3].wait, "COMMIT"))
    assert same_as_known(replace(occ, cc=(*occ.cc[:3], idle, *occ.cc[4:]))) == "OCC"
    row = BackoffRow(INITIAL_US[4], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    constant = replace(occ, backoff=dict.fromkeys(occ.backoff, row))
    assert same_as_known(constant) == f"OCC under a constant backoff of {INITIAL_US[4]:g} µs"
    first, *_ = occ.backoff
    assert same_as_known(replace(occ, backoff={**occ.backoff, first: row})) is None
    early = replace(occ.cc[0], early_validation=True)
    assert same_as_known(replace(occ, cc=(early, *occ.cc[1:]))) is None


def test_an_unchanged_algorithm_is_no_gain() -> None:
    found = judge({"silo_tuned": around(1.233)}, 0.95, same_as="OCC")
    assert found is not None
    assert found.kind is Kind.UNCHANGED
    assert "no gain: use silo_tuned; the learned policy is OCC unchanged" in found.line


# ---- repeats until a decision --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeats", "most", "asked"),
    [(5, 20, (5, 10, 20)), (5, 12, (5, 10, 12)), (5, 0, (5,)), (5, 3, (5,)), (1, 20, (1,))],
)
def test_repeats_are_doubled(repeats: int, most: int, asked: tuple[int, ...]) -> None:
    assert ComparisonPlan(0.1, repeats, 0.0, most).analyses == asked


def test_repeats_continue_until_decided(evaluator: Evaluator, fake_engine: ModuleType) -> None:
    plan, asked = ComparisonPlan(0.1, 2, 0.0, repeats_max=9), []

    def enough(comparison: Comparison) -> bool:
        asked.append(len(comparison.rows[0].ratios))
        return asked[-1] == 4

    subjects = [NATIVE["silo"], static_silo(4.0)]
    comparison = compare(evaluator.run_round, subjects, plan, 1, enough=enough)
    assert asked == [2, 4]
    assert [len(row.repeats) for row in comparison.rows] == [4, 4]
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    comparison = compare(evaluator.run_round, subjects, plan, 1, enough=lambda one: False)
    assert comparison.violations == ["W_YTD is wrong"]
    assert [len(row.repeats) for row in comparison.rows] == [2, 2]


def test_one_run_has_no_spread(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, [NATIVE["silo"]], ComparisonPlan(0.1, 1, 0.0), 1)
    text = as_text(comparison_table(comparison, ""))
    assert "±" not in text
    assert "one run of 0.1 s each, which has no spread" in text


@pytest.mark.parametrize(("seconds", "repeats"), [(None, 12), (1e-6, 3)])
def test_an_undecided_training_uses_all_repeats(
    fake_engine: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float | None,
    repeats: int,
) -> None:
    """Noise of 20 % hides every gain."""
    monkeypatch.setattr(fake_engine, "NOISE", 0.2)
    monkeypatch.setattr("trainer.closing.same_as_known", lambda document: None)
    sure = VerdictConfig(repeats_max=12, seconds=seconds)
    outcome = train(settings(1, verdict=sure), tmp_path / "run")
    (closing,) = outcome.closings
    assert {len(row.repeats) for row in closing.comparison.rows} == {repeats}
    assert outcome.verdict == closing.verdict
    assert outcome.verdict is not None
    assert outcome.verdict.repeats == repeats


@pytest.mark.slow
def test_a_decided_training_ends_at_once(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", 0.0001)
    outcome = train(settings(4, verdict=VerdictConfig()), tmp_path / "run")
    assert outcome.verdict is not None
    assert (outcome.verdict.kind, outcome.verdict.repeats) == (Kind.BETTER, 3)


# ---- the commands --------------------------------------------------------------------------------

EVALUATE = ["evaluate", "policy=silo,silo_tuned,mine.json", "tuning.rounds=1", "tuning.finalists=2"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(heddle, arguments, catch_exceptions=False)


@pytest.fixture
def mine(
    fake_engine: ModuleType, tpcc: Signature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """Write `mine.json`: a table better than Silo and as fast as `silo_tuned`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fake_engine, "NOISE", 0.002)
    occ = build_seed("occ", tpcc)
    row = BackoffRow(4.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    save(replace(occ, backoff=dict.fromkeys(occ.backoff, row)), Path("mine.json"))
    return fake_engine


def test_evaluate_judges_a_learned_policy(mine: ModuleType) -> None:
    done = run(*EVALUATE, "run.repeats=5", "output=out.json", "--fail-unless-better")
    assert done.exit_code == NOT_BETTER, done.output
    assert "mine.json: no gain: use silo_tuned; " in done.output
    written = json.loads(Path("out.json").read_text())["verdicts"]
    assert written["mine.json"]["baseline"] == "silo_tuned"
    done = run("evaluate", "policy=silo,mine.json", "run.repeats=5", "--fail-unless-better")
    assert done.exit_code == 0, done.output
    assert "mine.json: use it: 1." in done.output


def test_evaluate_adds_repeats_on_request(mine: ModuleType) -> None:
    mine.NOISE = 0.2
    done = run(*EVALUATE, "run.repeats=3", "verdict.repeats_max=6", "output=out.json")
    assert done.exit_code == 0, done.output
    results = json.loads(Path("out.json").read_text())["results"]
    assert [len(one["repeats"]) for one in results] == [6, 6, 6]
    done = run(*EVALUATE, "run.repeats=1", "--fail-unless-better")
    assert done.exit_code == NOT_BETTER
    assert "mine.json: not decided: " in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "policy=silo,occ", "--fail-unless-better"], "names no policy from a file"),
        (["train", "-m", "seed=1,2", "--fail-unless-better"], "takes one run; leave out -m"),
        (["train", "verdict.confidence=1"], "verdict.confidence=1.0: must be at most 0.9999"),
        (["train", "verdict.equal_within=-1"], "verdict.equal_within=-1.0: must not be negative"),
        (["evaluate", "verdict.repeats_max=0"], "verdict.repeats_max=0: must be at least 1"),
    ],
)
def test_mistakes_are_reported(mine: ModuleType, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output


@pytest.mark.slow
def test_train_reports_a_verdict_in_every_output(mine: ModuleType) -> None:
    typed = [
        "machine.cores=2",
        "search=evolution",
        "search.parents=2",
        "search.children=2",
        "evaluation.backend=in_process",
        "tuning.rounds=1",
        "tuning.final_rounds=1",
        "champion.rounds=1",
        "run.repeats=3",
        "verdict.repeats_max=3",
        "mlflow.enabled=false",
    ]
    done = run("train", *typed, "search.generations=1", "--fail-unless-better")
    (folder,) = Path("runs").glob("*seed*")
    (line,) = [one for one in done.output.splitlines() if one.startswith("verdict on 2 real cores")]
    assert done.exit_code == (0 if ": use it: " in line else NOT_BETTER), done.output
    assert (folder / "comparison.txt").read_text().endswith(f"\n{line}\n")
    verdict = json.loads((folder / "comparison.json").read_text())["verdict"]
    assert line.endswith(verdict["line"])
    assert (
        run("report", str(folder), "timeline.enabled=false", "variance.enabled=false").exit_code
        == 0
    )
    assert f"<b>Verdict</b>: {verdict['line']}." in (folder / "report.html").read_text()
