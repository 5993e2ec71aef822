"""The check of a run's mix of types, and the rank of a policy that does not keep it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import ModuleType

import pytest

from envs import (
    NATIVE,
    Comparison,
    ComparisonPlan,
    Evaluator,
    Latency,
    Result,
    Row,
    TypeResult,
    compare,
    comparison_table,
)
from envs.mix import overdue, shortfalls, summed_counts
from trainer.command.output import as_text
from trainer.report.figures import comparison_view

SECONDS = 0.02


def did(
    commits: int, unfinished: int = 0, time_s: float = 0.0, share: float | None = None
) -> TypeResult:
    return TypeResult(commits, unfinished=unfinished, time_s=time_s, share=share)


LEFT_OUT = {
    "it waits for the whole window": (
        {"long": did(1, 0, 0.03, 0.0005), "short": did(1_300_000, 1, 0.3, 0.9995)},
        "long 1 of 650",
    ),
    "it never commits": (
        {"long": did(0, 1, 0.03, 0.0005), "short": did(400_000, 0, 0.3, 0.9995)},
        "long none of 200",
    ),
    "it never commits though few are due": (
        {"long": did(0, 1, 0.03, 0.0005), "short": did(100, 0, 0.3, 0.9995)},
        "long none of 1",
    ),
    "every worker is stuck in it": (
        {"long": did(0, 16, 0.3), "short": did(4000, 0, 0.02)},
        "long none of 16",
    ),
    "one of three": (
        {"a": did(1000, 0, 0.02, 0.5), "b": did(990, 0, 0.02, 0.48), "c": did(3, 1, 0.02, 0.02)},
        "c 3 of 40",
    ),
}
KEPT = {
    "as in the mix": {"long": did(500, 0, 0.1, 0.33), "short": did(1000, 2, 0.1, 0.67)},
    "fewer by chance": {"long": did(3, 0, 0.02, 0.006), "short": did(1000, 1, 0.3, 0.994)},
    # The window has not reached the part of the trace with this type.
    "rare in the window, but quick": {
        "night": did(5, 0, 0.001, 0.1),
        "day": did(1000, 1, 0.3, 0.9),
    },
    "not begun": {"night": did(0, 0, 0.0, 0.1), "day": did(1000, 1, 0.3, 0.9)},
    "some unfinished": {"long": did(30, 16, 0.2), "short": did(1000, 0, 0.1)},
    "nothing at all": {"long": did(0), "short": did(0)},
    "no type": {},
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_missing_type_is_detected(name: str) -> None:
    types, words = LEFT_OUT[name]
    assert [str(one) for one in shortfalls(types, SECONDS)] == [words]


@pytest.mark.parametrize("name", KEPT)
def test_a_mix_that_is_kept_has_no_shortfall(name: str) -> None:
    assert shortfalls(KEPT[name], SECONDS) == []


def test_several_runs_are_judged_together() -> None:
    # In each single run five are expected, and their absence is not significant.
    one = {"long": did(1, 0, 0.012, 0.005), "short": did(999, 0, 0.02, 0.995)}
    assert shortfalls(one, SECONDS) == []
    (found,) = shortfalls(summed_counts([one] * 8), 8 * SECONDS)
    assert str(found) == "long 8 of 40"


def result_of(fake_engine: ModuleType, kind: str, share: float | None) -> Result:
    session = fake_engine.Session({"name": "tpcc"}, 2, 1, {"kind": kind})
    raw = session.run(fake_engine.RunOptions(seconds=SECONDS), on_copy=kind == "virtual")
    raw["mixed_throughput"] = 7.0
    for one in raw["types"].values():
        one["share"] = share
    return Result.from_dict(raw)


def test_workloads_that_follow_a_trace_are_ranked_by_mixed_throughput(
    fake_engine: ModuleType,
) -> None:
    assert result_of(fake_engine, "threads", 1 / 3).fitness == 7.0
    assert result_of(fake_engine, "virtual", None).fitness == 7.0
    independent = result_of(fake_engine, "threads", None)
    assert independent.fitness == independent.throughput


def without(row_: Row, type_name: str) -> Row:
    """Return the result as if the type had never committed."""

    def left_out(result: Result) -> Result:
        stuck = TypeResult(0, unfinished=2, time_s=2 * result.duration_s, latency_us=None)
        return replace(result, types=result.types | {type_name: stuck})

    return replace(row_, repeats=[left_out(one) for one in row_.repeats])


@pytest.fixture
def compared(evaluator: Evaluator) -> Comparison:
    """Return a comparison of two policies, of which the faster left Payment out."""
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    comparison = compare(evaluator.run_round, subjects, ComparisonPlan(0.1, 3, 0.0), seed=1)
    comparison.rows[0] = without(comparison.rows[0], "payment")
    return comparison


def test_a_table_marks_a_policy_that_left_a_type_out(compared: Comparison) -> None:
    table = comparison_table(compared, "")
    text = as_text(table)
    words = " ".join(text.split())
    assert "silo *" in words
    assert "two_phase_locking *" not in words
    assert "none" in words
    assert "* did not keep the workload's mix: silo committed payment none of 6" in words
    assert "0 / 0" not in words
    assert "commits" in str(table.whole.columns[-1].header)
    # The best is the fastest of the policies that kept the mix.
    assert [row.style for row in table.whole.rows] == [None, "bold"]


def test_a_mix_that_is_kept_needs_no_mark(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, [NATIVE["silo"]], ComparisonPlan(0.1, 1, 0.0), 1)
    assert "*" not in as_text(comparison_table(comparison, ""))


def test_a_type_without_commits_has_no_latency(compared: Comparison) -> None:
    first, second = json.loads(json.dumps(compared.as_dict()))["results"]
    assert first["latency_us"]["payment"] is None
    assert first["commits_by_type"]["payment"] == 0
    assert [one["type_name"] for one in first["left_out"]] == ["payment"]
    assert second["latency_us"]["payment"]["p50"] > 0
    assert second["left_out"] == []
    again = Comparison.from_dict(json.loads(json.dumps(compared.as_dict())))
    assert again.rows[0].latency_of("payment") is None
    assert again.rows[0].shortfalls == compared.rows[0].shortfalls


def test_zeros_of_earlier_versions_are_no_latency() -> None:
    old = {"commits": 0, "latency_us": {"p50": 0.0, "p99": 0.0}}
    assert TypeResult.from_dict(old).latency_us is None
    assert TypeResult.from_dict(old | {"commits": 1}).latency_us == Latency()


def test_with_many_types_the_slowest_is_one_that_commits(compared: Comparison) -> None:
    for row_ in compared.rows:
        for at, result in enumerate(row_.repeats):
            more = {f"t{n}": TypeResult(10, latency_us=Latency(p50=3, p99=5)) for n in range(9)}
            row_.repeats[at] = replace(result, types=result.types | more)
    text = as_text(comparison_table(compared, ""))
    assert "slowest type" in text
    assert "8 / 40" in text


def test_the_page_reports_an_incomplete_mix(compared: Comparison) -> None:
    view = comparison_view(compared)
    assert view is not None
    assert "the mix of types was not kept: silo committed payment none of" in view.note
    assert None in next(one for one in view.rows if one.name.lower().startswith("silo")).latency


def waiting(row_: Row, type_name: str, age_us: float) -> Row:
    """Return the result as if a transaction of the type were that old at the end of each run."""

    def aged(result: Result) -> Result:
        old = replace(result.types[type_name], unfinished=1, oldest_us=age_us)
        return replace(result, types=result.types | {type_name: old})

    return replace(row_, repeats=[aged(one) for one in row_.repeats])


def test_an_old_transaction_is_overdue_though_its_type_keeps_its_mix() -> None:
    quick = did(1000, 1, 0.01)
    types = {"long": replace(quick, oldest_us=12_340.0), "short": replace(quick, oldest_us=9_000.0)}
    assert shortfalls(types, SECONDS) == []
    assert [str(one) for one in overdue(types, SECONDS)] == ["long 12.3 of 20 ms"]
    assert overdue({"long": quick}, SECONDS) == [], "a result of an earlier version"


def test_every_table_names_what_is_overdue(evaluator: Evaluator) -> None:
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    found = compare(evaluator.run_round, subjects, ComparisonPlan(0.1, 3, 0.0), seed=1)
    length = found.rows[1].repeats[0].duration_s
    found.rows[1] = waiting(found.rows[1], "payment", 0.75e6 * length)
    words = f"two_phase_locking payment {750 * length:.3g} of {1000 * length:.3g} ms"
    note = f"unfinished at the end of a run: {words}"
    assert note in " ".join(as_text(comparison_table(found, "")).split())
    view = comparison_view(found)
    assert view is not None
    assert note in view.note
    first, second = json.loads(json.dumps(found.as_dict()))["results"]
    assert first["overdue"] == []
    assert [one["type_name"] for one in second["overdue"]] == ["payment"]
    again = Comparison.from_dict(json.loads(json.dumps(found.as_dict())))
    assert again.rows[1].overdue == found.rows[1].overdue
