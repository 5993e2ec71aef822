"""Threads that run transactions one after the other, each until it has committed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import psycopg

from engine.bench.client.smallbank import SESSION, Connection, Input, transact
from heddle_client import Merger, Policy, Scheduler

ABORTED = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
DOUBLINGS = 6


@dataclass(frozen=True)
class Setting:
    """How transactions are scheduled, isolated and retried."""

    name: str
    policy: Policy
    isolation: str = "SERIALIZABLE"
    backoff_ms: float = 0.0
    """Of the first retry; it doubles up to six times. A backoff is drawn from 0 to twice that."""
    server: bool = False
    """Whether a server has the policy, for all processes."""


@dataclass
class Counts:
    """What threads have done. Times in s."""

    commits: int = 0
    aborts: int = 0
    change: int = 0
    """Of the sum of all balances."""
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor time of this process, all threads."""

    def add(self, other: Counts) -> None:
        """Add those of another thread."""
        self.commits += other.commits
        self.aborts += other.aborts
        self.change += other.change
        self.latencies += other.latencies


def run(
    address: str,
    setting: Setting,
    work: list[Iterator[Input]],
    seconds: float,
    scheduler: Scheduler | None = None,
    start_together: Callable[[], object] = bool,
) -> Counts:
    """Run transactions of each iterator in a thread of its own for some seconds.

    Args:
        address: of the database.
        setting: how transactions run.
        work: the inputs.
        seconds: for how long.
        scheduler: admits them; None: one with the policy of the setting.
        start_together: called when all threads are ready, before the first transaction.

    Raises:
        RuntimeError: a thread failed.
    """
    scheduler = Scheduler(setting.policy) if scheduler is None else scheduler
    own = threading.local()
    merger = Merger(scheduler, lambda: nullcontext(own.connection))
    found = [Counts() for _ in work]
    ready = threading.Barrier(len(work) + 1)
    end = threading.Event()
    errors: list[BaseException] = []

    def client(number: int) -> None:
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(SESSION)
                connection.isolation_level = psycopg.IsolationLevel[
                    setting.isolation.replace(" ", "_")
                ]
                own.connection = connection
                ready.wait()
                if setting.policy.merge > 1:
                    transaction = partial(_merged, merger)
                else:
                    transaction = partial(_own, scheduler, setting, connection)
                while not end.is_set():
                    _count(found[number], transaction, next(work[number]))
        except BaseException as error:
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    total = Counts()
    try:
        start_together()
        ready.wait()
        start, cpu = time.perf_counter(), time.process_time()
        time.sleep(seconds)
        end.set()
    finally:
        for thread in threads:
            thread.join()
    total.seconds = time.perf_counter() - start
    total.cpu_seconds = time.process_time() - cpu
    if errors:
        raise RuntimeError(f"{setting.name}: a client failed: {errors[0]}") from errors[0]
    for counts in found:
        total.add(counts)
    return total


def _count(counts: Counts, transaction: Callable[[Input], tuple[int, int]], one: Input) -> None:
    start = time.perf_counter()
    change, aborts = transaction(one)
    counts.latencies.append(time.perf_counter() - start)
    counts.commits += 1
    counts.aborts += aborts
    counts.change += change


def _own(
    scheduler: Scheduler, setting: Setting, connection: Connection, one: Input
) -> tuple[int, int]:
    """Run one until it commits; return the change of all balances and the aborts."""
    begin = f"BEGIN ISOLATION LEVEL {setting.isolation}"
    with scheduler.transaction(one.type, one.written, one.read):
        aborts = 0
        while True:
            try:
                with connection.pipeline():
                    connection.execute(begin)
                    change = transact(connection, one)
                    connection.execute("COMMIT")
                return change, aborts
            except ABORTED:
                connection.rollback()
            backoff = setting.backoff_ms * 2 ** min(aborts, DOUBLINGS)
            if backoff > 0:
                time.sleep(random.uniform(0, 2 * backoff) / 1e3)
            aborts += 1


def _merged(merger: Merger, one: Input) -> tuple[int, int]:
    """Run one in a group until it commits; return the change and the aborts of it alone."""
    aborts = 0
    while True:
        try:
            change = merger.run(one.type, _in_pipeline, one, keys=one.written, shared=one.read)
            return change, aborts
        except ABORTED:
            aborts += 1


def _in_pipeline(connection: Connection, one: Input) -> int:
    with connection.pipeline():
        return transact(connection, one)
