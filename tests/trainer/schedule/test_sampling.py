from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import chisquare

from engine import ScheduleWalk, TransactionBatch
from trainer.command.main import heddle
from trainer.schedule.batch import Batch, Operation, make_batch
from trainer.schedule.sampling import (
    SamplingPlan,
    plan_sampling,
    sample_makespans,
    samples_needed,
    share_bounded,
)

TRANSACTIONS: list[list[Operation]] = [
    [("r", "x"), ("w", "y")],
    [("r", "x"), ("w", "x")],
    [("r", "y"), ("r", "x"), ("w", "z")],
    [("w", "z")],
    [("r", "z"), ("w", "y")],
]


def conflicts(batch: list[list[Operation]]) -> list[tuple[int, int]]:
    return [
        (one, other)
        for one in range(len(batch))
        for other in range(one + 1, len(batch))
        if any(
            key == also and "w" in (op, how) for op, key in batch[one] for how, also in batch[other]
        )
    ]


def every_schedule(transactions: list[list[Operation]]) -> Counter[int]:
    """Return the makespans of all serializable schedules, by enumerating all orders."""
    batch, edges = make_batch(transactions), conflicts(transactions)
    problem = batch.problem("mvtso")
    found = {}
    for order in permutations(range(len(transactions))):
        oriented = tuple(order.index(one) < order.index(other) for one, other in edges)
        found[oriented] = problem.makespan(order)
    return Counter(found.values())


def test_sample_counts_match_the_paper() -> None:
    assert samples_needed(0.99, 0.95) == 299
    assert samples_needed(0.99, 0.99) == 459
    assert samples_needed(0.999, 0.99) == 4603
    assert share_bounded(299, 0.95) == pytest.approx(0.99, abs=1e-4)
    assert share_bounded(298, 0.95) < 0.99
    assert samples_needed(0.99, 1e-17) == 1


def test_schedules_are_sampled_uniformly() -> None:
    exact = every_schedule(TRANSACTIONS)
    drawn = Counter(
        sample_makespans(
            make_batch(TRANSACTIONS), "mvtso", SamplingPlan(4000, 100, 25, 7), lambda done: None
        ).tolist()
    )
    assert set(drawn) <= set(exact)
    expected = [4000 * count / exact.total() for count in exact.values()]
    assert chisquare([drawn[one] for one in exact], expected).pvalue > 1e-4


def test_the_walk_has_the_conflicts_of_the_batch() -> None:
    batch = make_batch(TRANSACTIONS)
    walk = ScheduleWalk(TransactionBatch(batch.lengths, batch.accesses, batch.keys), 1)
    assert walk.conflicts == len(conflicts(TRANSACTIONS))
    walk.step(50)
    assert sorted(walk.order.tolist()) == list(range(5))


def test_a_plan_has_a_burn_in() -> None:
    assert plan_sampling(500, 299, 1).burn_in == 3108
    assert plan_sampling(1, 3, 1) == SamplingPlan(3, 1, 1, 1)
    told: list[int] = []
    alone: Batch = make_batch([[("w", "x")]])
    found = sample_makespans(alone, "occ", plan_sampling(1, 3, 1), told.append)
    assert (found == 1).all()
    assert told[-1] == 3


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(TRANSACTIONS))
    return path


def test_the_command_reports_the_bounded_share(workload: Path) -> None:
    output = workload.with_name("sample.json")
    arguments = ["lab", "sample", "--input", str(workload), f"output={output}"]
    done = CliRunner().invoke(heddle, arguments)
    assert done.exit_code == 0, done.output
    assert "The best of 299" in done.output
    found = json.loads(output.read_text())
    assert len(found["makespans"]) == 299
    assert found["share"] >= 0.99
    assert found["policies"]["fifo"] == make_batch(TRANSACTIONS).problem("mvtso").makespan(
        np.arange(5)
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--share", "0.9999999999"], "more than 10,000,000; lower one of them"),
        (["--share", "1"], "--share"),
        (["--confidence", "nan"], "--confidence"),
        (["--samples", "0"], "--samples"),
        (["out.json"], "must be output=FILE"),
        (["output=w.json"], "is the input workload"),
    ],
)
def test_mistyped_arguments_are_reported(
    workload: Path, arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workload.parent)
    done = CliRunner().invoke(heddle, ["lab", "sample", "--input", str(workload), *arguments])
    assert done.exit_code == 2
    assert expected in done.output


def test_the_bounded_share_is_not_rounded_up(workload: Path) -> None:
    arguments = ["--samples", "20", "--confidence", "0.9999999"]
    done = CliRunner().invoke(heddle, ["lab", "sample", "--input", str(workload), *arguments])
    assert done.exit_code == 0, done.output
    assert "44.6683% of all serializable schedules, with a confidence of 0.9999999." in done.output
