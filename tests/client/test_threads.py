"""Transactions of threads: exclusion, time-outs, the kill switch, failures and forks."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from heddle_client import NestedTransactionError, Scheduler, TransactionTimeoutError
from tests.scale import scaled

ROOT = Path(__file__).resolve().parents[2]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "the condition does not become true"
        time.sleep(0.001)


def idle(scheduler: Scheduler) -> bool:
    metrics = scheduler.metrics()
    return (metrics.running, metrics.waiting, scheduler._core.keys) == (0, 0, 0)


@pytest.mark.parametrize("mode", ["smf", "locks"])
def test_conflicting_transactions_take_turns(mode: str) -> None:
    scheduler = Scheduler(mode=mode, concurrency=3, barrier=1_000_000, longest_wait=600)
    inside = [0] * 4
    together: list[int] = []

    def work(number: int) -> None:
        for turn in range(scaled(40)):
            key = (number + turn) % 4
            with scheduler.transaction("update", keys=[key]):
                inside[key] += 1
                together.append(sum(inside))
                time.sleep(0.0002)
                assert inside[key] == 1
                inside[key] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert max(together) <= 3
    assert scheduler.metrics().waited > 0
    assert idle(scheduler)


def test_readers_run_together() -> None:
    scheduler = Scheduler()
    both = threading.Barrier(2, timeout=10)

    def read() -> None:
        with scheduler.transaction("read", shared=["row"]):
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: read(), range(2)))
    assert idle(scheduler)


def test_sqlite_transactions_lose_no_update(tmp_path: Path) -> None:
    """Each reads and then writes in autocommit mode: only the scheduler's locks exclude others."""
    scheduler = Scheduler(mode="locks")
    path = tmp_path / "accounts.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
        connection.execute("INSERT INTO account VALUES (1, 0)")

    def deposit(times: int) -> None:
        connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        connection.execute("PRAGMA synchronous=OFF")
        for _ in range(times):
            with scheduler.transaction("deposit", keys=[("account", 1)]):
                (balance,) = connection.execute("SELECT balance FROM account").fetchone()
                time.sleep(0)
                connection.execute("UPDATE account SET balance = ?", (balance + 1,))
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deposit, [25] * 4))
    assert sqlite3.connect(path).execute("SELECT balance FROM account").fetchone() == (100,)


def test_an_exception_in_the_body_lets_others_start() -> None:
    scheduler = Scheduler(concurrency=1)
    with pytest.raises(ZeroDivisionError), scheduler.transaction("update", keys=["row"]):
        raise ZeroDivisionError
    assert idle(scheduler)


def test_a_decorated_function_names_its_keys() -> None:
    scheduler = Scheduler(mode="locks")

    @scheduler.transaction("pay", keys=lambda account: [("account", account)])
    def pay(account: int) -> tuple[int, int]:
        return account, scheduler._core.submit([hash(("account", account))], [], True)[1]

    assert pay(7) == (7, False)
    assert pay.__name__ == "pay"


def test_wrong_keys_are_refused() -> None:
    scheduler = Scheduler()
    with pytest.raises(TypeError, match=r"'pay': keys: .*a key is a string"):
        scheduler.transaction("pay", keys=[["account", 1]])
    with pytest.raises(TypeError, match="give a list of keys"):
        scheduler.transaction("pay", keys="account")
    with (
        pytest.raises(TypeError, match="only a decorator"),
        scheduler.transaction("pay", keys=list),
    ):
        pass


def test_a_time_out_starts_a_transaction_unless_it_needs_locks() -> None:
    scheduler = Scheduler(concurrency=1)
    scheduler._core.submit([1], [], True)
    with scheduler.transaction("pay", timeout=0.01):
        assert scheduler.metrics().running == 2
    assert (scheduler.metrics().timed_out, scheduler.metrics().forced) == (1, 1)

    scheduler = Scheduler(mode="locks", longest_wait=0.001)
    scheduler._core.submit([1], [], True)
    with (
        pytest.raises(TransactionTimeoutError, match=r"within 0\.02 s"),
        scheduler.transaction("pay", keys=[1], timeout=0.02),
    ):
        pytest.fail("it has started in spite of a conflict")
    metrics = scheduler.metrics()
    assert (metrics.waiting, metrics.cancelled, metrics.timed_out) == (0, 1, 1)


def test_a_waiting_thread_becomes_due_without_a_release() -> None:
    scheduler = Scheduler(longest_wait=0.02)
    scheduler._core.submit([1], [], True)
    with scheduler.transaction("pay", keys=[1]):
        assert scheduler.metrics().forced == 1
    assert scheduler.metrics().longest_wait >= 0.02


def test_a_signal_interrupts_the_wait() -> None:
    scheduler = Scheduler(mode="locks")
    scheduler._core.submit([1], [], True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt), scheduler.transaction("pay", keys=[1], timeout=10):
            pytest.fail("it has started in spite of a conflict")
    finally:
        signal.signal(signal.SIGINT, before)
    assert scheduler.metrics().waiting == 0


def test_switched_off_it_lets_all_go() -> None:
    scheduler = Scheduler(mode="locks", concurrency=1)
    with ThreadPoolExecutor(2) as pool, scheduler.transaction("pay", keys=[1]):

        def pay() -> bool:
            with scheduler.transaction("pay", keys=[1]):
                return scheduler.enabled

        waiting = [pool.submit(pay) for _ in range(2)]
        until(lambda: scheduler.metrics().waiting == 2)
        scheduler.enabled = False
        assert [one.result(10) for one in waiting] == [False, False]
        assert pool.submit(pay).result(10) is False
        assert scheduler.metrics().passed_through == 1
        scheduler.enabled = True
        again = pool.submit(pay)
        until(lambda: scheduler.metrics().waiting == 1)
    assert again.result() is True
    assert idle(scheduler)


def test_a_transaction_inside_another_passes_through_or_is_refused() -> None:
    scheduler, other = Scheduler(concurrency=1), Scheduler(concurrency=1)
    with (
        scheduler.transaction("outer", keys=[1]),
        other.transaction("of another scheduler"),
        scheduler.transaction("inner", keys=[1]),
    ):
        assert scheduler.metrics().running == other.metrics().running == 1
    assert scheduler.metrics().passed_through == 1
    scheduler = Scheduler(mode="locks")
    with (
        scheduler.transaction("outer"),
        pytest.raises(NestedTransactionError, match="'inner' is inside transaction 'outer'"),
        scheduler.transaction("inner"),
    ):
        pass
    assert idle(scheduler)
    with scheduler.transaction("after"):
        pass


class Failing:
    """A core whose functions fail."""

    def __getattr__(self, name: str) -> Callable:
        raise MemoryError(name)


def test_if_the_scheduler_fails_transactions_run_without_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = Scheduler()
    working, scheduler._core = scheduler._core, Failing()  # type: ignore[assignment]
    ran = 0
    with caplog.at_level(logging.WARNING, "heddle_client"):
        for _ in range(3):
            with scheduler.transaction("pay", keys=[1]):
                ran += 1
    scheduler._core = working
    assert (ran, scheduler.metrics().failed_open, len(caplog.records)) == (3, 3, 1)


def test_if_the_wait_fails_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler()
    scheduler._core.submit([1], [], True)
    monkeypatch.setattr("heddle_client.transaction.threading.Lock", Failing().__getattr__)
    with scheduler.transaction("pay", keys=[1]):
        assert scheduler.metrics().running == 1
    monkeypatch.undo()
    assert (scheduler.metrics().waiting, scheduler.metrics().failed_open) == (0, 1)


def test_a_failure_to_end_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = Scheduler()
    with (
        caplog.at_level(logging.WARNING, "heddle_client"),
        scheduler.transaction("pay", keys=[1]),
    ):
        scheduler._core.release(1)  # its ticket, so that its own release fails
    assert (scheduler.metrics().failed_open, len(caplog.records)) == (1, 1)
    assert idle(scheduler)


def test_a_transaction_that_is_destroyed_gives_its_place_back() -> None:
    scheduler = Scheduler(mode="locks", concurrency=1)
    lost = scheduler.transaction("pay", keys=[1])
    lost.__enter__()
    waiting = scheduler.transaction("pay", keys=[1])
    assert not scheduler._core.admit(waiting, [1], [], True)
    assert scheduler._core.surrounding() == "pay"
    del waiting
    assert (scheduler.metrics().running, scheduler.metrics().waiting) == (1, 0)
    del lost
    assert idle(scheduler)
    assert scheduler._core.surrounding() is None


def test_locks_do_not_fail_open() -> None:
    scheduler = Scheduler(mode="locks")
    scheduler._core = Failing()  # type: ignore[assignment]
    with pytest.raises(MemoryError), scheduler.transaction("pay", keys=[1]):
        pytest.fail("it has started without its locks")


def test_a_forked_process_starts_empty() -> None:
    code = """
import os
from heddle_client import Scheduler
scheduler = Scheduler(mode="locks", concurrency=1)
with scheduler.transaction("outer", keys=[1]):
    child = os.fork()
    if child == 0:
        with scheduler.transaction("inner", keys=[1], timeout=5):
            metrics = scheduler.metrics()
if child == 0:
    os._exit(not (metrics.running == metrics.started == 1 and scheduler.metrics().running == 0))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert scheduler.metrics().started == 1
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=30)


def test_it_imports_nothing_of_the_engine() -> None:
    code = (
        "import sys, heddle_client; "
        "names = {name.split('.')[0] for name in sys.modules}; "
        "print(sorted(names & {'engine', 'trainer', 'envs', 'policies', 'traces', 'configs',"
        " 'torch', 'ray', 'hydra', 'numpy'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"
