from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import Evaluation, MeasuringError, RunRound, static_silo
from policies import Encoding
from tests.trainer.fake_run import MODULE
from trainer.champion import choose_champion
from trainer.config import EvaluationConfig
from trainer.evaluation import MachineSpec, Samples, build_backend
from trainer.evaluation.backend import rounds_of
from trainer.evaluation.combination import COMBINATIONS, check_combination
from trainer.search import Candidate

MEAN, WORST = COMBINATIONS["mean"], COMBINATIONS["worst"]
A, B = (Candidate((number,), f"seed {number}") for number in range(2))
SCORES = st.lists(st.floats(0.01, 100.0), min_size=2, max_size=5)


@given(st.floats(0.0, 100.0), st.floats(0.0, 1.0))
def test_the_fitness_of_one_scenario_is_its_score(score: float, error: float) -> None:
    for combination in COMBINATIONS.values():
        assert combination.fitness([score]) == score
        assert combination.error([score], [error]) == error


@given(SCORES)
def test_combinations_are_the_geometric_mean_and_the_minimum(scores: list[float]) -> None:
    logs = sum(map(math.log, scores)) / len(scores)
    assert MEAN.fitness(scores) == pytest.approx(math.exp(logs))
    assert WORST.fitness(scores) == min(scores)


@given(SCORES, st.data())
def test_the_unit_of_a_scenario_does_not_matter_under_the_mean(
    scores: list[float], data: st.DataObject
) -> None:
    """A different unit of a scenario multiplies the fitness of all tables by one factor."""
    units = data.draw(st.lists(st.floats(0.1, 10.0), min_size=len(scores), max_size=len(scores)))
    factor = MEAN.fitness([1.0 / unit for unit in units])
    in_units = [score / unit for score, unit in zip(scores, units, strict=True)]
    assert MEAN.fitness(in_units) == pytest.approx(MEAN.fitness(scores) * factor)


def test_the_unit_of_a_scenario_matters_under_the_worst_case() -> None:
    one, other = [2.0, 1.0], [1.5, 1.5]
    assert WORST.fitness(one) < WORST.fitness(other)
    assert WORST.fitness([one[0] / 4, one[1]]) > WORST.fitness([other[0] / 4, other[1]])


@given(SCORES, st.integers(0, 4))
def test_slopes_are_the_derivatives(scores: list[float], at: int) -> None:
    at %= len(scores)
    step = 1e-6 * scores[at]
    moved = [score + step * (number == at) for number, score in enumerate(scores)]
    found = (MEAN.fitness(moved) - MEAN.fitness(scores)) / step
    assert MEAN.slopes(scores)[at] == pytest.approx(found, rel=1e-3)


def test_a_scenario_without_commits_makes_the_fitness_0() -> None:
    for combination in COMBINATIONS.values():
        assert combination.fitness([3.0, 0.0]) == 0.0
        assert math.isfinite(combination.error([3.0, 0.0], [0.1, 0.1]))


def test_an_unknown_combination_is_refused() -> None:
    with pytest.raises(ValueError, match="there are mean, worst"):
        check_combination("best")


def test_samples_combine_scenarios() -> None:
    for combination, fitness in ((MEAN, math.sqrt(2.0)), (WORST, 1.0)):
        samples = Samples(2, combination)
        samples.add(A, [Evaluation([2.0] * 3), Evaluation([1.0] * 3)])
        (measured,) = samples.measured([A])
        assert measured.fitness == pytest.approx(fitness)
        assert measured.scores == (2.0, 1.0)
        assert (measured.slices, samples.slices(A)) == (3, 3)


def test_the_error_comes_from_the_scenarios_that_determine_the_fitness() -> None:
    loud, quiet = [1.9, 2.0, 2.1], [1.0, 1.0, 1.0]
    for combination, error in (
        (WORST, 0.0),
        (MEAN, 0.1 / math.sqrt(3) * math.sqrt(2) / (2 * 2.0)),
    ):
        samples = Samples(2, combination)
        samples.add(A, [Evaluation(loud), Evaluation(quiet)])
        assert samples.measured([A])[0].error == pytest.approx(error)


def test_a_failure_in_one_scenario_is_a_failure() -> None:
    samples = Samples(2)
    samples.add(A, [Evaluation([5.0]), Evaluation(error="stuck")])
    samples.add(B, [Evaluation([0.5]), Evaluation([0.5])])
    assert samples.measured([A])[0].fitness == 0.0
    assert samples.failure(A) == "stuck"
    assert samples.best(2) == [B]


def test_the_champion_is_the_best_in_the_unit_of_each_scenario(
    fake_engine: object, encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case is in the scenario with the better reference."""
    monkeypatch.setattr(fake_engine, "BEST_BY_WAREHOUSES", {"1": 1.0, "4": 64.0})
    specs = [
        MachineSpec({"name": "tpcc", "warehouses": w}, 2, 1, 1 << 30, engine_module=MODULE)
        for w in ("1", "4")
    ]
    backend = build_backend(EvaluationConfig(backend="in_process"), *specs)
    finalists = [static_silo(1.0), static_silo(8.0), static_silo(64.0)]
    how = {"rounds": 2, "seconds": 0.1, "warmup": 0.0, "seed": 1, "combination": WORST}

    def chosen(*references: float) -> int:
        units = [static_silo(us, "reference") for us in references]
        verdict = choose_champion(rounds_of(backend, 2), finalists, references=units, **how)  # type: ignore[arg-type]
        return verdict.order[0]

    assert chosen(8.0, 8.0) == 1
    assert chosen(1.0, 1.0) == 0  # at four warehouses the reference is poor
    assert chosen(64.0, 64.0) == 2


def test_a_finalist_that_fails_in_one_scenario_is_dropped(encoding: Encoding) -> None:
    def rounds(broken: bool) -> RunRound:
        def run_round(subjects, seconds, **how):  # type: ignore[no-untyped-def]
            for at, subject in enumerate(subjects):
                if broken and subject.name == "bad":
                    yield at, MeasuringError("stuck")
                else:
                    yield at, Reached(2.0 if subject.name == "bad" else 1.0)

        return run_round

    class Reached:
        def __init__(self, fitness: float) -> None:
            self.fitness = fitness

    finalists = [static_silo(1.0, "bad"), static_silo(1.0, "good")]
    how = {"rounds": 2, "seconds": 0.1, "warmup": 0.0, "seed": 1}
    both = choose_champion([rounds(False), rounds(True)], finalists, **how)  # type: ignore[arg-type]
    assert both.order == [1, 0]
    assert both.scores[0] == 0.0
    assert choose_champion([rounds(False)] * 2, finalists, **how).order == [0, 1]  # type: ignore[arg-type]
