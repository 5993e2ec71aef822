"""One queue of several processes: exclusion, and the death of the server and of processes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from heddle_client import Merger, Policy, Scheduler, ServerError, TransactionTimeoutError
from heddle_client import connection as connection_module
from heddle_client.server.status import status
from tests.client.test_interrupts import (
    INTERRUPTS,
    Interrupt,
    raised_by_the_alarm,  # noqa: F401 (the fixture _interrupts)
)
from tests.processes import stop
from tests.scale import scaled
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]

COUNT = """
import sys, time
from pathlib import Path
from heddle_client import Scheduler

scheduler = Scheduler(server=sys.argv[1])
sys.stdin.readline()
for turn in range(int(sys.argv[3])):
    # A key that the processes hash in common, though each has another seed for `hash`.
    with scheduler.transaction("count", keys=[("file", sys.argv[2])]):
        file = Path(sys.argv[2])
        count = int(file.read_text())
        time.sleep(0.0005)
        file.write_text(str(count + 1))
"""

HOLD = """
import sys, time
from heddle_client import Scheduler

with Scheduler(server=sys.argv[1]).transaction("hold", keys=["key"]):
    print("holds", flush=True)
    time.sleep(60)
"""


@pytest.fixture(name="path")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s") / "q"


def python(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, **options)


@contextmanager
def serving(path: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    server = python(*("-m", "heddle_client.server", path, *arguments), stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(path) or server.poll() is not None)
        assert server.poll() is None
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.kill()
        server.communicate()


def answers(path: Path) -> bool:
    try:
        link, _, _ = connection_module.told_policy(path)
    except ServerError:
        return False
    link.close()
    return True


@contextmanager
def holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that is inside a transaction with the key `key`."""
    process = python("-c", HOLD, path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def starts(scheduler: Scheduler, **options: Any) -> threading.Event:
    """Return what is set when a transaction with the key `key` has run in another thread."""
    ended = threading.Event()

    def run() -> None:
        with scheduler.transaction("other", keys=["key"], **options):
            pass
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    return ended


@pytest.mark.parametrize("mode", ["smf", "locks"])
def test_conflicting_transactions_of_processes_take_turns(path: Path, mode: str) -> None:
    count = path.parent / "count"
    count.write_text("0")
    turns = scaled(60)
    # Nothing is due: a transaction that waits long may start in spite of conflicts.
    with serving(path, "--mode", mode, "--barrier", 1_000_000, "--longest-wait", 600):
        processes = [
            python("-c", COUNT, path, count, turns, stdin=subprocess.PIPE) for _ in range(3)
        ]
        wait_until(lambda: status(path)["processes"] == 4)  # with the one that asks
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.close()
        assert [process.wait(60) for process in processes] == [0, 0, 0]
        assert int(count.read_text()) == 3 * turns
        figures = status(path)
    assert figures["started"] == 3 * turns
    assert figures["waited"] > 0
    assert (figures["running"], figures["waiting"]) == (0, 0)


def test_the_bound_is_of_all_processes(path: Path) -> None:
    with serving(path, "--mode", "fifo", "--concurrency", 1), holding(path) as holder:
        scheduler = Scheduler(server=path)
        assert scheduler.policy == Policy("fifo", 1)
        ended = starts(scheduler)
        wait_until(lambda: scheduler.metrics().waiting == 1)
        assert not ended.wait(0.1)
        holder.kill()
        assert ended.wait(60)
        scheduler.close()


def test_tasks_wait_without_blocking_the_loop(path: Path) -> None:
    async def run(scheduler: Scheduler) -> list[int]:
        order: list[int] = []

        async def work(number: int) -> None:
            async with scheduler.transaction("work", keys=["key"]):
                order.append(number)
                await asyncio.sleep(0.001)
                order.append(number)

        await asyncio.gather(*map(work, range(10)))
        return order

    with serving(path, "--mode", "locks"):
        scheduler = Scheduler(server=path)
        order = asyncio.run(run(scheduler))
        assert order == [number for number in range(10) for _ in range(2)]
        metrics = scheduler.metrics()
        assert (metrics.started, metrics.waited, metrics.failed_open) == (10, 9, 0)
        scheduler.close()


def test_the_keys_of_a_killed_process_linger_with_locks(path: Path) -> None:
    with serving(path, "--mode", "locks", "--linger", 0.5), holding(path) as holder:
        scheduler = Scheduler(server=path)
        ended = starts(scheduler)
        wait_until(lambda: scheduler.metrics().waiting == 1)
        killed = time.monotonic()
        holder.kill()
        assert ended.wait(60)
        assert time.monotonic() - killed >= 0.5
        assert status(path)["lingering"] == 0
        scheduler.close()


def test_without_the_server_transactions_run_and_then_wait_again(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "heddle_client")
    with serving(path, "--longest-wait", 600) as server, holding(path):
        scheduler = Scheduler(server=path)
        ended = starts(scheduler)
        wait_until(lambda: scheduler.metrics().waiting == 1)
        server.kill()
        assert ended.wait(60)
        wait_until(lambda: scheduler.metrics().failed_open == 1)
        with scheduler.transaction("now", keys=["key"]):
            pass
        assert scheduler.metrics().failed_open == 2
        assert f"the server {path} is lost" in caplog.text
    with serving(path, "--longest-wait", 600):
        wait_until(lambda: "orders transactions again" in caplog.text)
        with scheduler.transaction("again", keys=["key"]):
            assert status(path)["running"] == 1
        assert scheduler.metrics().failed_open == 2
        wait_until(lambda: status(path)["running"] == 0)
        scheduler.close()


def test_locks_are_not_given_up_with_the_server(path: Path) -> None:
    raised: list[BaseException] = []

    def wait(scheduler: Scheduler) -> None:
        try:
            with scheduler.transaction("other", keys=["key"]):
                raised.append(AssertionError("it runs without its lock"))
        except ServerError as error:
            raised.append(error)

    with serving(path, "--mode", "locks") as server, holding(path):
        scheduler = Scheduler(server=path)
        thread = threading.Thread(target=wait, args=(scheduler,))
        thread.start()
        wait_until(lambda: scheduler.metrics().waiting == 1)
        server.kill()
        thread.join(60)
        assert "was lost before the transaction started" in str(raised)
        with (
            pytest.raises(ServerError, match="cannot be reached"),
            scheduler.transaction("now", keys=["key"]),
        ):
            pass
        assert (scheduler.metrics().failed_open, scheduler.metrics().waiting) == (0, 0)
        scheduler.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_waits_for_the_locks_of_the_one_before(path: Path, number: int) -> None:
    with serving(path, "--mode", "locks") as server, holding(path):
        server.send_signal(number)
        server.wait(60)
        begun = time.monotonic()
        with serving(path, "--mode", "locks", "--linger", 0.5):
            assert time.monotonic() - begun >= 0.5


def test_a_server_that_ends_without_work_removes_its_socket(path: Path) -> None:
    with serving(path, "--mode", "locks") as server:
        server.terminate()
        assert server.wait(60) == 0
        assert not path.exists()


def test_a_server_that_does_not_answer_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "SIGN_OF_LIFE_S", 0.05)
    monkeypatch.setattr(connection_module, "UNANSWERED", 40)
    with serving(path) as server:
        scheduler = Scheduler(server=path)
        with scheduler.transaction("before", keys=["key"]):
            time.sleep(0.5)  # it answers, though nothing happens
        assert scheduler.metrics().failed_open == 0
        stop(server.pid)
        with scheduler.transaction("stopped", keys=["key"]):
            pass
        wait_until(lambda: scheduler.metrics().failed_open == 1)
        server.send_signal(signal.SIGCONT)
        scheduler.close()


@pytest.mark.parametrize("mode", ["smf", "locks"])
def test_a_burst_is_more_than_the_socket_takes_at_once(path: Path, mode: str) -> None:
    async def run(scheduler: Scheduler, keys: list[int]) -> None:
        async def work(key: int) -> None:
            async with scheduler.transaction("work", keys=[key]):
                pass

        await asyncio.gather(*map(work, keys))

    with serving(path, "--mode", mode):
        scheduler = Scheduler(server=path)
        asyncio.run(run(scheduler, list(range(2_000))))
        asyncio.run(run(scheduler, [7] * 500))
        metrics = scheduler.metrics()
        assert (metrics.started, metrics.failed_open, metrics.running) == (2_500, 0, 0)
        scheduler.close()


def test_a_transaction_of_many_keys(path: Path) -> None:
    with serving(path, "--mode", "locks"):
        scheduler = Scheduler(server=path)
        with scheduler.transaction("all", keys=range(100_000)):
            assert status(path)["running"] == 1
        with (
            pytest.raises(ValueError, match="it names 140000 keys: a server takes at most 131000"),
            scheduler.transaction("more", keys=range(140_000)),
        ):
            pass
        with scheduler.transaction("few", keys=[1]):
            pass
        assert scheduler.metrics().failed_open == 0
        scheduler.close()


def test_many_processes_connect_at_once(path: Path) -> None:
    with serving(path) as server:
        stop(server.pid)
        threading.Timer(0.3, server.send_signal, [signal.SIGCONT]).start()
        with ThreadPoolExecutor(150) as pool:
            schedulers = list(pool.map(lambda _: Scheduler(server=path), range(150)))
        assert status(path)["processes"] == 151
        for scheduler in schedulers:
            scheduler.close()


def test_a_closed_scheduler_stays_closed_after_a_fork(path: Path) -> None:
    with serving(path):
        scheduler = Scheduler(server=path)
        scheduler.close()
        wait_until(lambda: status(path)["processes"] == 1)
        child = os.fork()
        if child == 0:
            with scheduler.transaction("work", keys=["key"]):
                os._exit(0 if status(path)["processes"] == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_dead_process_starts_nothing(path: Path) -> None:
    """Of its waiting transactions the earliest holds up a later one, which is cancelled first."""
    with serving(path, "--mode", "locks", "--linger", 600):
        scheduler = Scheduler(server=path)
        with scheduler.transaction("read", shared=["key"]):
            dying = Scheduler(server=path)
            threads = [
                threading.Thread(target=_enter, args=(dying, mode), daemon=True)
                for mode in ("keys", "shared")
            ]
            for number, thread in enumerate(threads, start=1):
                thread.start()
                wait_until(lambda number=number: status(path)["waiting"] == number)  # type: ignore[misc]
            dying.close()
            wait_until(lambda: status(path)["waiting"] == 0)
            assert (status(path)["running"], status(path)["lingering"]) == (1, 0)
        scheduler.close()


def _enter(scheduler: Scheduler, mode: str) -> None:
    with scheduler.transaction("write", **{mode: ["key"]}):
        pass


def test_no_time_is_enough_for_free_keys(path: Path) -> None:
    with serving(path, "--mode", "locks"):
        scheduler = Scheduler(server=path)
        for _ in range(20):
            with scheduler.transaction("try", keys=["key"], timeout=0):
                pass
        scheduler.close()


def test_a_time_out(path: Path) -> None:
    with serving(path, "--longest-wait", 600), holding(path):
        scheduler = Scheduler(server=path)
        with scheduler.transaction("other", keys=["key"], timeout=0.05):
            assert status(path)["running"] == 2
        assert scheduler.metrics().timed_out == 1
        scheduler.close()
    path.unlink()
    with serving(path, "--mode", "locks", "--linger", 0), holding(path):
        scheduler = Scheduler(server=path)
        with (
            pytest.raises(TransactionTimeoutError),
            scheduler.transaction("other", keys=["key"], timeout=0.05),
        ):
            pass
        wait_until(lambda: status(path)["waiting"] == 0)
        scheduler.close()


def test_the_kill_switch(path: Path) -> None:
    with serving(path, "--longest-wait", 600), holding(path):
        scheduler = Scheduler(server=path)
        ended = starts(scheduler)
        wait_until(lambda: scheduler.metrics().waiting == 1)
        scheduler.enabled = False
        assert ended.wait(60)
        with scheduler.transaction("now", keys=["key"]):
            pass
        assert scheduler.metrics().passed_through == 1
        scheduler.close()


def test_a_policy_is_told_to_all(path: Path) -> None:
    policy = path.parent / "policy.json"

    def write(options: dict[str, str]) -> None:
        new = path.parent / "new"
        protocol = {"name": "external", "options": options}
        head = {"schema_version": 1, "kind": "heddle.policy", "schedule": None}
        new.write_text(json.dumps(head | {"protocol": protocol}), encoding="utf-8")
        new.rename(policy)

    write({"concurrency": "4"})
    with serving(path, policy, "--watch", 0.02):
        scheduler = Scheduler(server=path)
        assert scheduler.policy == Policy("fifo", 4)
        write({"locks": "hints", "merge": "8"})
        wait_until(lambda: scheduler.policy == Policy("locks", merge=8))
        assert scheduler.metrics().swaps == 1
        scheduler.close()


def test_the_child_of_a_fork_has_a_connection_of_its_own(path: Path) -> None:
    with serving(path, "--longest-wait", 600):
        scheduler = Scheduler(server=path)
        with scheduler.transaction("outer", keys=["key"]):
            child = os.fork()
            if child == 0:  # it must not return to the tests
                waiting = starts(scheduler)
                os._exit(1 if waiting.wait(0.2) else 0)
            assert os.waitpid(child, 0)[1] == 0
            wait_until(lambda: status(path)["waiting"] == 0)
            assert status(path)["running"] == 1
        scheduler.close()


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_leaves_no_place_at_the_server(path: Path) -> None:
    with serving(path, "--mode", "locks"):
        scheduler = Scheduler(server=path)
        chance = random.Random(5)
        interrupted = inside = 0
        while interrupted < INTERRUPTS:
            entered = False
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 5e-4))
                for _ in range(100):
                    entered = False
                    with scheduler.transaction("pay", keys=[1, 2]):
                        entered = True
            except Interrupt:
                interrupted += 1
                inside += entered
                metrics = scheduler.metrics()
                assert (metrics.running, metrics.waiting) == (0, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert 0 < inside < INTERRUPTS
        with scheduler.transaction("pay", keys=[1, 2]):
            figures = status(path)
        assert (figures["running"], figures["waiting"]) == (1, 0)
        assert scheduler.metrics().failed_open == 0
        scheduler.close()


def test_groups_are_admitted_by_the_server(path: Path, tmp_path: Path) -> None:
    import sqlite3

    bank = tmp_path / "bank"
    with sqlite3.connect(bank) as connection:
        connection.execute("CREATE TABLE account (balance INTEGER)")
        connection.execute("INSERT INTO account VALUES (0)")
    policy = tmp_path / "policy.json"
    options = {"locks": "hints", "merge": "4"}
    policy.write_text(
        json.dumps(
            {
                "schema_version": 1,
                "kind": "heddle.policy",
                "protocol": {"name": "external", "options": options},
            }
        )
    )
    with serving(path, policy):
        scheduler = Scheduler(server=path)
        merger = Merger(scheduler, lambda: sqlite3.connect(bank, timeout=60))

        def add() -> None:
            for _ in range(5):
                merger.run(
                    "add",
                    lambda one: one.execute("UPDATE account SET balance = balance + 1"),
                    keys=["account"],
                )

        threads = [threading.Thread(target=add) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sqlite3.connect(bank).execute("SELECT * FROM account").fetchone() == (40,)
        assert status(path)["started"] == scheduler.metrics().started
        assert scheduler.metrics().merged > 0
        scheduler.close()


def test_a_scheduler_needs_a_server_and_no_policy_of_its_own(path: Path) -> None:
    with pytest.raises(ServerError, match=r"No such file.*; start one: python -m heddle_client"):
        Scheduler(server=path)
    for own in ({"mode": "smf"}, {"longest_wait": 5.0}, {"policy": Policy()}):
        with pytest.raises(TypeError, match="give them to the server"):
            Scheduler(server=path, **own)  # type: ignore[arg-type]
    with serving(path):
        scheduler = Scheduler(server=path)
        with pytest.raises(TypeError, match="replace the file that it watches"):
            scheduler.use(Policy())
        with pytest.raises(TypeError, match="of type object: a key that several processes share"):
            scheduler.transaction("pay", keys=[object()])
        scheduler.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n" * 4,
        b"\xff" * 13,
        b"\x00\x00\x00\x00\x09" + b"\x00" * 8,
        b"\x05\x00\x00\x00\x01" + b"\x00" * 8 + b"\x01\x09\x00\x00\x00",
        b"\x00\x00\x00\x00\x01" + b"\x00" * 8,
    ],
)
def test_a_stranger_is_refused_and_disturbs_nothing(path: Path, data: bytes) -> None:
    with serving(path):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(path))
            stranger.settimeout(60)
            stranger.recv(1 << 16)
            stranger.sendall(data)
            with suppress(ConnectionResetError):
                assert stranger.recv(1 << 16) == b""
        assert status(path)["processes"] == 1  # the one that asks


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--watch", "0"], "--watch=0: give seconds, 0.01 to 3600"),
        (["--linger", "-1"], "--linger=-1: give seconds"),
        (["--concurrency", "0"], "concurrency is 0"),
        (["--longest-wait", "-1"], "longest_wait is -1"),
        (["none.json"], "none.json cannot be read"),
        (["none.json", "--mode", "smf"], "--mode: the policy file has it"),
        (["--status"], "No such file or directory; start one"),
    ],
)
def test_mistakes_of_the_command(path: Path, arguments: list[str], words: str) -> None:
    refused(path, arguments, words)


def test_a_command_in_a_message_can_be_pasted(path: Path) -> None:
    with pytest.raises(ServerError, match=r"server '.*/a b'$"):
        Scheduler(server=path.parent / "a b")


def test_a_full_disk_is_named(path: Path) -> None:
    with serving(path), Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "heddle_client.server", str(path), "--status"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: the output: No space left on device\n")


def test_the_command_prints_the_metrics(path: Path) -> None:
    with serving(path):
        done = subprocess.run(
            [sys.executable, "-m", "heddle_client.server", str(path), "--status"],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
            check=True,
        )
    assert json.loads(done.stdout)["processes"] == 1


def test_a_place_that_is_taken(path: Path) -> None:
    with serving(path):
        refused(path, [], "a server runs there already")
    # While a server waits for the locks of the one before, no other takes its place.
    waiting = python(
        *("-m", "heddle_client.server", path, "--mode", "locks"),
        stderr=subprocess.PIPE,
    )
    assert waiting.stderr is not None
    assert "this one starts in 5 s" in waiting.stderr.readline()
    refused(path, ["--mode", "locks"], "a server runs there already")
    waiting.terminate()
    waiting.communicate()
    assert path.is_socket()  # the next one waits, too
    path.unlink()
    path.write_text("mine")
    refused(path, [], "is no socket")
    assert path.read_text() == "mine"
    Path(f"{path}.lock").unlink()
    refused(path, [], "is no socket")
    assert not Path(f"{path}.lock").exists()
    refused(path.parent / "none" / "q", [], "No such file")
    refused(path.parent / ("q" * 100), [], "at most 107 bytes")


def refused(path: Path, arguments: list[str], words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "heddle_client.server", str(path), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
