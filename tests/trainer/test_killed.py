"""Trainings whose driver, or a worker of it, is killed: they go on, and end as if nothing had been.

Undisturbed runs, killed ones and those with a lost worker all make the same search on virtual
cores, so they must end with the same policy and the same figures, to the bit.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from policies import load
from tests.trainer.tiny_training import TINY, run_of, start_training
from trainer.checkpoint import Checkpoint

# Ray takes a minute to start where others have the cores.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
DRAWING = ("matplotlib.figure", "matplotlib.backends.backend_agg")
RAY = [setting for setting in TINY if not setting.startswith("evaluation.backend")]


@pytest.fixture(scope="module")
def drivers() -> ForkServerContext:
    """Makes processes that have loaded all libraries: twenty starts from nothing take a minute."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["engine", "trainer.command.train", "trainer.evaluation.in_process", *DRAWING]
    )
    return context


@pytest.fixture(scope="module")
def undisturbed(drivers: ForkServerContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    process = start(drivers, folder, *TINY)
    process.join(120)
    assert process.exitcode == 0
    return run_of(folder)


def start(drivers: ForkServerContext, folder: Path, *settings: str) -> Any:
    """`heddle train` in a process of its own."""
    process = drivers.Process(target=_train, args=(folder, settings))
    process.start()
    return process


def _train(folder: Path, settings: tuple[str, ...]) -> None:
    from trainer.command.main import main

    os.chdir(folder)
    sys.argv = ["heddle", "train", *settings]
    with (folder / "output").open("a") as output:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
        main()


def found(folder: Path) -> list[Any]:
    """What a run found: its policy's table, the figures of every generation, its samples."""
    state, policy = Checkpoint.load(folder), load(folder / "policy.json")
    figures = [(one.best, one.median, one.worst, one.origin) for one in state.history]
    scores = [policy.provenance[key] for key in ("scores", "evaluations", "generations", "origin")]
    return [policy.cc, policy.backoff, scores, figures, state.ledger, state.search, state.tuned_us]


def wait_until(what: Callable[[], bool], seconds: float = 150.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@dataclass(frozen=True)
class Moment:
    """When a driver is killed: some time after it has come so far.

    Attributes:
        generations: that have ended.
        phase: that it says it is in.
        later: seconds from then on.
    """

    generations: int
    phase: str
    later: float


def moments(random: Random) -> list[Moment]:
    """Twenty: in the sweep, in each generation, in the choice, in the comparison or after it."""
    return [
        *(Moment(0, "sweep", random.uniform(0.0, 0.8)) for _ in range(3)),
        *(Moment(done // 2, "search", random.uniform(0.0, 0.4)) for done in range(12)),
        *(Moment(6, "choose", random.uniform(0.0, 0.4)) for _ in range(2)),
        *(Moment(6, "compare", random.uniform(0.0, 1.2)) for _ in range(3)),
    ]


def test_a_driver_killed_twenty_times_ends_with_the_same_policy(
    drivers: ForkServerContext, undisturbed: Path, tmp_path: Path
) -> None:
    output, settings, survived = tmp_path / "output", TINY, 0
    for moment in moments(Random(20)):
        output.write_text("")
        process = start(drivers, tmp_path, *settings)
        wait_for(process, tmp_path, moment)
        process.kill()
        process.join()
        assert process.exitcode in (-signal.SIGKILL, 0), output.read_text()
        run = run_of(tmp_path)
        history = Checkpoint.load(run).history
        assert len(history) >= max(survived, moment.generations)
        survived = len(history)
        if survived:
            kept = load(run / "policy.json").provenance["generations"]
            assert kept in (survived, survived - 1)
        settings = (f"resume={run}",)
    wait_until(lambda: living(tmp_path) == [])
    process = start(drivers, tmp_path, *settings)
    process.join(120)
    assert process.exitcode == 0, output.read_text()
    assert found(run) == found(undisturbed)
    assert {path.name for path in run.iterdir()} == {path.name for path in undisturbed.iterdir()}


def wait_for(process: Any, folder: Path, moment: Moment) -> None:
    """Until the moment has come, or the process has ended before it."""

    def has_come() -> bool:
        if moment.phase not in (folder / "output").read_text():
            return False
        return len(Checkpoint.load(run_of(folder)).history) >= moment.generations

    wait_until(lambda: not process.is_alive() or has_come())
    process.join(moment.later)


@pytest.mark.ray
def test_a_worker_killed_in_the_search_costs_nothing(undisturbed: Path, tmp_path: Path) -> None:
    process = start_training(tmp_path, *RAY)
    try:
        wait_until(lambda: generations(tmp_path) >= 1)
        killed = workers(process.pid)
        assert killed
        os.kill(killed[0], signal.SIGKILL)
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert not Path(f"/proc/{killed[0]}").exists()
    assert found(run_of(tmp_path)) == found(undisturbed)


@pytest.mark.ray
def test_a_driver_killed_leaves_no_process_behind(undisturbed: Path, tmp_path: Path) -> None:
    """Workers and whatever else works end with it, and the run goes on at once."""
    process = start_training(tmp_path, *RAY)
    try:
        wait_until(lambda: generations(tmp_path) >= 2)
        measuring, below = workers(process.pid), descendants(process.pid)
        assert measuring
    finally:
        process.kill()
        process.wait()
    # Ray's agents look every few seconds whether they are alone, idle, and end within minutes.
    wait_until(lambda: not [one for one in {*measuring, *below} if is_alive(one, b"Agent")])
    again = start_training(tmp_path, f"resume={run_of(tmp_path)}", "evaluation.backend=in_process")
    output, _ = again.communicate(timeout=120)
    assert again.returncode == 0, output
    assert found(run_of(tmp_path)) == found(undisturbed)


def generations(folder: Path) -> int:
    """How many of the only run have ended."""
    if not list(folder.glob("runs/*seed*")):
        return 0
    return len(Checkpoint.load(run_of(folder)).history)


def workers(driver: int) -> list[int]:
    """The processes that measure for it."""
    return [
        one
        for one in descendants(driver)
        if b"InProcess" in Path(f"/proc/{one}/cmdline").read_bytes()
    ]


def descendants(ancestor: int) -> list[int]:
    """All processes below one, by id."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(path.name)] = int(_state(path)[1])
    below = [ancestor]
    for one in below:
        below += [child for child, parent in parents.items() if parent == one]
    return below[1:]


def is_alive(process: int, but: bytes) -> bool:
    """Whether it still runs, and has no such word in its name; a zombie does not."""
    try:
        if but in Path(f"/proc/{process}/cmdline").read_bytes():
            return False
        return _state(Path(f"/proc/{process}"))[0] != "Z"
    except OSError:
        return False


def _state(path: Path) -> list[str]:
    """The state of a process, its parent, and more: what follows its name."""
    return (path / "stat").read_text().rpartition(")")[2].split()


def living(folder: Path) -> list[int]:
    """The processes that work in the folder."""
    ids = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is another person's
            if (path / "cwd").readlink().is_relative_to(folder):
                ids.append(int(path.name))
    return ids
