"""Timelines built from made-up events and from the engine's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from envs import Evaluator, subject_of, untuned
from envs.timeline import Timeline, attempts_between
from policies import Signature

TYPES = ("new_order", "payment", "delivery", "stock_level")


def described(tpcc: Signature, *events: Sequence[Any]) -> Timeline:
    raw = {
        "types": dict.fromkeys(TYPES),
        "machine": {"kind": "virtual", "cores": 4},
        "timeline": {"tables": ["WAREHOUSE", "STOCK"], "dropped": 0, "events": list(events)},
    }
    return Timeline.from_result(raw, "made up", tpcc)


def test_an_attempt_has_its_events(tpcc: Signature) -> None:
    timeline = described(
        tpcc,
        (10.0, 0, "attempt", 0, 2),
        (11.0, 1, "attempt", 1, 0),
        (12.0, 0, "access", 0, "read", 0, 1),
        (13.0, 0, "wait", 1, 2),
        (14.0, 1, "access", 11, "read", 0, 1),
        (15.0, 1, "access_end"),
        (20.0, 0, "wait_end"),
        (21.0, 0, "dependency", 1),
        (22.0, 0, "validation", 0, 1),
        (22.0, 0, "publication", 0, 3),
        (23.0, 0, "access_end"),
        (24.0, 0, "commit"),
        (30.0, 0, "end", "commit", "none", -1),
    )
    first, second = timeline.attempts
    assert (first.core, first.type, first.aborts_before) == (0, "new_order", 2)
    assert (first.begin, first.commit_begin, first.end, first.outcome) == (10, 24, 30, "commit")
    (access,) = first.accesses
    assert (access.begin, access.end, access.state, access.table) == (12, 23, 0, "WAREHOUSE")
    (wait,) = first.waits
    assert (wait.begin, wait.end, wait.until, wait.access) == (13, 20, "access", 2)
    assert (wait.blocker, wait.attempt) == (1, second.number)
    assert timeline.wait_words(wait) == "payment #1 past update_warehouse"
    assert [d.attempt for d in first.dependencies] == [second.number]
    (point,) = first.points
    assert (point.held, point.published) == (True, 3)
    assert second.outcome is None
    assert second.end == 30.0
    assert timeline.end == 30.0


def test_attempts_in_progress_end_with_the_window(tpcc: Signature) -> None:
    timeline = described(
        tpcc,
        (1.0, 0, "attempt", 1, 0),
        (2.0, 0, "access", -1, "scan", 1, 7),
        (3.0, 0, "wait", 2, -1),
        (4.0, 1, "backoff"),
        (9.0, 3, "attempt", 3, 0),
    )
    attempt = timeline.attempts[0]
    assert attempt.outcome is None
    assert attempt.waits[0].attempt is None
    assert timeline.wait_words(attempt.waits[0]) == "another to end"
    assert attempt.accesses[0].state is None
    assert (timeline.backoffs[0].begin, timeline.backoffs[0].end) == (4, 9)


def test_a_wait_for_a_batch_is_for_no_core(tpcc: Signature) -> None:
    timeline = described(
        tpcc,
        (1.0, 0, "attempt", 1, 0),
        (2.0, 0, "wait", -1, -2),
        (5.0, 0, "wait_end"),
    )
    (wait,) = timeline.attempts[0].waits
    assert (wait.until, wait.blocker, wait.attempt, wait.end) == ("batch", None, None, 5)
    assert timeline.wait_words(wait) == "its batch"


def test_an_access_served_from_the_log_is_omitted(tpcc: Signature) -> None:
    timeline = described(
        tpcc,
        (1.0, 0, "attempt", 0, 0),
        (2.0, 0, "access", 0, "read", 0, 1),
        (3.0, 0, "access_end"),
        (4.0, 0, "validation", 4, 0),
        (5.0, 0, "retry"),
        (6.0, 0, "access", 0, "read", 0, 1),
        (6.0, 0, "replayed"),
        (6.0, 0, "access_end"),
        (7.0, 0, "access", 4, "read", 1, 9),
        (8.0, 0, "access_end"),
        (8.5, 0, "wait", 3, -1),
        (9.0, 0, "wait_skipped"),
        (9.0, 0, "end", "abort", "early_validation", 4),
    )
    (attempt,) = timeline.attempts
    assert [a.begin for a in attempt.accesses] == [2, 7]
    assert attempt.retries == [5]
    assert attempt.wait_cycles == [9]
    assert not attempt.points[0].held
    assert timeline.state_words(attempt.state) == "new_order.read_stock"


def test_an_unknown_event_is_an_error(tpcc: Signature) -> None:
    with pytest.raises(ValueError, match="'teleported'"):
        described(tpcc, (1.0, 0, "attempt", 0, 0), (2.0, 0, "teleported"))


@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "aria", "occ", "ic3", "random:7"])
def test_the_timeline_agrees_with_the_result(name: str) -> None:
    evaluator = Evaluator({"name": "tpcc"}, 8, machine={"kind": "virtual"})
    subject = subject_of(name, evaluator.signature, untuned)
    result = evaluator.run(subject, 0.0005, warmup=0.0, seed=3)
    timeline = evaluator.record(subject, 0.0005, warmup=0.0, seed=3, events=1_000_000)
    evaluator.close()
    ended = [a for a in timeline.attempts if a.outcome in ("commit", "rollback")]
    assert len(ended) == result.commits > 10
    by_core: dict[int, float] = {}
    for attempt in timeline.attempts:
        assert attempt.begin >= by_core.get(attempt.core, 0.0)
        by_core[attempt.core] = attempt.end
        inside = [*attempt.accesses, *attempt.waits]
        assert all(attempt.begin <= part.begin <= part.end <= attempt.end for part in inside)
        assert all(w.blocker != attempt.core for w in attempt.waits)
    aborted = [a for a in timeline.attempts if a.outcome == "abort"]
    assert len(aborted) == sum(kind.aborts for kind in result.types.values())
    waits = [w for a in [*ended, *aborted] for w in a.waits if w.until != "spin"]
    # The timeline's wait includes the search for a cycle, the result's does not.
    waited, spent = sum(w.end - w.begin for w in waits), result.time_s["waiting"] * 1e9
    assert spent - 1 <= waited <= spent + 3_000 * len(waits) + 1
    assert (spent > 0) == (name not in ("silo", "occ"))


def test_attempts_between(tpcc: Signature) -> None:
    timeline = described(
        tpcc,
        (0.0, 0, "attempt", 0, 0),
        (10.0, 0, "end", "commit", "none", -1),
        (10.0, 0, "attempt", 0, 0),
        (20.0, 0, "end", "commit", "none", -1),
    )
    assert [a.number for a in attempts_between(timeline, 2, 8)] == [0]
    assert [a.number for a in attempts_between(timeline, 10, 30)] == [1]


def test_real_cores_cannot_be_recorded() -> None:
    evaluator = Evaluator({"name": "tpcc"}, 1)
    subject = subject_of("silo", evaluator.signature, untuned)
    with pytest.raises(ValueError, match="virtual"):
        evaluator.record(subject, 0.001, warmup=0.0, seed=1, events=10)
