from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial as partial_round
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from envs import (
    NATIVE,
    Arrivals,
    Comparison,
    ComparisonPlan,
    Evaluator,
    Interrupted,
    MeasuringError,
    Outcome,
    Result,
    RunRound,
    Subject,
    SweepPlan,
    compare,
    comparison_table,
    of_policy,
    run_in_turns,
    static_silo,
    sweep_backoff,
)
from envs.host import usable_cores
from policies import Encoding, to_json
from trainer.champion import choose_champion
from trainer.command.output import as_text

SUBJECTS = [NATIVE["silo"], static_silo(4.0), NATIVE["two_phase_locking"]]
PLAN = ComparisonPlan(seconds=0.1, repeats=4, warmup=0.0)


def test_every_policy_runs_in_every_repeat_on_the_same_inputs(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, SUBJECTS, PLAN, seed=10)
    for row in comparison.rows:
        assert [result.seed for result in row.repeats] == [10, 11, 12, 13]
    assert [row.ratio for row in comparison.rows] == pytest.approx([1.0, 1.2, 0.7])
    assert comparison.scores("silo_tuned") == pytest.approx(
        {"silo": 1.2, "two_phase_locking": 1.2 / 0.7}
    )


def test_the_order_changes_between_repeats(evaluator: Evaluator) -> None:
    order: list[str] = []
    plan = ComparisonPlan(0.1, 12, 0.0)
    compare(
        evaluator.run_round, SUBJECTS, plan, 1, lambda subject, result: order.append(subject.name)
    )
    repeats = {tuple(order[i : i + 3]) for i in range(0, len(order), 3)}
    assert len(repeats) > 2
    assert all(len(set(repeat)) == 3 for repeat in repeats)


def with_arrivals(comparison: Comparison, offered: float) -> Comparison:
    told = Arrivals(offered=offered, backlog=7, lag_us=2500.0, idle_s=0.05)
    for row in comparison.rows:
        row.repeats = [replace(result, arrivals=told) for result in row.repeats]
    return comparison


def test_the_table_shows_whether_an_open_loop_kept_up(evaluator: Evaluator) -> None:
    closed = compare(evaluator.run_round, SUBJECTS[:1], PLAN, seed=1)
    assert "of offered" not in as_text(comparison_table(closed, ""))
    assert "arrivals" not in closed.rows[0].as_dict()
    comparison = with_arrivals(closed, 2 * closed.rows[0].repeats[0].throughput)
    words = " ".join(as_text(comparison_table(comparison, "")).split())
    assert "of offered lag ms busy" in words
    assert "50.0% 2.50 75.0%" in words
    assert "arrived in a run" not in words
    row = comparison.rows[0].as_dict()
    assert row["arrivals"]["kept_up"] == pytest.approx(0.5)
    assert row["arrivals"]["backlog"] == 7


def test_few_arrivals_cause_a_warning(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, SUBJECTS[:1], PLAN, seed=1)
    words = " ".join(as_text(comparison_table(with_arrivals(comparison, 50.0), "")).split())
    assert "only 5 arrived in a run: set a higher run.seconds, or a higher workload.rate" in words


def test_the_json_has_the_documented_fields(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, SUBJECTS, PLAN, seed=1)
    document = json.loads(json.dumps(comparison.as_dict(seed=1)))
    assert document["schema_version"] == 1
    first = document["results"][0]
    assert first["policy"] == "silo"
    assert set(first["throughput_by_type"]) == {"new_order", "payment", "delivery"}
    assert {"mean", "p50", "p99"} <= set(first["latency_us"]["payment"])
    assert first["machine"] == {"kind": "threads", "cores": 2, "real_cores": usable_cores()}
    assert len(first["repeats"]) == 4
    assert document["results"][1]["backoff_us"] == 4.0


def interrupt_after(evaluator: Evaluator, slices: int, partial: Result | None) -> RunRound:
    left = [slices]

    def cut(subject: Subject, seconds: float, **more: Any) -> Result:
        if left[0] == 0:
            raise Interrupted(partial)
        left[0] -= 1
        return evaluator.run(subject, seconds, **more)

    return partial_round(run_in_turns, cut, shared=True)


def test_ctrl_c_keeps_completed_runs(evaluator: Evaluator) -> None:
    partial = evaluator.run(NATIVE["silo"], 0.05, warmup=0.0, seed=1)
    comparison = compare(interrupt_after(evaluator, 5, partial), SUBJECTS, PLAN, seed=1)
    assert comparison.interrupted
    # Two policies ran in the second repeat. The interrupted run is not added to a row with a run.
    assert sorted(len(row.repeats) for row in comparison.rows) == [1, 2, 2]
    assert "interrupted" in as_text(comparison_table(comparison, "x"))


def test_an_interrupted_run_counts_if_it_is_the_only_one(evaluator: Evaluator) -> None:
    partial = evaluator.run(NATIVE["silo"], 0.05, warmup=0.0, seed=1)
    comparison = compare(interrupt_after(evaluator, 0, partial), SUBJECTS, PLAN, seed=1)
    assert [row.repeats for row in comparison.rows] == [[partial]]
    nothing = compare(interrupt_after(evaluator, 0, None), SUBJECTS, PLAN, seed=1)
    assert nothing.rows == []


def test_the_table_shows_every_policy_and_tuned_constants(evaluator: Evaluator) -> None:
    text = as_text(comparison_table(compare(evaluator.run_round, SUBJECTS, PLAN, seed=1), "title"))
    assert "silo_tuned (4 µs)" in text
    assert "120,000" in text
    assert "1.200" in text
    assert "new_order" in text


def test_an_empty_comparison_has_a_table_too() -> None:
    assert "nothing was measured" in as_text(comparison_table(Comparison([], True), "title"))


def test_consistency_of_the_shared_database_is_checked_once(
    evaluator: Evaluator, fake_engine: ModuleType
) -> None:
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    comparison = compare(evaluator.run_round, SUBJECTS, PLAN, seed=1)
    assert comparison.violations == ["W_YTD is wrong"]
    # All policies wrote to the database, so the violation is not attributed to one.
    assert [r.violations for row in comparison.rows for r in row.repeats] == [[]] * 12


def test_policies_whose_isolation_permits_a_violation_are_named(
    evaluator: Evaluator, fake_engine: ModuleType
) -> None:
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    weak = replace(SUBJECTS[1], name="weak", options={"isolation": "read_committed"})
    locked = replace(weak, name="locked", options={**weak.options, "locks": "hints"})
    comparison = compare(evaluator.run_round, [SUBJECTS[0], weak, locked], PLAN, seed=1)
    assert comparison.violations == [
        "W_YTD is wrong (permitted by isolation=read_committed of weak)"
    ]
    fake_engine.VIOLATIONS.append("D_YTD is wrong")
    comparison = compare(evaluator.run_round, [SUBJECTS[0], weak], PLAN, seed=1)
    assert comparison.violations == [
        "W_YTD is wrong; 1 more (permitted by isolation=read_committed of weak)"
    ]
    assert len(compare(evaluator.run_round, SUBJECTS[:1], PLAN, seed=1).violations) == 2


def test_on_virtual_cores_violations_are_attributed_to_policies(
    virtual_evaluator: Evaluator, fake_engine: ModuleType
) -> None:
    assert compare(virtual_evaluator.run_round, SUBJECTS, PLAN, seed=1).violations == []
    fake_engine.VIOLATIONS.append("W_YTD is wrong")
    comparison = compare(virtual_evaluator.run_round, SUBJECTS, PLAN, seed=1)
    assert comparison.violations == [f"{one.name}: W_YTD is wrong" for one in SUBJECTS]


def test_a_failing_check_keeps_completed_runs(
    virtual_evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = fake_engine.Session.run

    def without_room(session: Any, options: Any, **named: Any) -> Any:
        if named["check"] and options.protocol == "two_phase_locking":
            raise MemoryError
        return measure(session, options, **named)

    monkeypatch.setattr(fake_engine.Session, "run", without_room)
    comparison = compare(virtual_evaluator.run_round, SUBJECTS, PLAN, seed=1)
    assert [len(row.repeats) for row in comparison.rows] == [4, 4, 3]
    (violation,) = comparison.violations
    assert violation.startswith("two_phase_locking: could not be checked: ")
    with pytest.raises(MeasuringError, match="not enough memory"):
        compare(virtual_evaluator.run_round, SUBJECTS, ComparisonPlan(0.1, 1, 0.0), seed=1)


def test_a_policy_that_fails_midway_keeps_its_runs_and_those_of_others(
    virtual_evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = fake_engine.Session.run
    runs = 0

    def killed_in_the_third(session: Any, options: Any, **named: Any) -> Any:
        nonlocal runs
        runs += options.protocol == "two_phase_locking"
        if runs == 3 and options.protocol == "two_phase_locking":
            raise MemoryError
        return measure(session, options, **named)

    monkeypatch.setattr(fake_engine.Session, "run", killed_in_the_third)
    comparison = compare(virtual_evaluator.run_round, SUBJECTS, PLAN, seed=1)
    assert [len(row.repeats) for row in comparison.rows] == [4, 4, 2]
    assert len(comparison.rows[2].ratios) == 2
    assert runs == 3
    (violation,) = comparison.violations
    told = "two_phase_locking: failed in repeat 3, and could not be checked: "
    assert violation.startswith(told)


def backwards(evaluator: Evaluator) -> RunRound:
    """Run the policies in reverse order, as in a pool where the last run may finish first."""

    def run_round(*arguments: Any, **named: Any) -> Iterator[tuple[int, Outcome]]:
        yield from reversed(list(evaluator.run_round(*arguments, **named)))

    return run_round


def test_the_order_of_completion_does_not_matter(
    virtual_evaluator: Evaluator, encoding: Encoding
) -> None:
    forwards = virtual_evaluator.run_round
    others = backwards(virtual_evaluator)
    one, other = (compare(order, SUBJECTS, PLAN, seed=1) for order in (forwards, others))
    assert one.as_dict() == other.as_dict()
    plan = SweepPlan(seconds=0.1)
    assert sweep_backoff(forwards, plan, 1) == sweep_backoff(others, plan, 1)
    broken = [
        of_policy("explode", to_json(encoding.decode([value] * encoding.size, "explode")))
        for value in (0, 0)
    ]
    finalists = [broken[0], *SUBJECTS, broken[1]]
    how = {"rounds": 2, "seconds": 0.1, "warmup": 0.0, "seed": 1}
    assert choose_champion([forwards], finalists, **how) == choose_champion(
        [others], finalists, **how
    )  # type: ignore[arg-type]


def test_a_comparison_ends_with_a_policy_that_cannot_run(
    evaluator: Evaluator, encoding: Encoding
) -> None:
    broken = of_policy("explode", to_json(encoding.decode([0] * encoding.size, "explode")))
    with pytest.raises(MeasuringError, match="explode: worker 0 is stuck"):
        compare(evaluator.run_round, [*SUBJECTS, broken], PLAN, seed=1)


def test_a_narrow_terminal_gets_the_table_in_two_parts(evaluator: Evaluator) -> None:
    table = comparison_table(compare(evaluator.run_round, SUBJECTS, PLAN, seed=1), "title")

    def shown(width: int) -> str:
        console = Console(width=width, color_system=None)
        with console.capture() as capture:
            console.print(table)
        return capture.get()

    wide, narrow = shown(200), shown(80)
    assert [text.count("policy") for text in (wide, narrow)] == [1, 2]
    for text in (wide, narrow):
        assert text.count("title") == 1
        assert text.count("interleaved runs") == 1
        for words in ("commits/s", "mean / L2", "CV", "delivery", "p50 / p99 µs"):
            assert words in text
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80


def test_a_p99_far_above_that_of_the_fastest_other_policy_is_marked(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, SUBJECTS, PLAN, seed=1)
    assert " !" not in as_text(comparison_table(comparison, ""))
    slow = comparison.ranked[-1]
    for at, result in enumerate(slow.repeats):
        delivery = result.types["delivery"]
        assert delivery.latency_us is not None
        latency = replace(delivery.latency_us, p99=5.1 * delivery.latency_us.p99)
        types = {**result.types, "delivery": replace(delivery, latency_us=latency)}
        slow.repeats[at] = replace(result, types=types)
    text = as_text(comparison_table(comparison, ""))
    assert text.count(" !\n") == 1
    assert "! p99 above 5 × that of the fastest other policy" in " ".join(text.split())
