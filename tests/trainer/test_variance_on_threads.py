"""Steps of transactions recorded on real cores, and `heddle variance machine=threads`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from envs import Evaluator, subject_of, untuned
from envs.recorded_events import WHOLE, RecordedEvents, Selection
from trainer.command.errors import UsageError
from trainer.command.main import heddle
from trainer.command.variance import variance_settings
from trainer.variance.factors import top_factors
from trainer.variance.profile import step_times
from trainer.variance.refinement import refined_profile
from trainer.variance.steps import NONE, Phase, Waits, steps_of

PLENTY = 1_000_000
LONGEST_SECONDS = 10
MICRO = {"name": "micro", "records": "1000", "hot_records": "4"}
LOCKING = "two_phase_locking:conflict=detect"
PROTOCOLS = ("silo", "two_phase_locking", LOCKING, "mvto", "ic3", "aria")


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    opened = Evaluator(MICRO, 2)
    yield opened
    opened.close()


def record(
    evaluator: Evaluator,
    name: str,
    selection: Selection = WHOLE,
    seconds: float = 0.03,
    events: int = PLENTY,
    enough: int = 50,
) -> RecordedEvents:
    """Record longer and longer runs: on a busy machine a short one may get no processor."""
    subject = subject_of(name, evaluator.signature, untuned)
    while True:
        recorded = evaluator.record_events(
            subject, seconds, warmup=0.0, seed=1, events=events, selection=selection
        )
        if len(steps_of(recorded).transactions) >= enough or seconds > LONGEST_SECONDS:
            return recorded
        seconds *= 3


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_steps_add_up_to_the_latency_that_the_engine_measures(
    evaluator: Evaluator, name: str
) -> None:
    recorded = record(evaluator, name)
    steps = steps_of(recorded)
    _, times = step_times(steps)
    transactions = steps.transactions
    assert len(transactions) >= 50
    assert np.array_equal(np.asarray(times.sum(axis=1)).ravel(), transactions.latency)
    assert np.array_equal(transactions.end - transactions.arrived, transactions.latency)
    if not recorded.dropped:
        ended = np.bincount(transactions.type, minlength=len(recorded.types))
        assert dict(zip(recorded.types, ended.tolist(), strict=True)) == recorded.commits


def test_a_share_of_the_transactions_is_recorded_whole(evaluator: Evaluator) -> None:
    recorded = record(evaluator, "silo", Selection(share=0.2), seconds=0.1)
    steps = steps_of(recorded)
    _, times = step_times(steps)
    latency = steps.transactions.latency
    assert np.array_equal(np.asarray(times.sum(axis=1)).ravel(), latency)
    assert 0 < latency.size < sum(recorded.commits.values())
    assert "skip" in {recorded.whats[code] for code in np.unique(recorded.events["what"])}


def test_without_accesses_their_time_is_that_of_the_execution(evaluator: Evaluator) -> None:
    name = evaluator.signature.type_names[0]
    recorded = record(evaluator, "ic3", Selection(1.0, frozenset({name})))
    segments = steps_of(recorded).segments
    number = recorded.types.index(name)
    accessing = segments.type[segments.phase == Phase.ACCESS]
    assert accessing.size > 0
    assert set(accessing.tolist()) == {number}
    # Outside accesses only a type whose accesses are recorded is known to wait for a retry.
    assert set(segments.type[segments.phase == Phase.RETRY].tolist()) <= {number}


def test_waits_for_locks_name_their_blockers(evaluator: Evaluator) -> None:
    segments = steps_of(record(evaluator, LOCKING, seconds=0.2)).segments
    waits = segments.waits == Waits.LOCK
    if np.any(waits):  # two threads of a busy machine may never meet
        assert set(segments.blocker[waits].tolist()) <= {0, 1, NONE}


def test_a_step_with_a_random_delay_is_found_first() -> None:
    """At least its variance is there; preemptions on a busy machine add to it."""
    longest = 400.0
    machine = {"kind": "threads", "delay_state": "3", "delay_every": "1", "delay_us": str(longest)}
    delayed = Evaluator(MICRO, 2, machine=machine)
    access = delayed.signature.accesses[3].name
    kind = delayed.signature.type_of(3).name

    def run(selection: Selection) -> RecordedEvents:
        return record(delayed, "silo", selection, seconds=0.5, enough=1000)

    profile = refined_profile(run, share=1.0, k=3, d=0.01)
    delayed.close()
    assert profile.selection.types is not None
    assert kind in profile.selection.types
    found = profile.types[kind]
    assert found.latency_us.size > 50
    first, *_ = top_factors(found.tree, 3, 0.01)
    assert first.words == f"{kind}.{access}"
    assert first.contribution > 0.5 * longest**2 / 12
    assert first.mean_us > longest / 4


def test_a_full_recording_keeps_whole_transactions(evaluator: Evaluator) -> None:
    recorded = record(evaluator, "silo", events=2000, enough=10)
    assert recorded.dropped > 0
    steps = steps_of(recorded)
    _, times = step_times(steps)
    assert len(steps.transactions) > 10
    assert np.array_equal(np.asarray(times.sum(axis=1)).ravel(), steps.transactions.latency)


def run(*typed: str) -> Result:
    settings = ["machine=threads", "machine.cores=2", "workload=micro", "seconds=1", *typed]
    return CliRunner().invoke(heddle, ["variance", *settings])


@pytest.mark.slow
def test_the_command_says_which_part_was_recorded(tmp_path: Path) -> None:
    output = tmp_path / "all.json"
    done = run("policy=silo,ic3", "share=0.5", f"output={output}")
    assert done.exit_code == 0, done.output
    assert "recorded for 50 % of the time" in done.output
    assert "What makes the difference" in done.output
    document = json.loads(output.read_text())
    assert document["machine"]["kind"] == "threads"
    recording = document["policies"][0]["recording"]
    assert recording["share"] == 0.5
    assert recording["machine"] == "threads"
    assert recording["slowdown"] > 0


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("share=0",), "share=0.0: must be above 0"),
        (("share=2",), "share=2"),
        (("events=10",), "events=10: the recording was full before two transactions ended"),
    ],
)
def test_bad_input_is_named(typed: tuple[str, ...], told: str) -> None:
    done = run("policy=silo", *typed)
    assert done.exit_code == 2, done.output
    assert told in done.output


def test_a_share_of_a_run_on_virtual_cores_is_refused() -> None:
    with pytest.raises(UsageError, match=r"share=0\.5: a run on virtual cores is recorded whole"):
        variance_settings(["machine=virtual", "share=0.5"])
    assert variance_settings(["machine=threads", "share=0.5"]).share == 0.5
