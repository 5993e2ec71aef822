"""Does a table keep the database serializable? A short run of it is recorded and checked.

A search rewards whatever its evaluator fails to forbid: a fault of the engine that lets a table
commit what it must not would look like a discovery. So no table becomes a generation's best, or the
champion, before the checker (docs/checking.md) has looked at what it does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from envs import MeasuringError, Subject
from envs.trial import Trial
from envs.trial_plan import REAL_SECONDS, REAL_WATCHDOG_S, VIRTUAL_SECONDS, VIRTUAL_WATCHDOG_S
from envs.trial_pool import TrialPool
from trainer.config import TrainingConfig, workload_options
from trainer.trial_folder import keep_trial

PATIENCE_S = 900.0
"""A large database takes its time to load on a busy machine, which is no fault of the table."""

KILLED = "SIGKILL"
"""Whoever ends processes to free memory does it by this signal."""


class TableCheck:
    """Checks tables on a training's workload and machine, in a process of its own.

    Args:
        config: of the training.
        folder: what fails is kept in folders in it, named after the tables.
        say: shows a message to the person.
    """

    def __init__(
        self, config: TrainingConfig, folder: Path, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self._config = config
        self._folder = folder
        self._say = say
        self._pool: TrialPool | None = None

    def __enter__(self) -> TableCheck:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, error, trace)
            self._pool = None

    def why_refused(self, subject: Subject) -> str | None:
        """Check a table.

        Returns:
            What was wrong, in a line; None if nothing was, or if tables are not checked. A table
            that is refused is told of loudly, and kept with its history.

        Raises:
            MeasuringError: there is no room for it.
            WritingError: what fails can't be written.
        """
        if not self._config.check.enabled:
            return None
        if self._pool is None:
            # Kept: to start a process takes longer than a trial of a small database.
            self._pool = TrialPool(1, PATIENCE_S).__enter__()
        trial = self._trial(subject)
        try:
            verdict = self._pool.run_one(trial)
        except MemoryError as error:
            raise MeasuringError(
                "there is not enough memory to check tables; check.enabled=false goes without"
            ) from error
        if not verdict.findings:
            return None
        if KILLED in verdict.findings[0]:
            raise MeasuringError(
                "the process that checks tables was killed, which no fault of the engine does; is "
                "there too little memory for one more database? check.enabled=false goes without"
            )
        kept = keep_trial(trial, verdict, self._folder / subject.name, self._pool)
        reason = verdict.findings[0].strip().splitlines()[0]
        self._say(
            f"REFUSED: table {subject.name} fails the check: {reason}\n"
            "A table may be slow, never wrong: this is a fault of the engine. Its candidate counts "
            "as failed, and the training goes on without it.\n"
            f"Look at it: heddle check replay={kept}"
        )
        return f"fails the check: {reason}"

    def _trial(self, subject: Subject) -> Trial:
        config = self._config
        virtual = config.machine.kind == "virtual"
        return Trial(
            workload=workload_options(config.workload),
            cores=config.machine.cores or len(os.sched_getaffinity(0)),
            seed=config.seed,
            machine=config.machine.options(),
            subject=subject,
            seconds=config.check.seconds or (VIRTUAL_SECONDS if virtual else REAL_SECONDS),
            watchdog_s=VIRTUAL_WATCHDOG_S if virtual else REAL_WATCHDOG_S,
        )
