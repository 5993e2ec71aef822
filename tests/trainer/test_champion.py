from __future__ import annotations

import dataclasses
from functools import partial
from random import Random
from types import ModuleType
from typing import Any

import pytest

from envs import (
    NATIVE,
    Evaluator,
    MeasuringError,
    Result,
    RunRound,
    Subject,
    run_in_turns,
    static_silo,
)
from trainer.champion import choose_champion, stages

PLAN = {"rounds": 8, "seconds": 0.1, "warmup": 0.0, "seed": 1}


def test_finalists_are_halved_until_two_remain() -> None:
    assert stages(7) == [7, 4, 2]
    assert stages(2) == [2]
    assert stages(1) == [1]


def test_the_best_wins_and_is_measured_most(evaluator: Evaluator) -> None:
    constants = [64.0, 8.0, 4.0, 1.0, 0.125, 256.0, 32.0]
    slices: list[int] = []
    verdict = choose_champion(
        [evaluator.run_round],
        [static_silo(us) for us in constants],
        on_slice=lambda: slices.append(1),
        **PLAN,  # type: ignore[arg-type]
    )
    ranked = [constants[index] for index in verdict.order]
    assert ranked[:2] == [4.0, 8.0]
    assert sorted(verdict.order) == list(range(7))
    assert verdict.rounds[2] == 24
    assert len(slices) == 8 * (7 + 4 + 2)


def test_the_best_on_virtual_cores_defers_no_type(
    virtual_evaluator: Evaluator, fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "STARVED_ABOVE_US", 2.0)
    constants = [4.0, 8.0, 1.0, 2.0]
    verdict = choose_champion(
        [virtual_evaluator.run_round],
        [static_silo(us) for us in constants],
        **PLAN,  # type: ignore[arg-type]
    )
    assert [constants[index] for index in verdict.order[:2]] == [2.0, 1.0]


def noisy(evaluator: Evaluator, deviation: float, gains: dict[str, float], seed: int) -> RunRound:
    draw = Random(seed)

    def measure(subject: Subject, seconds: float, **more: Any) -> Result:
        result = evaluator.run(NATIVE["silo"], seconds, **more)
        throughput = result.throughput * gains[subject.name] * draw.gauss(1.0, deviation)
        return dataclasses.replace(result, throughput=throughput)

    return partial(run_in_turns, measure, check=False, shared=True)


@pytest.mark.slow
def test_under_noise_the_winner_is_usually_the_best(evaluator: Evaluator) -> None:
    gains = {"a": 1.00, "b": 1.02, "c": 0.99, "d": 0.97, "e": 1.01, "f": 1.06}
    finalists = [Subject(name, "silo") for name in gains]
    wins = 0
    for seed in range(20):
        verdict = choose_champion(
            [noisy(evaluator, 0.05, gains, seed)],
            finalists,
            rounds=24,
            seconds=0.1,
            warmup=0.0,
            seed=seed,
        )
        wins += verdict.order[0] == 5
    assert wins >= 18


def test_a_failing_finalist_is_dropped(evaluator: Evaluator) -> None:
    def run(subject: Subject, seconds: float, **more: Any) -> Result:
        if subject.name == "bad":
            raise MeasuringError("stuck")
        return evaluator.run(subject, seconds, **more)

    run_round = partial(run_in_turns, run, check=False, shared=True)
    finalists = [static_silo(4.0, "bad"), static_silo(64.0, "slow"), static_silo(4.0, "good")]
    verdict = choose_champion([run_round], finalists, **PLAN)  # type: ignore[arg-type]
    assert verdict.order == [2, 1, 0]
    assert verdict.scores[0] == 0.0
    with pytest.raises(MeasuringError, match="none of the best"):
        choose_champion([run_round], finalists[:1], **PLAN)  # type: ignore[arg-type]


def test_an_empty_list_of_finalists_is_refused(evaluator: Evaluator) -> None:
    with pytest.raises(ValueError, match="no finalists"):
        choose_champion([evaluator.run_round], [], **PLAN)  # type: ignore[arg-type]
