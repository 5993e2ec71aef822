"""The serializability check of tables, by a short recorded run.

A fault of the engine that lets a table commit non-serializable transactions would look like a
faster policy to the search. So a table must pass the checker (docs/checking.md) before it becomes a
generation's best or the champion.
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
"""Seconds to wait for a trial: a large database loads slowly on a busy machine."""

KILLED = "SIGKILL"
"""The signal by which the kernel ends a process to free memory."""


class TableCheck:
    """Checks tables in each scenario of a training.

    A run on virtual cores uses a copy of the database in the backend's evaluators, so that nothing
    is loaded. On real cores each check loads a database in its own process, which a fault of the
    engine may crash.

    Args:
        scenarios: the scenarios of the training.
        folder: for folders of failing tables, named after the tables.
        backend: of the training.
        say: shows a message to the user.
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
        """Check a table in each scenario.

        Returns:
            The first failure, in a line; None if there is none, or if tables are not checked. A
            refused table is reported, and its folder has the history.

        Raises:
            MeasuringError: there is too little memory.
            WritingError: the folder of a failing table can't be written.
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
                "there is not enough memory to check tables; set check.enabled=false to skip checks"
            ) from error
        if not verdict.findings:
            return None
        if KILLED in verdict.findings[0]:
            raise MeasuringError(
                "the process that checks tables was killed, probably because there is too little "
                "memory for one more database; set check.enabled=false to skip checks"
            )
        kept = keep_trial(trial, verdict, self._folder / subject.name, self._pool)
        reason = scenario.prefix + verdict.findings[0].strip().splitlines()[0]
        self._say(
            f"REFUSED: table {subject.name} fails the check: {reason}\n"
            "This is a fault of the engine: every table must be serializable. The candidate counts "
            "as failed, and the training continues without it.\n"
            f"Reproduce it: {heddle_command('check', f'replay={kept}')}"
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
        """Return the pool, kept open: starting a process takes longer than a small trial."""
        if self._open_pool is None:
            self._open_pool = TrialPool(1, PATIENCE_S).__enter__()
        return self._open_pool


def _trial(scenario: Scenario, subject: Subject) -> Trial:
    config = scenario.config
    seconds = config.check.seconds or (VIRTUAL_SECONDS if scenario.virtual else REAL_SECONDS)
    # A longer check is set for longer transactions, so the watchdog waits longer, too.
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
