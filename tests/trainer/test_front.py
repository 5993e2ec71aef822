"""Tests of fronts: which policies are kept, and how evolution selects with one."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from envs import Evaluation
from policies import Encoding
from trainer.evaluation import Samples
from trainer.evaluation.front import non_dominated, spread
from trainer.search import Candidate, warm_start
from trainer.search.base import Measured
from trainer.search.evolution import Evolution, EvolutionConfig
from trainer.search.space import Space

SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)


def dominates(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


@given(SCORES)
def test_the_front_is_what_no_other_dominates(scores: list[tuple[int, int]]) -> None:
    front = non_dominated(scores)
    kept = {scores[position] for position in front}
    assert len(kept) == len(front)
    dominated = {score for score in scores for other in scores if dominates(other, score)}
    assert kept == {*scores} - dominated
    assert front == sorted(front)


@given(SCORES, st.integers(1, 8))
def test_a_part_of_the_front_is_spread_out(scores: list[tuple[int, int]], count: int) -> None:
    front, kept = non_dominated(scores), spread(scores, count)
    assert len(kept) == min(count, len(front))
    assert set(kept) <= set(front)
    if len(kept) > 1:
        # The ends of the front are never left out.
        ends = {max(scores[at] for at in front), min(scores[at] for at in front)}
        assert ends <= {scores[at] for at in kept}


def test_nothing_has_no_front() -> None:
    assert non_dominated([]) == spread([], 3) == []


A, B, C, D = (Candidate((number,), f"seed {number}") for number in range(4))


def test_samples_keep_a_front_within_the_limits() -> None:
    samples = Samples()
    samples.add(A, [Evaluation([1.0], front_ratios=[[2.0, 1.0]], limit_ratios=[[0.5]])])
    samples.add(B, [Evaluation([1.0], front_ratios=[[1.0, 2.0]], limit_ratios=[[0.5]])])
    samples.add(C, [Evaluation([1.0], front_ratios=[[0.9, 1.9]], limit_ratios=[[0.5]])])
    samples.add(D, [Evaluation([1.0], front_ratios=[[9.0, 9.0]], limit_ratios=[[1.5]])])
    assert samples.front(16) == [A, B]
    assert [measured.front for measured in samples.measured([A, C])] == [(2.0, 1.0), (0.9, 1.9)]
    again = Samples()
    again.load_state_dict(json.loads(json.dumps(samples.state_dict())))
    assert again.front(16) == [A, B]
    samples.refuse(A, "not serializable")
    assert samples.front(16) == [B]
    assert Samples().front(16) == []


def test_evolution_selects_by_domination(encoding: Encoding) -> None:
    config = EvolutionConfig("evolution", parents=2, children=3)
    start = warm_start(encoding, [4.0])
    search = Evolution(Space(encoding, config.actions), config, start, seed=1)
    good, other, *rest = search.ask(8)
    scores = [(5.0, 1.0), (1.0, 5.0), *((0.9, 0.9) for _ in rest)]
    search.tell([good, other, *rest], [Measured(0.1, front=score) for score in scores])
    assert set(search.parents) == {good, other}
    first, second, *more = [child for child in search.ask(8) if child not in (good, other)]
    beyond, failed = Measured(0.1, front=(9.0, 9.0), excess=2.0), Measured(0.0)
    dominated = [Measured(9.0, front=(0.8, 0.8)) for _ in more]
    search.tell([first, second, *more], [beyond, failed, *dominated])
    assert set(search.parents) == {good, other}
    again = Evolution(Space(encoding, config.actions), config, start, seed=1)
    again.load_state_dict(json.loads(json.dumps(search.state_dict())))
    assert again.ask(8) == search.ask(8)
