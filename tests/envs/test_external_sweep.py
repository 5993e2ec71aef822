"""The settings of `external_tuned`: what is tried, and that the best is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from envs.evaluator import Evaluator
from envs.external_sweep import (
    before_tuning,
    is_tuned_external,
    runs_of,
    settings,
    settings_words,
    sweep_external,
)
from envs.round import Outcome, RunRound, finished
from envs.subject import Subject
from envs.tournament import TournamentPlan

STORE = Subject("external_tuned", "external", options={"store": "sqlite"})


@pytest.fixture
def run_round(evaluator: Evaluator) -> RunRound:
    """A store that is best with 8 at a time and a first backoff of 1 ms."""

    def measured(
        subjects: Sequence[Subject], seconds: float, **how: Any
    ) -> Iterator[tuple[int, Outcome]]:
        runs = evaluator.run_round([Subject("silo", "silo")] * len(subjects), seconds, **how)
        for at, outcome in runs:
            options = subjects[at].options
            level, first = int(options["concurrency"]), int(options["backoff_first_us"])
            value = 1000.0 - abs(level - 8) - abs(first - 1000) / 100
            yield at, replace(finished(outcome), throughput=value, mixed_throughput=value)

    return measured


@pytest.mark.parametrize(
    ("workers", "levels"), [(1, [1]), (3, [3]), (4, [4]), (6, [4, 6]), (32, [4, 8, 16, 32])]
)
def test_the_concurrency_is_tried_up_to_the_workers(workers: int, levels: list[int]) -> None:
    tried = settings(STORE, workers)
    assert sorted({int(subject.options["concurrency"]) for subject in tried}) == levels
    assert all(subject.options["store"] == "sqlite" for subject in tried)
    longest = {subject.options["backoff_longest_us"] for subject in tried}
    assert longest == {"0", "32000", "64000", "128000"}


def test_the_best_settings_are_found_and_named(run_round: RunRound) -> None:
    plan = TournamentPlan(rounds=1, finalists=3, final_rounds=2)
    tried, runs = settings(STORE, 32), []
    sweep = sweep_external(run_round, tried, plan, 1, lambda: runs.append(1))
    assert settings_words(sweep.best) == "8 at a time, backoff 1,000 to 64,000 µs"
    assert sweep.words == f"{settings_words(sweep.best)} suit it best here (16 settings were tried)"
    assert sweep.best.name == "external_tuned"
    assert len(runs) == runs_of(plan, len(tried))


@pytest.mark.parametrize(
    ("name", "tuned"),
    [
        ("external_tuned", True),
        ("external_tuned:durability=off", True),
        ("external_tuned+smf", True),
        ("external", False),
        ("external_tunedx", False),
    ],
)
def test_names(name: str, tuned: bool) -> None:
    assert is_tuned_external(name) == tuned


def test_a_name_keeps_its_options_and_admission_policy() -> None:
    name = "external_tuned:durability=off+smf"
    assert before_tuning(name) == "external:durability=off+smf"


@pytest.mark.parametrize("option", ["concurrency=4", "backoff_first_us=1"])
def test_an_option_that_the_sweep_sets_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=r"external_tuned finds \w+ itself; leave it out"):
        before_tuning(f"external_tuned:{option}")
