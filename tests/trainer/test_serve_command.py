"""`heddle serve` from the command line, on the engine and a small database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies import build_seed, save, workload_signature
from tests.envs.test_external import needs_sqlite
from tests.slow import some_slow
from tests.waiting import PATIENCE_S
from trainer.command.main import heddle

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["workload=ycsb", "workload.records=200", "machine.cores=1", "poll_seconds=0.01"]


def publish(path: Path, name: str, workload: str = "ycsb") -> None:
    save(replace(build_seed("ic3", workload_signature(workload)), name=name), path)


def run(*words: str) -> Result:
    return CliRunner().invoke(heddle, ["serve", *words])


def test_a_published_policy_is_run_and_reported(tmp_path: Path) -> None:
    publish(tmp_path / "policy.json", "learned")
    done = run(*SMALL, f"policy={tmp_path}", "seconds=0.6", "report_seconds=0.3")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert f"ycsb on 1 real core; policy {tmp_path / 'policy.json'}" in lines[0]
    assert sum("switched to learned" in line for line in lines) == 1
    reports = [line for line in lines if "commits/s" in line]
    assert len(reports) == 2
    assert all("  learned  " in line and "% aborts" in line for line in reports)


def test_without_a_file_the_fallback_runs_and_is_reported(tmp_path: Path) -> None:
    done = run(*SMALL, f"policy={tmp_path / 'new.json'}", "seconds=0.1", "fallback=occ")
    assert done.exit_code == 0, done.output
    assert "missing, occ stays" in done.stdout
    assert "  occ  " in done.stdout.splitlines()[-1]


def test_a_file_for_another_workload_is_refused_and_the_fallback_runs(tmp_path: Path) -> None:
    publish(tmp_path / "policy.json", "learned", "tpcc")
    done = run(*SMALL, f"policy={tmp_path}", "seconds=0.1")
    assert done.exit_code == 0, done.output
    (refused,) = [line for line in done.stdout.splitlines() if "refused" in line]
    assert "silo stays" in refused
    assert "signature" in refused
    assert "  silo  " in done.stdout.splitlines()[-1]


@needs_sqlite
@pytest.mark.parametrize("there", [True, False])
def test_connections_to_a_store_take_no_turns(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envs.host.usable_cores", lambda: 1)
    path = tmp_path / "policy.json"
    store = {"name": "external", "options": {"durability": "off", "merge": "4"}}
    if there:
        save(replace(build_seed("occ", workload_signature("ycsb")), protocol=store), path)
    words = [*SMALL, "machine.cores=2", f"policy={path}", "seconds=0.1"]
    done = run(*words, "fallback=external:durability=off")
    assert done.exit_code == 0, done.output
    assert "take turns" not in done.output
    assert "take turns" in run(*words[:-2], f"policy={tmp_path / 'new.json'}", words[-1]).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "policy= names no file"),
        (["policy=nowhere"], "policy=nowhere: there is no such file or folder"),
        (["policy=nowhere/policy.json"], "there is no folder nowhere"),
        (["policy=new.json", "machine=virtual"], "machine=virtual: serve needs real cores"),
        (["policy=new.json", "fallback=silo_tuned"], "fallback=silo_tuned"),
        (["policy=new.json", "fallback=slio"], "slio"),
        (["policy=new.json", "report_seconds=0"], "report_seconds=0"),
        (["policy=new.json", "poll_seconds=-1"], "poll_seconds=-1"),
        (["policy=new.json", "seconds=never"], "'never'"),
        (["policy=new.json", "grown_mib_max=0"], "grown_mib_max=0"),
        (["policy=new.json", "polling=1"], "polling"),
        (["policy=new.json", "workload.record=1"], "record"),
        (["policy='a\0.json'"], "is not a path"),
        ([f"policy={'a' * 300}.json"], "can't be accessed"),
    ],
)
def test_a_mistake_is_one_message(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("workload=ycsb", "workload.records=200", "seconds=0.01", *words)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_settings_are_shown() -> None:
    done = run("--settings", "poll_seconds=3")
    assert done.exit_code == 0
    assert "poll_seconds: 3" in done.stdout


@pytest.mark.slow
def test_an_unwritable_log_is_one_message(tmp_path: Path) -> None:
    publish(tmp_path / "policy.json", "learned")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "trainer.command.main", "serve", *SMALL),
                *(f"policy={tmp_path}", "seconds=0.1"),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode != 0
    assert "standard output: can't be written" in done.stderr
    assert "Traceback" not in done.stderr


@contextmanager
def serving(path: Path, report: str = "report_seconds=0.2") -> Iterator[subprocess.Popen[str]]:
    """Start the command in its own process, which receives Ctrl-C and ends with the test."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "trainer.command.main", "serve", *SMALL),
            *(f"policy={path}", report),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell without job control makes background processes ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """Read until a line has these words; the watchdog ends a futile wait."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"no line has {words!r}")


@pytest.mark.parametrize(
    ("how", "code"),
    some_slow(
        [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 130)], [(signal.SIGHUP, 130)]
    ),
)
def test_serving_follows_the_file_until_a_signal(
    tmp_path: Path, how: signal.Signals, code: int
) -> None:
    path = tmp_path / "policy.json"
    with serving(path) as process:
        line_with(process, "missing, silo stays")
        line_with(process, "  silo  ")
        publish(path, "one")
        line_with(process, "switched to one")
        path.write_text("{")
        assert "one stays" in line_with(process, "refused")
        publish(path, "two")
        line_with(process, "switched to two")
        line_with(process, "  two  ")
        process.send_signal(how)
        rest, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert ("ended by SIGTERM" in rest) == (how is signal.SIGTERM)
    assert ("interrupted; serve again with: heddle serve " in errors) == (code == 130)


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 130)])
@pytest.mark.slow
def test_a_closed_output_is_not_a_failure(tmp_path: Path, how: signal.Signals, code: int) -> None:
    with serving(tmp_path / "policy.json", "report_seconds=60") as process:
        line_with(process, "missing, silo stays")
        assert process.stdout is not None
        process.stdout.close()
        process.send_signal(how)
        assert process.wait(timeout=PATIENCE_S) == code
