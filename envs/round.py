"""A round: several subjects measured on common inputs, in turns or, where they can be, at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from envs.errors import Interrupted, MeasuringError
from envs.result import Result
from envs.subject import Subject

Outcome = Result | MeasuringError
"""What a subject of a round reached, or why it could not be run."""


class Run(Protocol):
    """How one subject is measured once (`Evaluator.run`)."""

    def __call__(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, check: bool = False
    ) -> Result:
        """Run the subject for `seconds` after `warmup`; `check` the database's consistency then."""


class RunRound(Protocol):
    """How sweeps and comparisons measure (`Evaluator.run_round`)."""

    def __call__(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        """Run each for `seconds` after `warmup`, all on the inputs of `seed`.

        Args:
            subjects: what to run; on real cores in this order.
            seconds: of each.
            warmup: unmeasured seconds before each.
            seed: of the inputs.
            check: the consistency of the databases afterwards: on virtual cores after each
                subject, for each had its own; on real ones, where they share one, after the last.

        Yields:
            A subject's position and its outcome: as they end.

        Raises:
            Interrupted: Ctrl-C in one of them; the result, if there is one, is that of `index`.
        """


def run_in_turns(
    run: Run,
    subjects: Sequence[Subject],
    seconds: float,
    *,
    warmup: float,
    seed: int,
    check: bool,
    shared: bool,
) -> Iterator[tuple[int, Outcome]]:
    """A round on one machine, one subject after the other. See `RunRound`.

    Args: as there, and
        run: measures one.
        shared: whether all subjects run on one database.
    """
    for index, subject in enumerate(subjects):
        checked = check and (not shared or index == len(subjects) - 1)
        try:
            result = run(subject, seconds, warmup=warmup, seed=seed, check=checked)
        except Interrupted as stop:
            stop.index = index
            raise
        except MeasuringError as error:
            yield index, error
        else:
            yield index, result


def finished(outcome: Outcome) -> Result:
    """The result of a subject that must not fail.

    Raises:
        MeasuringError: it failed.
    """
    if isinstance(outcome, MeasuringError):
        raise outcome
    return outcome
