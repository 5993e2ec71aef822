"""The steps of recorded transactions, critical paths, and the command `heddle variance`."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from envs import Evaluator, subject_of, untuned
from envs.recorded_events import RecordedEvents
from trainer.command.main import heddle
from trainer.variance.critical_path import followed
from trainer.variance.factors import top_factors
from trainer.variance.profile import profile_of, step_times
from trainer.variance.steps import NONE, Part, Segments, Waits, steps_of

PLENTY = 2_000_000
LOCKING = "two_phase_locking:conflict=detect"
PROTOCOLS = ("silo", "two_phase_locking", f"{LOCKING}:grant=bldsf", "mvto", "ic3", "silo+smf")


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    opened = Evaluator({"name": "tpcc"}, 4, machine={"kind": "virtual"})
    yield opened
    opened.close()


def record(evaluator: Evaluator, name: str, seconds: float = 0.001) -> RecordedEvents:
    subject = subject_of(name, evaluator.signature, untuned)
    return evaluator.record_events(subject, seconds, warmup=0.0005, seed=1, events=PLENTY)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_steps_add_up_to_the_latency_that_the_engine_measures(
    evaluator: Evaluator, name: str
) -> None:
    recorded = record(evaluator, name)
    steps = steps_of(recorded)
    leaves, times = step_times(steps)
    transactions = steps.transactions
    total = np.asarray(times.sum(axis=1)).ravel()
    # Ticks are sixteenths of a nanosecond: to the tick, for every transaction.
    assert np.array_equal(total, transactions.latency)
    assert np.array_equal(transactions.end - transactions.arrived, transactions.latency)
    ended = {
        kind: int(np.count_nonzero(transactions.type == number))
        for number, kind in enumerate(recorded.types)
    }
    assert ended == recorded.commits
    assert sum(ended.values()) > 40
    waits = any(leaf.waits not in (NONE, Waits.NOTHING, Waits.SPIN) for leaf in leaves)
    assert waits == (not name.startswith("silo"))


def test_mean_latencies_are_those_of_the_result(evaluator: Evaluator) -> None:
    """Of types none of whose transactions the end of the run cuts off."""
    recorded = record(evaluator, "two_phase_locking")
    found = profile_of(recorded)
    same = [
        kind.tree.mean_us == pytest.approx(recorded.latency_us[name], rel=1e-9)
        for name, kind in found.types.items()
    ]
    assert same.count(False) <= found.unfinished
    assert any(same)
    for name, kind in found.types.items():
        assert kind.tree.variance == pytest.approx(np.var(kind.latency_us)), name


def test_recording_does_not_change_the_run(evaluator: Evaluator) -> None:
    subject = subject_of("two_phase_locking", evaluator.signature, untuned)
    result = evaluator.run(subject, 0.001, warmup=0.0005, seed=1)
    recorded = record(evaluator, "two_phase_locking")
    assert {name: kind.commits for name, kind in result.types.items()} == recorded.commits


def test_a_step_with_a_random_delay_is_found_first() -> None:
    """Its variance is that of the delay: of numbers from 0 to 40 µs, 40² / 12 µs²."""
    longest = 40.0
    # A state that no other transaction waits for, because Silo locks only at the commit.
    plain = Evaluator({"name": "tpcc", "warehouses": "4"}, 4, machine={"kind": "virtual"})
    names = [access.name for access in plain.signature.accesses]
    state = names.index("insert_history")
    plain.close()
    machine = {
        "kind": "virtual",
        "schedule": "delays",
        "delay_state": str(state),
        "delay_every": "1",
        "delay_us": str(longest),
    }
    delayed = Evaluator({"name": "tpcc", "warehouses": "4"}, 4, machine=machine)
    payment = profile_of(record(delayed, "silo", seconds=0.05)).types["payment"]
    delayed.close()
    assert payment.latency_us.size > 1000
    first, *_ = top_factors(payment.tree, 3, 0.01)
    assert first.words == "payment.insert_history"
    assert first.contribution == pytest.approx(longest**2 / 12, rel=0.05)
    assert first.mean_us == pytest.approx(longest / 2, rel=0.1)


def test_a_full_recording_ends_the_run_and_stays_exact(evaluator: Evaluator) -> None:
    subject = subject_of("two_phase_locking", evaluator.signature, untuned)
    recorded = evaluator.record_events(subject, 0.01, warmup=0.0, seed=1, events=3000)
    assert recorded.events.size == 3000
    assert recorded.dropped > 0
    steps = steps_of(recorded)
    _, times = step_times(steps)
    assert len(steps.transactions) > 10
    assert np.array_equal(np.asarray(times.sum(axis=1)).ravel(), steps.transactions.latency)


def segments(*rows: tuple[int, int, int, int, int, int]) -> Segments:
    """Return segments of core, begin, end, transaction, blocker, the blocker's transaction."""
    core, begin, end, run, blocker, blocker_run = np.array(rows).T
    same = np.zeros(core.size, dtype=np.int64)
    return Segments(
        core=core,
        begin=begin,
        end=end,
        transaction=run,
        run=run,
        type=same,
        part=np.full(core.size, int(Part.LAST)),
        phase=same,
        state=same,
        waits=np.where(blocker != NONE, int(Waits.LOCK), int(Waits.NOTHING)),
        blocker=blocker,
        blocker_run=blocker_run,
        blocker_type=same,
    )


CHAIN = (
    # Core 0 waits for core 1, which runs, waits for core 2, and runs again.
    (0, 10, 50, 100, 1, 101),
    (1, 0, 20, 101, NONE, NONE),
    (1, 20, 40, 101, 2, 102),
    (1, 40, 60, 101, NONE, NONE),
    (2, 0, 30, 102, NONE, NONE),
    (2, 30, 90, 103, NONE, NONE),
)


def test_a_wait_is_followed_to_the_steps_of_its_blockers() -> None:
    (pieces,) = followed(segments(*CHAIN), np.array([0]))
    found = sorted(zip(pieces.step.tolist(), pieces.ticks.tolist(), strict=True))
    # From 10 to 20 and 40 to 50 core 1 runs; from 20 to 30 core 2 runs for it; then the
    # transaction there is another one, which core 1 does not wait for.
    assert found == [(NONE, 10), (1, 10), (3, 10), (4, 10)]


def test_a_long_chain_ends_in_a_wait() -> None:
    (pieces,) = followed(segments(*CHAIN), np.array([0]), longest=1)
    found = sorted(zip(pieces.step.tolist(), pieces.ticks.tolist(), strict=True))
    assert found == [(1, 10), (2, 20), (3, 10)]


def test_a_cycle_of_waits_ends() -> None:
    rows = ((0, 0, 40, 100, 1, 101), (1, 0, 40, 101, 0, 100))
    (pieces,) = followed(segments(*rows), np.array([0]))
    assert pieces.ticks.sum() == 40
    assert pieces.step.tolist() == [1]


def test_waits_are_followed_in_parts_of_any_size(evaluator: Evaluator) -> None:
    steps = steps_of(record(evaluator, LOCKING)).segments
    waits = np.flatnonzero((steps.waits == Waits.LOCK) & (steps.transaction != NONE))
    assert waits.size > 20
    whole = list(followed(steps, waits))
    parts = list(followed(steps, waits, chunk=7))
    assert len(whole) == 1
    assert len(parts) > 2
    lengths = steps.end - steps.begin
    for pieces in (whole, parts):
        wait = np.concatenate([each.wait for each in pieces])
        ticks = np.concatenate([each.ticks for each in pieces])
        total = np.bincount(wait, ticks, minlength=lengths.size)
        assert np.array_equal(total[waits], lengths[waits])


def run(*typed: str) -> Result:
    return CliRunner().invoke(heddle, ["variance", "machine.cores=4", "seconds=0.001", *typed])


@pytest.mark.slow
def test_the_command_names_factors_and_what_makes_the_difference(tmp_path: Path) -> None:
    output, picture = tmp_path / "all.json", tmp_path / "trees.svg"
    done = run(
        f"policy={LOCKING},{LOCKING}:grant=bldsf", f"output={output}", f"picture={picture}", "k=3"
    )
    assert done.exit_code == 0, done.output
    assert "What makes the difference" in done.output
    assert "waits for a lock" in done.output
    assert picture.read_text().count("<svg") == 1
    document = json.loads(output.read_text())
    first, second = document["policies"]
    assert second["policy"] == f"{LOCKING}:grant=bldsf"
    assert first["recording"]["complete"]
    payment = first["types"]["payment"]
    assert len(payment["factors"]) <= 3
    assert payment["tree"]["variance_us2"] == pytest.approx(payment["sd_us"] ** 2)
    (difference,) = document["differences"]
    assert difference["to"] == second["policy"]
    assert difference["types"]["payment"]


@pytest.mark.slow
def test_the_factors_as_csv_and_the_document_as_json(tmp_path: Path) -> None:
    output = tmp_path / "factors.csv"
    done = run("policy=two_phase_locking", "types=[payment]", f"output={output}", "d=0")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(output.read_text().splitlines()))
    assert {row["type"] for row in rows} == {"payment"}
    assert len(rows) == 5
    assert all(row["factor"] and float(row["specificity"]) >= 0 for row in rows)
    done = CliRunner().invoke(
        heddle,
        ["variance", "policy=silo", "machine.cores=2", "seconds=0.001", "--format", "json"],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["policies"][0]["policy"] == "silo"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("policy=",), "policy= names no policy"),
        (("policy=gone",), "gone"),
        (("types=[refund]",), "types=[refund]: tpcc has the types new_order, payment"),
        (("types=[delivery]", "seconds=0.00001"), "fewer than two transactions of delivery ended"),
        (("events=10",), "events=10: the recording was full before two transactions ended"),
        (("k=0",), "k=0: must be at least 1"),
        (("d=2",), "d=2"),
        (("picture=trees.txt",), "picture=trees.txt: must end in"),
        (("output=nowhere/x.json",), "there is no directory nowhere"),
        (("events=0",), "events=0: must be at least 1"),
    ],
)
def test_bad_input_is_named(typed: tuple[str, ...], told: str) -> None:
    done = run(*(typed if any(t.startswith("policy=") for t in typed) else ("policy=silo", *typed)))
    assert done.exit_code == 2, done.output
    assert told in done.output
    assert "Traceback" not in done.output
