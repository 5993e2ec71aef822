"""Does a table keep the database serializable? A short run of it is recorded and checked.

A search rewards whatever its evaluator fails to forbid: a fault of the engine that lets a table
commit what it must not would look like a discovery. So no table becomes a generation's best, or the
champion, before the checker (docs/checking.md) has looked at what it does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from envs import MeasuringError, Subject
from envs.trial import Trial, Verdict
from envs.trial_plan import REAL_SECONDS, REAL_WATCHDOG_S, VIRTUAL_SECONDS, VIRTUAL_WATCHDOG_S
from envs.trial_pool import TrialPool
from trainer.evaluation import Backend
from trainer.scenario import Scenario
from trainer.shell_words import heddle_command
from trainer.trial_folder import keep_trial

PATIENCE_S = 900.0
"""A large database takes its time to load on a busy machine, which is no fault of the table."""

KILLED = "SIGKILL"
"""Whoever ends processes to free memory does it by this signal."""


class TableCheck:
    """Checks tables in each scenario of a training.

    A run on virtual cores is made on a copy of the database that the backend's evaluators hold, so
    that nothing is loaded for it. Real cores can't be copied: there each check loads a database, in
    a process of its own, which a fault of the engine may take down.

    Args:
        scenarios: what is trained for.
        folder: what fails is kept in folders in it, named after the tables.
        backend: of the training.
        say: shows a message to the person.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        folder: Path,
        backend: Backend,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._scenarios = scenarios
        self._folder = folder
        self._backend = backend
        self._say = say
        self._open_pool: TrialPool | None = None

    def __enter__(self) -> TableCheck:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open_pool is not None:
            self._open_pool.__exit__(kind, error, trace)
            self._open_pool = None

    def refusal_reason(self, subject: Subject) -> str | None:
        """Check a table, in one scenario after the other.

        Returns:
            What was wrong where it failed first, in a line; None if nothing was, or if tables are
            not checked. A table that is refused is told of loudly, and kept with its history.

        Raises:
            MeasuringError: there is no room for it.
            WritingError: what fails can't be written.
        """
        for scenario in self._scenarios:
            if reason := self._refusal_reason_in(scenario, subject):
                return reason
        return None

    def _refusal_reason_in(self, scenario: Scenario, subject: Subject) -> str | None:
        if not scenario.config.check.enabled:
            return None
        trial = _trial(scenario, subject)
        try:
            verdict = self._verdict(scenario, trial)
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
        reason = scenario.prefix + verdict.findings[0].strip().splitlines()[0]
        self._say(
            f"REFUSED: table {subject.name} fails the check: {reason}\n"
            "A table may be slow, never wrong: this is a fault of the engine. Its candidate counts "
            "as failed, and the training continues without it.\n"
            f"Look at it: {heddle_command('check', f'replay={kept}')}"
        )
        return f"fails the check: {reason}"

    def _verdict(self, scenario: Scenario, trial: Trial) -> Verdict:
        if scenario.virtual:
            return self._backend.run_trial(
                trial, patience_s=PATIENCE_S, scenario=scenario.number - 1
            )
        return self._pool.run_one(trial)

    @property
    def _pool(self) -> TrialPool:
        """Kept: to start a process takes longer than a trial of a small database."""
        if self._open_pool is None:
            self._open_pool = TrialPool(1, PATIENCE_S).__enter__()
        return self._open_pool


def _trial(scenario: Scenario, subject: Subject) -> Trial:
    config = scenario.config
    seconds = config.check.seconds or (VIRTUAL_SECONDS if scenario.virtual else REAL_SECONDS)
    # Whoever checks for longer has transactions that take longer.
    watchdog_s = max(VIRTUAL_WATCHDOG_S, seconds) if scenario.virtual else REAL_WATCHDOG_S
    return Trial(
        workload=scenario.workload,
        cores=config.machine.cores or len(os.sched_getaffinity(0)),
        seed=config.seed,
        machine=config.machine.options(),
        subject=subject,
        seconds=seconds,
        watchdog_s=watchdog_s,
    )
