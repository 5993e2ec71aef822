"""Racing: a first look at every candidate, further looks at the promising ones only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from envs import Subject, of_policy
from policies import Encoding, to_json
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import Backend
from trainer.evaluation.ledger import Ledger
from trainer.search.base import Candidate

SLICES_MAX = 96
"""A candidate with so many slices is known well enough; survivors are not measured for ever."""

LOOK_MAX = 1000
"""Slices of one look at most."""


def check_race(config: EvaluationConfig) -> None:
    """Refuse settings that make no race.

    Raises:
        ValueError: one is wrong; the message names it.
    """
    if not config.looks or min(config.looks) < 1 or max(config.looks) > LOOK_MAX:
        raise ValueError(
            f"evaluation.looks={config.looks}: must be a list of numbers from 1 to {LOOK_MAX}, "
            "such as [1,2]"
        )
    if not 0.0 < config.keep <= 1.0:
        raise ValueError(f"evaluation.keep={config.keep}: must be above 0 and at most 1")
    if config.settled is not None and config.settled <= 0.0:
        raise ValueError(f"evaluation.settled={config.settled}: must be above 0, such as 0.1")


class Race:
    """Successive halving over one generation, with all samples in the ledger.

    Each look gives every candidate still in the race some slices (`Evaluator.evaluate`), in each
    member of the mix as many; those that are worse over all members then leave it.

    Args:
        backend: measures.
        encoding: turns candidates into tables.
        config: looks and the share that goes on.

    Attributes:
        stretch: a look has so many slices for each that the settings give it (`find_horizon`).
    """

    def __init__(self, backend: Backend, encoding: Encoding, config: EvaluationConfig) -> None:
        self.stretch = 1
        self._backend = backend
        self._encoding = encoding
        self._looks = config.looks
        self._keep = config.keep

    def run(
        self,
        candidates: Sequence[Candidate],
        references: Sequence[Subject],
        ledger: Ledger,
        seed: int,
        on_look: Callable[[int], None] = lambda slices: None,
    ) -> None:
        """Race the candidates; the ledger then holds what they reached.

        Args:
            candidates: all different.
            references: what they are measured beside, one a member.
            ledger: where samples go, and what is known already.
            seed: of the first look's inputs.
            on_look: called after each look with the slices it took, in all members.
        """
        racing = list(candidates)
        for slices in (look * self.stretch for look in self._looks):
            racing = [one for one in racing if ledger.failure(one) is None]
            measuring = [one for one in racing if ledger.slices(one) < SLICES_MAX]
            subjects = [self.subject(candidate) for candidate in measuring]
            found = self._backend.evaluate(subjects, references, slices=slices, seed=seed)
            for candidate, evaluations in zip(measuring, found, strict=True):
                ledger.add(candidate, evaluations, self.stretch)
            on_look(slices * len(measuring) * len(references))
            seed += slices
            measured = ledger.measured(racing)
            order = sorted(range(len(racing)), key=lambda i: -measured[i].fitness)
            racing = [racing[i] for i in order[: math.ceil(len(racing) * self._keep)]]

    def subject(self, candidate: Candidate) -> Subject:
        """The candidate as the engine runs it."""
        return table_subject(candidate, self._encoding)


def table_subject(candidate: Candidate, encoding: Encoding) -> Subject:
    """A candidate as the engine runs it, named by its key."""
    document = encoding.decode(candidate.vector, candidate.key)
    return of_policy(candidate.key, to_json(document))
