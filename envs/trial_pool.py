"""Run trials in parallel, each in a process of its own, which may crash."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path

from envs.trial import Trial, Verdict, run_trial

PATIENCE_S = 120.0
"""Time limit of a trial in seconds. A trial usually takes seconds, so a longer one has hung."""


@dataclass
class _Slot:
    """A process and its current trial."""

    pool: ProcessPoolExecutor
    number: int = -1
    trial: Trial | None = None
    ends: float = 0.0

    @property
    def patience_s(self) -> float:
        """Remaining time of the trial in seconds."""
        return max(0.0, self.ends - time.monotonic())


class TrialPool:
    """Runs trials in its own processes, one trial per process at a time.

    A process that crashes or hangs is a finding of its trial.

    Args:
        jobs: number of processes.
        patience_s: time limit of a trial in seconds; None for `PATIENCE_S`.
    """

    def __init__(self, jobs: int, patience_s: float | None = None) -> None:
        self._jobs = jobs
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._slots: list[_Slot] = []

    def __enter__(self) -> TrialPool:
        self._slots = [_Slot(_process()) for _ in range(self._jobs)]
        return self

    def __exit__(self, *error: object) -> None:
        for slot in self._slots:
            _end(slot.pool)

    def run(self, trials: Iterator[tuple[int, Trial]]) -> Iterator[tuple[int, Trial, Verdict]]:
        """Run all trials; yield each with its number and verdict, in the order of their ends.

        Raises:
            engine.PolicyError, ValueError: a trial is not valid.
        """
        running: dict[Future[Verdict], _Slot] = {}
        for slot in self._slots:
            self._start(slot, trials, running)
        while running:
            patience_s = min(slot.patience_s for slot in running.values())
            wait(running, timeout=patience_s, return_when=FIRST_COMPLETED)
            # Each trial has its own time limit, so a busy one cannot hide another that hangs.
            over = [f for f, slot in running.items() if f.done() or slot.patience_s == 0]
            for future in over:
                slot = running.pop(future)
                verdict = self._verdict(future, slot)
                assert slot.trial is not None
                number, trial = slot.number, slot.trial
                self._start(slot, trials, running)
                yield number, trial, verdict

    def run_one(self, trial: Trial, *, history: Path | None = None) -> Verdict:
        """Run one trial.

        Args:
            trial: the trial.
            history: path of a Parquet file for the history; None for no file.

        Raises:
            engine.PolicyError, ValueError: the trial is not valid.
            OSError: the history cannot be written.
        """
        slot = self._slots[0]
        future = slot.pool.submit(run_trial, trial, history=history)
        wait([future], timeout=self._patience_s)
        return self._verdict(future, slot)

    def _start(
        self,
        slot: _Slot,
        trials: Iterator[tuple[int, Trial]],
        running: dict[Future[Verdict], _Slot],
    ) -> None:
        upcoming = next(trials, None)
        if upcoming is None:
            return
        slot.number, slot.trial = upcoming
        slot.ends = time.monotonic() + self._patience_s
        running[slot.pool.submit(run_trial, slot.trial)] = slot

    def _verdict(self, future: Future[Verdict], slot: _Slot) -> Verdict:
        if not future.done():
            _end(slot.pool)
            slot.pool = _process()
            return Verdict((f"hung: it did not end in {self._patience_s:g} s\n",))
        try:
            return future.result()
        except BrokenProcessPool:
            status = _status(slot.pool)
            _end(slot.pool)
            slot.pool = _process()
            return Verdict((f"crashed: its process ended{status}\n",))


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """Ignore Ctrl-C and a closed terminal, which the parent handles, and exit with the parent."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end(pool: ProcessPoolExecutor) -> None:
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.kill()
    # Wait, or the pool's thread closes its pipe while the exiting interpreter writes to it.
    pool.shutdown(wait=True, cancel_futures=True)


def _status(pool: ProcessPoolExecutor) -> str:
    for process in (getattr(pool, "_processes", None) or {}).values():
        if process.exitcode is not None and process.exitcode < 0:
            return f" by signal {signal.Signals(-process.exitcode).name}"
    return ""
