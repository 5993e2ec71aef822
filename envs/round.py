"""Rounds, in which several subjects are measured on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from envs.errors import Interrupted, MeasuringError
from envs.result import Result
from envs.subject import Subject

Outcome = Result | MeasuringError
"""The result of a subject in a round, or the error of its run."""


class Run(Protocol):
    """A function that measures one subject once, such as `Evaluator.run`."""

    def __call__(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, check: bool = False
    ) -> Result:
        """Run the subject; see `Evaluator.run`."""


class RunRound(Protocol):
    """A function that measures several subjects once, such as `Evaluator.run_round`."""

    def __call__(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        """Run each subject once, all on the same inputs.

        Args:
            subjects: subjects to run, on real cores in this order.
            seconds: length of each measured window in seconds.
            warmup: unmeasured seconds before each window.
            seed: seed of the inputs.
            check: check the consistency of the database after the round. On virtual cores every
                subject has its own database, which is checked after its run.

        Yields:
            The position and the outcome of each subject, in the order in which they finish.

        Raises:
            Interrupted: Ctrl-C; has the position and the result of the interrupted run.
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
    """Run a round on one machine, one subject after the other; see `RunRound`.

    Args:
        run: measures one subject.
        subjects: subjects to run, in order.
        seconds: length of each measured window in seconds.
        warmup: unmeasured seconds before each window.
        seed: seed of the inputs.
        check: check the consistency of the databases.
        shared: whether all subjects run on one database, which is then checked at the end only.

    Yields:
        The position and the outcome of each subject.

    Raises:
        Interrupted: Ctrl-C; has the position and the result of the interrupted run.
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
    """Return the result of an outcome, or raise its error.

    Raises:
        MeasuringError: the run failed.
    """
    if isinstance(outcome, MeasuringError):
        raise outcome
    return outcome
