"""Racing: every candidate runs in the first rung, the best continue to the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from envs import Subject, of_policy
from envs.objective import Objective
from policies import Encoding, to_json
from trainer.config import EvaluationConfig
from trainer.evaluation.adapted_backoff import AdaptedBackoff
from trainer.evaluation.backend import Backend
from trainer.evaluation.samples import Samples
from trainer.search.base import Candidate

SLICES_MAX = 96
"""The number of slices after which a candidate is not measured again."""

RUNG_MAX = 1000
"""Maximum number of slices of one rung."""


def check_race(config: EvaluationConfig) -> None:
    """Check the settings of a race.

    Raises:
        ValueError: a setting is wrong; the message names it.
    """
    if not config.rungs or min(config.rungs) < 1 or max(config.rungs) > RUNG_MAX:
        raise ValueError(
            f"evaluation.rungs={config.rungs}: must be a list of numbers from 1 to {RUNG_MAX}, "
            "such as [1,2]"
        )
    if not 0.0 < config.keep <= 1.0:
        raise ValueError(f"evaluation.keep={config.keep}: must be above 0 and at most 1")
    if config.settled is not None and config.settled <= 0.0:
        raise ValueError(f"evaluation.settled={config.settled}: must be above 0, such as 0.1")


class Race:
    """Successive halving over one generation, with all samples kept.

    Each rung gives every remaining candidate the same number of slices in each scenario
    (`Evaluator.evaluate`). The worst over all scenarios then leave the race.

    A run's first milliseconds flatter tables that make a type slow: its transactions occupy workers
    only later. So the runs of further rungs may warm up longer. The first rung then only decides
    who stays. Its samples do not count next to longer ones, and who leaves after it is at most as
    good as the worst that stays.

    Args:
        backend: measures.
        encoding: turns candidates into tables.
        config: the rungs, and the share of candidates that reaches the next.
        backoff: where the backoffs of candidates begin; None = at the tables' initial values.

    Attributes:
        stretch: the factor on the slices of a rung's setting (`find_horizon`).
        later_warmup: unmeasured seconds before each run after the first rung.
    """

    def __init__(
        self,
        backend: Backend,
        encoding: Encoding,
        config: EvaluationConfig,
        backoff: AdaptedBackoff | None = None,
    ) -> None:
        self.stretch = 1
        self.later_warmup = later_warmup(config)
        self._backoff = backoff
        self._backend = backend
        self._encoding = encoding
        self._rungs = config.rungs
        self._warmup = config.warmup_seconds
        self._keep = config.keep

    def run(
        self,
        candidates: Sequence[Candidate],
        references: Sequence[Subject],
        samples: Samples,
        seed: int,
        on_rung: Callable[[int], None] = lambda slices: None,
        objectives: Sequence[Objective] = (),
    ) -> None:
        """Race the candidates and add the results to `samples`.

        Args:
            candidates: all different.
            references: what to measure them against, one per scenario.
            samples: of earlier races; those of this race are added.
            seed: of the first rung's inputs.
            on_rung: called after each rung with its slices in all scenarios.
            objectives: what to measure, one per scenario; none = throughput.
        """
        racing = list(candidates)
        for number, slices in enumerate(rung * self.stretch for rung in self._rungs):
            racing = [candidate for candidate in racing if samples.failure(candidate) is None]
            is_first = number == 0 and len(self._rungs) > 1
            warmup = self._warmup if is_first else self.later_warmup
            qualifying = is_first and warmup < self.later_warmup
            measuring = [
                candidate
                for candidate in racing
                if samples.slices(candidate) < SLICES_MAX
                and not (qualifying and samples.is_settled(candidate))
            ]
            subjects = [self.subject(candidate) for candidate in measuring]
            found = self._backend.evaluate(
                subjects, references, objectives, slices=slices, seed=seed, warmup=warmup
            )
            for candidate, evaluations in zip(measuring, found, strict=True):
                samples.add(candidate, evaluations, self.stretch, settled=not qualifying)
                if self._backoff is not None:
                    ends = [each.results[-1] for each in evaluations if each.results]
                    self._backoff.note(candidate, ends)
            on_rung(slices * len(measuring) * len(references))
            seed += slices
            racing = self._stay(racing, samples)
        samples.cap(candidates)

    def _stay(self, racing: Sequence[Candidate], samples: Samples) -> list[Candidate]:
        """Return the candidates that reach the next rung, best first."""
        measured = samples.measured(racing)
        # Candidates of earlier races stay: a first rung can't be compared with what they have.
        order = sorted(
            range(len(racing)),
            key=lambda i: (not samples.is_settled(racing[i]), -measured[i].fitness),
        )
        return [racing[i] for i in order[: math.ceil(len(racing) * self._keep)]]

    def subject(self, candidate: Candidate) -> Subject:
        """Return the candidate as the engine runs it, from the backoff that it has adapted to."""
        adapted = candidate if self._backoff is None else self._backoff.adapted(candidate)
        return table_subject(adapted, self._encoding, candidate.key)


def later_warmup(config: EvaluationConfig, least: float = 0.0) -> float:
    """Return the warm-up after the first rung, in seconds: never shorter than that before it.

    Args:
        config: the settings.
        least: what the objective needs (`Checkpoint.warmup`).
    """
    return max(config.warmup_seconds, config.later_warmup_seconds or 0.0, least)


def table_subject(candidate: Candidate, encoding: Encoding, name: str | None = None) -> Subject:
    """Return a candidate as the engine runs it, named by its key unless a name is given."""
    named = name or candidate.key
    return of_policy(named, to_json(encoding.decode(candidate.vector, named)))
