"""A training whose driver is killed resumes and gives the result of an undisturbed run.

Undisturbed and killed runs make the same search on virtual cores, so they must end with an
identical policy and identical figures.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from policies import load
from tests.scale import scaled
from tests.trainer.tiny_training import TINY, found, run_of
from tests.waiting import PATIENCE_S, wait_until
from trainer.checkpoint import Checkpoint

pytestmark = pytest.mark.slow

LONGER = (*TINY, "tuning.warmup_seconds=0.004", "champion.warmup_seconds=0.03")
"""A training whose sweep and choice last long enough to be killed in them."""

DRAWING = ("matplotlib.figure", "matplotlib.backends.backend_agg")


@pytest.fixture(scope="module")
def drivers() -> ForkServerContext:
    """Return a fork server with all libraries loaded, because a fresh start takes seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["engine", "trainer.command.train", "trainer.evaluation.in_process", *DRAWING]
    )
    return context


@pytest.fixture(scope="module")
def undisturbed(drivers: ForkServerContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    process = start(drivers, folder, *LONGER)
    process.join(PATIENCE_S)
    assert process.exitcode == 0
    return run_of(folder)


def start(drivers: ForkServerContext, folder: Path, *settings: str) -> Any:
    """Start `heddle train` in its own process."""
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


@dataclass(frozen=True)
class Moment:
    """The moment of a kill.

    Attributes:
        generations: the number of completed generations.
        phase: the phase in the output.
        later: seconds after both are reached.
    """

    generations: int
    phase: str
    later: float


def moments(random: Random) -> list[Moment]:
    """Return at most 20 moments: in the sweep, search, choice and comparison, or after them."""
    in_the_search = scaled(2, most=12)
    return [
        *(Moment(0, "sweep", random.uniform(0.0, 0.8)) for _ in range(scaled(1, most=3))),
        *(
            Moment(6 * number // in_the_search, "search", random.uniform(0.0, 0.4))
            for number in range(in_the_search)
        ),
        *(Moment(6, "choose", random.uniform(0.0, 0.4)) for _ in range(scaled(1, most=2))),
        *(Moment(6, "compare", random.uniform(0.0, 1.2)) for _ in range(scaled(1, most=3))),
    ]


def test_a_repeatedly_killed_driver_ends_with_the_same_policy(
    drivers: ForkServerContext, undisturbed: Path, tmp_path: Path
) -> None:
    output, settings, survived = tmp_path / "output", LONGER, 0
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
    process.join(PATIENCE_S)
    assert process.exitcode == 0, output.read_text()
    assert found(run) == found(undisturbed)
    assert {path.name for path in run.iterdir()} == {path.name for path in undisturbed.iterdir()}


def wait_for(process: Any, folder: Path, moment: Moment) -> None:
    """Wait until the moment is reached or the process has ended."""

    def has_come() -> bool:
        if moment.phase not in (folder / "output").read_text():
            return False
        return len(Checkpoint.load(run_of(folder)).history) >= moment.generations

    wait_until(lambda: not process.is_alive() or has_come())
    process.join(moment.later)


def living(folder: Path) -> list[int]:
    """Return the processes whose working directory is the folder."""
    ids = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if (path / "cwd").readlink().is_relative_to(folder):
                ids.append(int(path.name))
    return ids
