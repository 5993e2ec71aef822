"""Choosing the policy to ship: the top candidates measured anew, side by side.

The best of a search is partly luck: whoever was measured best was also measured luckiest. So the
finalists start again from nothing, in interleaved rounds on common inputs, and only these fresh
samples decide (successive halving: after each stage the worse half leaves, the rest go on).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from envs import MeasuringError, RunRound, Subject, trimmed_mean


@dataclass(frozen=True)
class Verdict:
    """The outcome.

    Attributes:
        order: positions of the finalists, best first: by stage reached, then by score.
        scores: of each finalist: throughput relative to the mean of those it was last compared
            with; 0 if it failed.
        rounds: slices of each finalist.
    """

    order: list[int]
    scores: list[float]
    rounds: list[int]


def stages(count: int) -> list[int]:
    """How many finalists each stage has: halved until two are left, which meet once."""
    sizes = [count]
    while sizes[-1] > 2:
        sizes.append(math.ceil(sizes[-1] / 2))
    return sizes


def choose_champion(
    run_round: RunRound,
    finalists: Sequence[Subject],
    *,
    rounds: int,
    seconds: float,
    warmup: float,
    seed: int,
    on_slice: Callable[[], None] = lambda: None,
) -> Verdict:
    """Find the best of a few policies.

    Args:
        run_round: measures those still in.
        finalists: at least one.
        rounds: slices of each at every stage.
        seconds: length of a slice.
        warmup: unmeasured seconds before each.
        seed: of the inputs and of the order.
        on_slice: called after every slice.

    Raises:
        ValueError: there are no finalists.
        MeasuringError: none of them can run.
    """
    if not finalists:
        raise ValueError("there are no finalists to choose from")
    order = Random(seed)
    racing = list(range(len(finalists)))
    samples: list[list[float]] = [[] for _ in finalists]
    scores = [0.0] * len(finalists)
    ranked: list[int] = []
    number = 0
    for size in stages(len(finalists)):
        ranked = racing[size:] + ranked
        racing = racing[:size]
        for _ in range(rounds):
            shuffled = order.sample(racing, len(racing))
            subjects = [finalists[index] for index in shuffled]
            failed = []
            for at, outcome in run_round(subjects, seconds, warmup=warmup, seed=seed + number):
                index = shuffled[at]
                if isinstance(outcome, MeasuringError):
                    failed.append(index)
                else:
                    samples[index].append(outcome.fitness)
                on_slice()
            for index in sorted(failed):
                racing.remove(index)
                ranked.append(index)
                scores[index] = 0.0
            number += 1
        if not racing:
            raise MeasuringError("none of the best candidates can run; see the engine's messages")
        for index, score in _relative(racing, samples).items():
            scores[index] = score
        racing.sort(key=lambda index: -scores[index])
    return Verdict(racing + ranked, scores, [len(taken) for taken in samples])


def _relative(racing: Sequence[int], samples: Sequence[Sequence[float]]) -> dict[int, float]:
    """Each one's throughput relative to the round's mean over those still in.

    Every round that was measured had all of them in it.
    """
    shares: dict[int, list[float]] = {index: [] for index in racing}
    for values in zip(*(samples[index] for index in racing), strict=True):
        mean = sum(values) / len(values) or 1.0
        for index, value in zip(racing, values, strict=True):
            shares[index].append(value / mean)
    return {index: trimmed_mean(values) for index, values in shares.items()}
