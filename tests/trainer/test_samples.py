from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs import Evaluation, trimmed_mean
from trainer.evaluation import Samples
from trainer.search import Candidate

A, B, C = (Candidate((number,), f"seed {number}") for number in range(3))


def test_samples_accumulate_over_generations() -> None:
    samples = Samples()
    samples.add(A, [Evaluation(ratios=[1.0, 1.2])])
    samples.add(A, [Evaluation(ratios=[1.1])])
    (measured,) = samples.measured([A])
    assert measured.fitness == pytest.approx(1.1)
    assert measured.slices == 3


def test_a_disturbed_slice_is_left_out() -> None:
    assert trimmed_mean([1.0, 1.0, 1.0, 0.2]) == 1.0
    assert trimmed_mean([1.0, 0.5]) == 0.75


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30))
def test_the_trimmed_mean_is_within_the_samples(values: list[float]) -> None:
    assert min(values) - 1e-9 <= trimmed_mean(values) <= max(values) + 1e-9


def test_more_samples_are_more_certain() -> None:
    samples = Samples()
    samples.add(A, [Evaluation(ratios=[0.9, 1.0, 1.1] * 9)])
    samples.add(B, [Evaluation(ratios=[1.05])])
    known, lucky = samples.measured([A, B])
    assert lucky.fitness > known.fitness
    assert lucky.cautious < known.cautious
    assert samples.best(1) == [A]


def test_slices_of_one_run_are_not_independent_samples() -> None:
    """On virtual cores a rung is one run; the noise is estimated from runs, not from slices."""
    samples = Samples()
    for ratio, slices in ((1.0, 1), (1.2, 1), (1.1, 5)):
        samples.add(A, [Evaluation([ratio], slices=slices)])
    samples.add(B, [Evaluation([1.3], slices=7)])
    assert (samples.slices(A), samples.slices(B)) == (7, 7)
    # Two runs of one slice are off by 0.1, and that of five is exact; weights are by slices.
    (noise,) = samples.noise
    assert noise == pytest.approx((2 * 0.1**2 / 2) ** 0.5)
    known, once = samples.measured([A, B])
    assert known.error == once.error == pytest.approx(noise / 7**0.5)
    assert known.fitness == pytest.approx(1.1)
    again = Samples()
    again.load_state_dict(json.loads(json.dumps(samples.state_dict())))
    assert again.noise == samples.noise
    assert again.measured([A, B]) == samples.measured([A, B])


def test_lengthened_rungs_count_as_in_the_settings() -> None:
    """Otherwise one rung would satisfy a required number of slices."""
    samples = Samples()
    samples.add(A, [Evaluation([1.0], slices=15)], stretch=3)
    assert samples.slices(A) == 5


def test_samples_of_an_earlier_version_have_a_ratio_for_each_slice() -> None:
    samples = Samples()
    samples.add(A, [Evaluation([1.0, 1.2, 1.1])])
    state = samples.state_dict()
    for scenario in state[0]["scenarios"]:
        del scenario["lengths"]
    again = Samples()
    again.load_state_dict(state)
    assert again.measured([A]) == samples.measured([A])


def test_a_machine_without_noise_has_no_error() -> None:
    samples = Samples()
    samples.add(A, [Evaluation(ratios=[1.0] * 4)])
    assert samples.measured([A])[0].error == 0.0


def test_a_failure_always_ranks_last() -> None:
    samples = Samples()
    samples.add(A, [Evaluation(ratios=[1.5], error="stuck")])
    samples.add(B, [Evaluation(ratios=[0.5])])
    assert samples.measured([A])[0].fitness == 0.0
    assert samples.failure(A) == "stuck"
    assert samples.best(5) == [B]


def test_samples_survive_their_state() -> None:
    samples = Samples()
    samples.add(A, [Evaluation(ratios=[1.0, 1.1, 1.2])])
    samples.add(B, [Evaluation(error="stuck")])
    samples.add(C, [Evaluation(ratios=[2.0])])
    samples.prune([A, B])
    again = Samples()
    again.load_state_dict(json.loads(json.dumps(samples.state_dict())))
    assert again.measured([A, B]) == samples.measured([A, B])
    assert again.slices(C) == 0
    assert again.best(5) == [A]


def test_a_candidate_beyond_a_limit_loses_to_any_within() -> None:
    samples = Samples()
    samples.add(A, [Evaluation([1.9, 1.9], limit_ratios=[[1.4, 0.5], [1.0, 0.5]])])
    samples.add(B, [Evaluation([0.4], limit_ratios=[[0.9, 0.5]])])
    samples.add(C, [Evaluation([1.9], limit_ratios=[[2.0, 3.0]])])
    beyond, within, farther = samples.measured([A, B, C])
    assert within.fitness == 0.4
    assert within.fitness > beyond.fitness > farther.fitness > 0.0
    assert (beyond.excess, within.excess, farther.excess) == pytest.approx((1.2, 1.0, 6.0))
    assert beyond.scores == pytest.approx((1.9,))
    assert samples.best(3) == [B, A, C]
    again = Samples()
    again.load_state_dict(json.loads(json.dumps(samples.state_dict())))
    assert again.measured([A, B, C]) == samples.measured([A, B, C])


def test_limits_are_judged_on_the_mean_over_the_slices() -> None:
    """A longer run counts more, so one short run beyond the limit does not decide."""
    samples = Samples()
    samples.add(A, [Evaluation([1.0], slices=1, limit_ratios=[[1.5]])])
    assert samples.measured([A])[0].excess == pytest.approx(1.5)
    samples.add(A, [Evaluation([1.0], slices=5, limit_ratios=[[0.8]])])
    assert samples.measured([A])[0].excess == 1.0


def test_a_limit_counts_in_every_scenario() -> None:
    samples = Samples(scenarios=2)
    samples.add(
        A, [Evaluation([1.0], limit_ratios=[[0.5]]), Evaluation([1.0], limit_ratios=[[2.0]])]
    )
    assert samples.measured([A])[0].excess == 2.0


def test_samples_of_settled_runs_replace_those_of_a_first_rung() -> None:
    samples = Samples()
    samples.add(A, [Evaluation([2.5], limit_ratios=[[0.5]])], settled=False)
    assert not samples.is_settled(A)
    samples.add(A, [Evaluation([2.0], slices=4, limit_ratios=[[1.5]])])
    assert samples.is_settled(A)
    assert samples.measured([A])[0].unlimited == 2.0
    assert samples.measured([A])[0].excess == 1.5
    assert samples.slices(A) == 4


@pytest.mark.parametrize("beyond", [0.5, 1.5])
def test_who_left_in_the_first_rung_is_no_better_than_the_worst_that_stayed(beyond: float) -> None:
    """Whatever the first rung flattered it by; a bad one keeps its own fitness."""
    samples = Samples()
    for candidate, ratio in ((A, 2.5), (B, 2.6), (C, 0.1)):
        samples.add(candidate, [Evaluation([ratio], limit_ratios=[[beyond]])], settled=False)
    samples.add(B, [Evaluation([1.8], limit_ratios=[[beyond]])])
    samples.cap([A, B, C])
    left, stayed, bad = samples.measured([A, B, C])
    assert stayed.fitness > left.fitness
    assert left.excess == stayed.excess == max(1.0, beyond)
    assert bad.scores == pytest.approx((0.1,))
    assert samples.best(1) == [B]
    again = Samples()
    again.load_state_dict(json.loads(json.dumps(samples.state_dict())))
    assert again.measured([A, B, C]) == samples.measured([A, B, C])
    assert not again.is_settled(A)
    # Measured again in a later race, it has its own fitness.
    samples.add(A, [Evaluation([2.4], limit_ratios=[[0.5]])])
    assert samples.measured([A])[0].fitness == 2.4


def test_a_front_has_no_candidate_of_a_first_rung() -> None:
    samples = Samples()
    for candidate, ratio in ((A, 3.0), (B, 2.0)):
        samples.add(candidate, [Evaluation([ratio], front_ratios=[[ratio, 1.0]])], settled=False)
    samples.add(B, [Evaluation([1.5], front_ratios=[[1.5, 1.0]])])
    samples.cap([A, B])
    assert samples.front(4) == [B]
