"""The samples of every candidate, and the fitness estimated from them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from envs import Evaluation, Result, trimmed_mean
from envs.objective import excess, limited
from trainer.evaluation.cap import Cap
from trainer.evaluation.combination import COMBINATIONS, Combination
from trainer.evaluation.front import spread
from trainer.search.base import Candidate, Measured

RUNS_FOR_NOISE = 3
"""The minimum number of runs for an estimate of their standard deviation."""


@dataclass
class _ScenarioSamples:
    """The samples of a candidate in one scenario.

    Attributes:
        ratios: one per run: its value of the objective ÷ the reference's.
        limit_ratios: one list per run: its ratio to each limit; none without limits.
        front_ratios: one list per run: its values of the front's metrics ÷ the reference's; none
            without a front.
        settled: whether the runs warmed up as those of the last rung. Others are dropped once there
            are such.
        lengths: of the runs, in slices of the set length.
        last: the last run.
    """

    ratios: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    last: Result | None = None
    limit_ratios: list[list[float]] = field(default_factory=list)
    front_ratios: list[list[float]] = field(default_factory=list)
    settled: bool = False

    @property
    def slices(self) -> int:
        return sum(self.lengths)

    @property
    def mean(self) -> float:
        """Trimmed mean over the slices."""
        pairs = zip(self.ratios, self.lengths, strict=True)
        return trimmed_mean([ratio for ratio, length in pairs for _ in range(length)])

    @property
    def excess(self) -> float:
        """By which factor the limits are exceeded, on the mean over the slices; 1 within them."""
        return excess(self._means(self.limit_ratios))

    @property
    def front(self) -> list[float]:
        """Mean over the slices of each metric of the front; empty without a front."""
        return self._means(self.front_ratios)

    def _means(self, by_run: list[list[float]]) -> list[float]:
        return [statistics.fmean(found, self.lengths) for found in zip(*by_run, strict=True)]

    @property
    def deviation(self) -> float | None:
        """Standard deviation of a slice, estimated from the runs; None if there are too few.

        A run of n slices has the standard error of a mean of n slices.
        """
        if len(self.ratios) < RUNS_FOR_NOISE:
            return None
        mean = statistics.fmean(self.ratios, self.lengths)
        pairs = zip(self.ratios, self.lengths, strict=True)
        squares = sum(length * (ratio - mean) ** 2 for ratio, length in pairs)
        return math.sqrt(squares / (len(self.ratios) - 1))

    def add(self, evaluation: Evaluation, stretch: int, settled: bool) -> None:
        if settled and not self.settled:
            for earlier in (self.ratios, self.lengths, self.limit_ratios, self.front_ratios):
                earlier.clear()
            self.settled = True
        self.ratios.extend(evaluation.ratios)
        length = max(1, evaluation.slices // stretch)
        self.lengths.extend(length for _ in evaluation.ratios)
        self.limit_ratios.extend(ratios for ratios in evaluation.limit_ratios if ratios)
        self.front_ratios.extend(ratios for ratios in evaluation.front_ratios if ratios)
        if evaluation.results:
            self.last = evaluation.results[-1]

    def as_json(self) -> dict[str, Any]:
        last = self.last.as_dict() if self.last else None
        found = {"ratios": self.ratios, "lengths": self.lengths, "last": last}
        more = {"limit_ratios": self.limit_ratios, "front_ratios": self.front_ratios}
        more = {name: ratios for name, ratios in more.items() if ratios}
        return found | more | ({} if self.settled else {"settled": False})

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> _ScenarioSamples:
        ratios = list(state["ratios"])
        return cls(
            ratios,
            # Earlier versions wrote one ratio per slice.
            list(state.get("lengths", [1] * len(ratios))),
            Result.from_dict(state["last"]) if state["last"] else None,
            list(state.get("limit_ratios", [])),
            list(state.get("front_ratios", [])),
            bool(state.get("settled", True)),
        )


class Samples:
    """The samples of each candidate, by its key: runs, relative to the reference.

    Args:
        scenarios: the number of scenarios.
        combination: combines a candidate's scores into one fitness.
    """

    def __init__(self, scenarios: int = 1, combination: Combination = COMBINATIONS["mean"]) -> None:
        self._scenarios = scenarios
        self._combination = combination
        self._candidates: dict[str, Candidate] = {}
        self._samples: dict[str, list[_ScenarioSamples]] = {}
        self._failed: dict[str, str] = {}
        self._caps: dict[str, Cap] = {}

    def add(
        self,
        candidate: Candidate,
        evaluations: Sequence[Evaluation],
        stretch: int = 1,
        settled: bool = True,
    ) -> None:
        """Add measurements of a candidate.

        A failure in any of the scenarios is permanent: the candidate's fitness is 0.

        Args:
            candidate: the candidate.
            evaluations: one per scenario.
            stretch: the factor on the slices of a rung's setting (`find_horizon`).
            settled: whether the runs warmed up as those of the last rung.
        """
        key = candidate.key
        self._candidates[key] = candidate
        if settled:
            self._caps.pop(key, None)
        samples = self._samples.setdefault(
            key, [_ScenarioSamples() for _ in range(self._scenarios)]
        )
        for own, evaluation in zip(samples, evaluations, strict=True):
            own.add(evaluation, stretch, settled)
            if evaluation.error is not None:
                self._failed.setdefault(key, evaluation.error)

    def is_settled(self, candidate: Candidate) -> bool:
        """Whether its runs warmed up as those of the last rung, in every scenario."""
        samples = self._samples.get(candidate.key, [])
        return bool(samples) and all(scenario.settled for scenario in samples)

    def cap(self, candidates: Iterable[Candidate]) -> None:
        """Let those of a race that left in the first rung be no better than the worst that stayed.

        Does nothing if all rungs warm up alike.
        """
        racing = list(candidates)
        stayed = [candidate for candidate in racing if self.is_settled(candidate)]
        known = [measured for measured in self.measured(stayed) if measured.fitness > 0.0]
        if not known:
            return
        worst = Cap.of(min(known, key=lambda measured: measured.fitness))
        for candidate in racing:
            if candidate not in stayed:
                self._caps[candidate.key] = worst

    def refuse(self, candidate: Candidate, reason: str) -> None:
        """Treat the candidate as failed from now on, whatever its throughput."""
        self._failed[candidate.key] = reason

    def slices(self, candidate: Candidate) -> int:
        """The candidate's number of slices, the same in each scenario unless it failed."""
        samples = self._samples.get(candidate.key)
        return min(scenario.slices for scenario in samples) if samples else 0

    def failure(self, candidate: Candidate) -> str | None:
        """Why it can't run; None if it can."""
        return self._failed.get(candidate.key)

    def last(self, candidate: Candidate) -> list[Result | None]:
        """Its last slice in each scenario; None for a scenario without slices."""
        samples = self._samples.get(candidate.key)
        return [scenario.last for scenario in samples] if samples else [None] * self._scenarios

    def measured(self, candidates: Iterable[Candidate]) -> list[Measured]:
        """Return trimmed means, with standard errors from the noise of all candidates."""
        noise = self.noise
        return [self._sum_up(candidate.key, noise) for candidate in candidates]

    @property
    def noise(self) -> list[float]:
        """Standard deviation of a slice by scenario: the median over candidates."""
        return [self._noise(scenario) for scenario in range(self._scenarios)]

    def best(self, count: int) -> list[Candidate]:
        """The candidates of highest rank, best first; failed ones are never included."""
        sound = [c for key, c in self._candidates.items() if key not in self._failed]
        measured = self.measured(sound)
        order = sorted(range(len(sound)), key=lambda i: -measured[i].cautious)
        return [sound[i] for i in order[:count]]

    def front(self, count: int) -> list[Candidate]:
        """Return candidates that no other dominates, within the limits: `count` at most.

        Those that left a race in its first, unsettled rung are not among them.
        """
        out = self._failed.keys() | self._caps.keys()
        sound = [c for key, c in self._candidates.items() if key not in out]
        pairs = zip(sound, self.measured(sound), strict=True)
        known = [(c, measured.front) for c, measured in pairs if _is_within(measured)]
        kept = spread([scores for _, scores in known], count)
        return [known[position][0] for position in kept]

    def prune(self, keep: Collection[Candidate]) -> None:
        """Drop the samples of all other candidates."""
        kept = {candidate.key for candidate in keep}
        stores: Sequence[dict[str, Any]] = (
            self._candidates,
            self._samples,
            self._failed,
            self._caps,
        )
        for store in stores:
            for key in [key for key in store if key not in kept]:
                del store[key]

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the samples and last results, as JSON values."""
        return [
            {
                "vector": list(candidate.vector),
                "origin": candidate.origin,
                "error": self._failed.get(key),
                "scenarios": [scenario.as_json() for scenario in self._samples[key]],
                **({"cap": self._caps[key].as_json()} if key in self._caps else {}),
            }
            for key, candidate in self._candidates.items()
        ]

    def load_state_dict(self, state: list[dict[str, Any]]) -> None:
        """Resume from a state with the same number of scenarios."""
        self._candidates, self._samples, self._failed, self._caps = {}, {}, {}, {}
        for entry in state:
            candidate = Candidate(tuple(entry["vector"]), entry["origin"])
            self._candidates[candidate.key] = candidate
            self._samples[candidate.key] = [
                _ScenarioSamples.from_json(scenario) for scenario in entry["scenarios"]
            ]
            if entry["error"] is not None:
                self._failed[candidate.key] = entry["error"]
            if "cap" in entry:
                self._caps[candidate.key] = Cap.from_json(entry["cap"])

    def _noise(self, scenario: int) -> float:
        found = [samples[scenario].deviation for samples in self._samples.values()]
        deviations = [scenario for scenario in found if scenario is not None]
        return statistics.median(deviations) if deviations else 0.0

    def _sum_up(self, key: str, noise: Sequence[float]) -> Measured:
        samples = self._samples.get(key, [])
        counts = [scenario.slices for scenario in samples] or [0]
        if key in self._failed or not all(counts):
            return Measured(0.0, 0.0, min(counts))
        scores = tuple(scenario.mean for scenario in samples)
        errors = [
            scenario / math.sqrt(count) for scenario, count in zip(noise, counts, strict=True)
        ]
        # The scenarios that determine the fitness: for the worst case, only the worst one.
        slopes = self._combination.slopes(scores)
        beyond = math.prod(scenario.excess for scenario in samples)
        fitness = self._combination.fitness(scores)
        decisive = [scenario.last for scenario, slope in zip(samples, slopes, strict=True) if slope]
        found = Measured(
            limited(fitness, beyond),
            self._combination.error(scores, errors) if beyond <= 1.0 else 0.0,
            min(counts),
            scores,
            tuple(last for last in decisive if last is not None),
            beyond,
            fitness if beyond > 1.0 else None,
            self._front(samples),
        )
        return self._caps[key].on(found) if key in self._caps else found

    def _front(self, samples: Sequence[_ScenarioSamples]) -> tuple[float, ...]:
        """Return the score for each metric of the front, combined over the scenarios."""
        by_metric = zip(*(scenario.front for scenario in samples), strict=True)
        return tuple(self._combination.fitness(scores) for scores in by_metric)


def _is_within(measured: Measured) -> bool:
    return bool(measured.front) and measured.fitness > 0.0 and measured.excess <= 1.0
