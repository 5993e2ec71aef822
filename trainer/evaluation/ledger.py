"""What every candidate reached so far: samples kept, and summed up so that luck fades."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from envs import Evaluation, Result, trimmed_mean
from trainer.search.base import Candidate, Measured


class Ledger:
    """The samples of each candidate, by its key. A sample is a ratio to the reference."""

    def __init__(self) -> None:
        self._candidates: dict[str, Candidate] = {}
        self._ratios: dict[str, list[float]] = {}
        self._failed: dict[str, str] = {}
        self._last: dict[str, Result] = {}

    def add(self, candidate: Candidate, evaluation: Evaluation) -> None:
        """Add what an evaluation measured. A failure stays: the candidate's fitness is 0."""
        key = candidate.key
        self._candidates[key] = candidate
        self._ratios.setdefault(key, []).extend(evaluation.ratios)
        if evaluation.results:
            self._last[key] = evaluation.results[-1]
        if evaluation.error is not None:
            self._failed[key] = evaluation.error

    def refuse(self, candidate: Candidate, reason: str) -> None:
        """It must not be used, however fast it is: from now on it is one that failed."""
        self._failed[candidate.key] = reason

    def slices(self, candidate: Candidate) -> int:
        """How many slices it has had."""
        return len(self._ratios.get(candidate.key, ()))

    def failure(self, candidate: Candidate) -> str | None:
        """Why it can't run, or None."""
        return self._failed.get(candidate.key)

    def measured(self, candidates: Iterable[Candidate]) -> list[Measured]:
        """Sum up: trimmed mean, and its standard error from the noise of all candidates."""
        noise = self.noise
        return [self._sum_up(candidate.key, noise) for candidate in candidates]

    @property
    def noise(self) -> float:
        """Standard deviation of one sample: the median over candidates with enough of them."""
        deviations = [statistics.stdev(r) for r in self._ratios.values() if len(r) >= 3]
        return statistics.median(deviations) if deviations else 0.0

    def best(self, count: int) -> list[Candidate]:
        """The candidates that rank highest, best first; those that failed never do."""
        sound = [c for key, c in self._candidates.items() if key not in self._failed]
        measured = self.measured(sound)
        order = sorted(range(len(sound)), key=lambda i: -measured[i].cautious)
        return [sound[i] for i in order[:count]]

    def prune(self, keep: Collection[Candidate]) -> None:
        """Forget all others."""
        kept = {candidate.key for candidate in keep}
        stores: Sequence[dict[str, Any]] = (
            self._candidates,
            self._ratios,
            self._failed,
            self._last,
        )
        for store in stores:
            for key in [key for key in store if key not in kept]:
                del store[key]

    def state_dict(self) -> list[dict[str, Any]]:
        """The samples and last results, as JSON values."""
        return [
            {
                "vector": list(candidate.vector),
                "origin": candidate.origin,
                "ratios": self._ratios[key],
                "error": self._failed.get(key),
                "last": self._last[key].as_dict() if key in self._last else None,
            }
            for key, candidate in self._candidates.items()
        ]

    def load_state_dict(self, state: list[dict[str, Any]]) -> None:
        """Go on from a state."""
        self.__init__()  # type: ignore[misc]
        for entry in state:
            candidate = Candidate(tuple(entry["vector"]), entry["origin"])
            results = [Result.from_dict(entry["last"])] if entry["last"] else []
            evaluation = Evaluation(list(entry["ratios"]), results, entry["error"])
            self.add(candidate, evaluation)

    def _sum_up(self, key: str, noise: float) -> Measured:
        ratios = self._ratios.get(key, [])
        if not ratios or key in self._failed:
            return Measured(0.0, 0.0, len(ratios))
        error = noise / math.sqrt(len(ratios))
        return Measured(trimmed_mean(ratios), error, len(ratios), self._last.get(key))
