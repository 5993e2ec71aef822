"""Signals: the first one stops a command gracefully, the second one at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trainer.command.stopping import SAME_SECONDS, Stop
from trainer.evaluation import ray_start

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import time
from trainer.command.stopping import Stop
Stop().install()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("asked", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_without_a_traceback(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "asked\n"
        time.sleep(SAME_SECONDS + 0.1)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "interrupted again: ended at once\n")


def test_signals_that_arrive_together_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` sends a signal to the process and to its group."""
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    stop = Stop()
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGTERM, None)
    stop(signal.SIGTERM, None)
    assert (stop.asked, ended) == (True, [])


def test_repeated_hang_ups_are_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr("os._exit", ended.append)
    monkeypatch.setattr("trainer.command.stopping.SAME_SECONDS", 0.0)
    stop = Stop()
    with pytest.raises(KeyboardInterrupt):
        stop(signal.SIGHUP, None)
    stop(signal.SIGHUP, None)
    assert (stop.asked, ended) == (True, [])


MEASURES = """
import sys, time
from pathlib import Path
import click
from trainer.command import main, output

@click.command()
def measure():
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        output.write_and_show(lambda: [str(Path("kept").write_text("1"))], lambda: print("shown"))
        raise SystemExit(130)

main.heddle = measure
sys.argv = ["heddle"]
main.main()
"""
"""A command that keeps its results when it is interrupted, and reports it."""


def test_results_are_kept_when_the_terminal_is_lost(tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(sys.executable, [sys.executable, "-c", MEASURES])
    told = b""
    while b"\n" not in told:  # the output may arrive in parts
        told += os.read(terminal, 100)
    assert b"ready" in told
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert (tmp_path / "kept").read_text() == "1"
    assert os.waitstatus_to_exitcode(status) == 130


def test_an_ignored_hang_up_stays_ignored() -> None:
    """`nohup` starts a command like this."""
    before = {
        one: signal.signal(one, signal.SIG_IGN)
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        stop = Stop()
        stop.install()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


LEFT_IN_A_CALL = """
import atexit, threading, time
from trainer.command.stopping import end_interrupted
threading.Thread(target=time.sleep, args=(60,)).start()
atexit.register(print, "tidied up", end="")
end_interrupted(130)
"""


def test_an_interrupted_command_waits_for_no_thread() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_IN_A_CALL], capture_output=True, text=True, timeout=30
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "tidied up", "")


class FakeRay(ModuleType):
    """A stand-in for Ray whose start a test defines, and which records its calls."""

    def __init__(self, init: Any) -> None:
        super().__init__("ray")
        self.init = init
        self.ended = 0

    def shutdown(self) -> None:
        self.ended += 1


def test_a_start_of_ray_that_hangs_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_start, "START_SECONDS", 0.01)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    ray = FakeRay(lambda: time.sleep(60))
    with pytest.raises(ray_start.LateError, match=r"not started within .*loopback interface"):
        ray_start.init_within(ray)


def test_errors_of_ray_are_raised() -> None:
    def refused(**arguments: Any) -> None:
        raise ConnectionError(arguments["address"])

    with pytest.raises(ConnectionError, match="here"):
        ray_start.init_within(FakeRay(refused), address="here")


WITHOUT_TOKEN = """
import os, sys
from pathlib import Path
from traces.terminal import open_terminals
from trainer.evaluation import ray_runtime

open_terminals()

class Ray:
    is_initialized = staticmethod(lambda: False)

    @staticmethod
    def init(**_):
        os.write(2, b"gcs_client.cc:210: Unauthenticated: RPC error: InvalidAuthToken\\n")
        print("shown meanwhile", file=sys.stderr, flush=True)
        raise ConnectionError("Failed to connect to Ray cluster")

sys.modules["ray"] = Ray
try:
    ray_runtime.start_ray("10.0.0.1:6379", Path("ray.log"))
except ray_runtime.RayError as error:
    print(error, flush=True)
os.write(2, b"as before\\n")
"""
"""The error of Ray's C++ client if a cluster needs a token."""


def test_a_cluster_that_needs_a_token_is_one_sentence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_TOKEN],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stderr == "shown meanwhile\nas before\n"
    first, log = ran.stdout.splitlines()
    assert first == (
        "Ray can't be joined at 10.0.0.1:6379: it requires a token, and the token is missing or "
        "wrong; copy ~/.ray/auth_token from the cluster's head to this machine and set "
        "RAY_AUTH_MODE=token before the command"
    )
    assert log == "Ray's messages: ray.log"
    assert "(ray) gcs_client.cc:210: Unauthenticated" in (tmp_path / "ray.log").read_text()


def test_an_interrupt_while_ray_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ray = FakeRay(slow)
    try:
        with pytest.raises(KeyboardInterrupt):
            ray_start.init_within(ray)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ray.ended == 1
