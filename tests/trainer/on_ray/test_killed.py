"""Trainings on Ray with a killed process: they give the undisturbed result, or end cleanly."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.processes import descendants, is_alive
from tests.trainer.tiny_training import TINY, found, generations, run_of, start_training
from tests.waiting import PATIENCE_S, wait_until

# On a busy machine, Ray takes minutes to start.
pytestmark = [pytest.mark.ray, pytest.mark.full, pytest.mark.timeout(1800)]
RAY = [setting for setting in TINY if not setting.startswith("evaluation.backend")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an undisturbed run without Ray."""
    folder = tmp_path_factory.mktemp("undisturbed")
    output, _ = (process := start_training(folder, *TINY)).communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    return run_of(folder)


def test_a_killed_worker_does_not_change_the_search(undisturbed: Path, tmp_path: Path) -> None:
    process = start_training(tmp_path, *RAY)
    try:
        wait_until(lambda: generations(tmp_path) >= 1)
        killed = workers(process.pid)
        assert killed
        os.kill(killed[0], signal.SIGKILL)
        output, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert not Path(f"/proc/{killed[0]}").exists()
    assert found(run_of(tmp_path)) == found(undisturbed)


def test_a_killed_driver_leaves_no_process_behind(undisturbed: Path, tmp_path: Path) -> None:
    """Workers and other processes end with the driver, and the run can resume at once."""
    process = start_training(tmp_path, *RAY)
    try:
        wait_until(lambda: generations(tmp_path) >= 2)
        measuring, below = workers(process.pid), descendants(process.pid)
        assert measuring
    finally:
        process.kill()
        process.wait()
    # Ray's agents check every few seconds whether they are alone; they are idle and end in minutes.
    wait_until(lambda: not [one for one in {*measuring, *below} if is_alive(one, b"Agent")])
    again = start_training(tmp_path, f"resume={run_of(tmp_path)}", "evaluation.backend=in_process")
    output, _ = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, output
    assert found(run_of(tmp_path)) == found(undisturbed)


def workers(driver: int) -> list[int]:
    """Return the worker processes of a driver."""
    return [
        one
        for one in descendants(driver)
        if b"RayWorker" in Path(f"/proc/{one}/cmdline").read_bytes()
    ]
