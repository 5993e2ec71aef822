"""Runs the threads of a setting in several processes, with a queue each or with one of a server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.bench.client.closed_loop import Counts, Setting, run
from engine.bench.client.smallbank import Input
from heddle_client import Policy, Scheduler, ServerError
from heddle_client.server.status import status

PATIENCE_S = 10.0


def run_in_processes(
    address: str, setting: Setting, work: list[list[Iterator[Input]]], seconds: float
) -> Counts:
    """Run each list of iterators in a process of its own, as `run` does, and add the counts.

    Without a server each process has its share of the bound of the setting.

    Raises:
        RuntimeError: a process failed.
    """
    context = get_context("fork")
    together = context.Barrier(len(work))
    with _scheduling(setting, len(work)) as scheduler:

        def one(share: list[Iterator[Input]], pipe: Pipe) -> None:
            made = scheduler()
            try:
                pipe.send(run(address, setting, share, seconds, made, together.wait))
            except BaseException:
                together.abort()  # the others wait for this one
                raise

        pipes = [context.Pipe(duplex=False) for _ in work]
        started = [
            context.Process(target=one, args=(share, sender))
            for share, (_, sender) in zip(work, pipes, strict=True)
        ]
        for process, (_, sender) in zip(started, pipes, strict=True):
            process.start()
            sender.close()
        total = Counts()
        for process, (receiver, _) in zip(started, pipes, strict=True):
            with suppress(EOFError):
                counts = receiver.recv()
                total.add(counts)
                total.seconds = max(total.seconds, counts.seconds)
                total.cpu_seconds += counts.cpu_seconds
            process.join()
    if any(process.exitcode for process in started):
        raise RuntimeError(f"{setting.name}: a process failed")
    return total


@contextmanager
def _scheduling(setting: Setting, processes: int) -> Iterator[Callable[[], Scheduler]]:
    """Yield what makes the scheduler of a process."""
    if setting.server:
        with _server(setting.policy) as path:
            yield lambda: Scheduler(server=path)
        return
    bound = setting.policy.concurrency
    share = None if bound is None else max(1, bound // processes)
    yield lambda: Scheduler(replace(setting.policy, concurrency=share))


@contextmanager
def _server(policy: Policy) -> Iterator[Path]:
    """Yield the socket of a server with a policy."""
    with TemporaryDirectory(prefix="heddle-") as folder:
        path = Path(folder) / "queue"
        bound = [] if policy.concurrency is None else ["--concurrency", str(policy.concurrency)]
        command = [sys.executable, "-m", "heddle_client.server", str(path), "--mode", policy.mode]
        with subprocess.Popen([*command, *bound], stderr=subprocess.DEVNULL) as server:
            try:
                _wait_for(path)
                yield path
            finally:
                server.terminate()


def _wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            status(path)
        except ServerError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return
