"""Runs on a full disk, and runs with missing or damaged files."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from policies import load
from tests.trainer.stand_in import use_stand_in
from tests.trainer.test_command import VIRTUAL
from tests.trainer.tiny_training import TINY, run_of, start_training
from tests.waiting import PATIENCE_S
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle

RUN = ["train", *VIRTUAL, "search=evolution", "search.parents=2", "search.children=2"]


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def run(*arguments: str) -> Result:
    return CliRunner().invoke(heddle, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def one_generation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that ended after one generation, trained once for the file."""
    place = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        use_stand_in(patch)
        patch.chdir(place)
        assert run(*RUN).exit_code == 0
    (folder,) = (place / "runs").glob("*seed*")
    return folder


@pytest.fixture
def folder(elsewhere: ModuleType, one_generation: Path) -> Path:
    """Return a copy of the run."""
    return Path(shutil.copytree(one_generation, Path("runs", one_generation.name)))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def fill_disk(monkeypatch: pytest.MonkeyPatch, name: str, after: int) -> None:
    """Fill the disk, for files with matching names, after a number of writes."""
    left, force = [after], os.fsync

    def full(descriptor: int) -> None:
        if re.fullmatch(name, Path(f"/proc/self/fd/{descriptor}").readlink().name):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        force(descriptor)

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.parametrize("name", [r"\.checkpoint\.json\..*", r"\.[0-9a-f]{16}\.tmp"])
@pytest.mark.slow
def test_with_the_disk_full_in_the_search_the_last_generation_remains(
    folder: Path, tmp_path: Path, name: str
) -> None:
    before = contents(folder)
    with pytest.MonkeyPatch.context() as patch:
        fill_disk(patch, name, 1)
        done = run("train", f"resume={folder}", "search.generations=4")
    assert done.exit_code == 1
    _has_a_cure(done.output, folder)
    survived = len(Checkpoint.load(folder).history)
    assert 1 <= survived < 4
    assert load(folder / "policy.json").provenance["generations"] in (survived, survived - 1)
    assert contents(folder).keys() == before.keys()
    done = run("train", f"resume={folder}")
    assert done.exit_code == 0, done.output
    history = Checkpoint.load(folder).history
    assert run(*RUN, "search.generations=4", "runs_dir=straight").exit_code == 0
    (straight,) = (tmp_path / "straight").glob("*seed*")
    assert [one.best for one in history] == [one.best for one in Checkpoint.load(straight).history]
    assert load(folder / "policy.json").cc == load(straight / "policy.json").cc


@pytest.mark.parametrize("name", ["config.yaml", "overrides.json"])
def test_with_the_disk_full_at_the_start_nothing_is_lost(folder: Path, name: str) -> None:
    before = contents(folder)
    with pytest.MonkeyPatch.context() as patch:
        fill_disk(patch, rf"\.{name}\..*", 0)
        done = run("train", f"resume={folder}")
    assert done.exit_code == 1
    assert f"{folder / name}: can't be written: No space left on device; free" in done.output
    assert {k: v for k, v in contents(folder).items() if k != "config.yaml"} == {
        k: v for k, v in before.items() if k != "config.yaml"
    }


@pytest.mark.parametrize("name", ["comparison.json", "validation.txt", "fitness.png"])
@pytest.mark.slow
def test_with_the_disk_full_at_the_end_results_are_shown(folder: Path, name: str) -> None:
    before = contents(folder)
    with pytest.MonkeyPatch.context() as patch:
        fill_disk(patch, rf"\.{name}\..*", 0)
        done = run("train", f"resume={folder}", "search.generations=2")
    assert done.exit_code == 1
    _has_a_cure(done.output, folder, name)
    assert done.output.count("verdict on ") == 2
    assert contents(folder)[name] == before[name]
    assert load(folder / "policy.json").provenance["scores"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "policy=silo", "run.repeats=1", "output=out"],
        ["machine", "compare", "machine.cores=1", "rounds=1", "virtual_rounds=1", "output=out"],
    ],
)
def test_unwritable_results_are_shown(
    elsewhere: ModuleType, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    fill_disk(monkeypatch, ".*", 0)
    done = run(*arguments)
    assert done.exit_code == 1
    assert "commits/s" in done.output
    assert "error: out" in done.output
    assert "can't be written: No space left on device; free disk space there" in done.output
    assert not [path for path in Path().rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_full_disk_is_reported_if_no_file_can_be_written(tmp_path: Path) -> None:
    """The system refuses files larger than 16 KiB."""

    # Compiled modules would be truncated as well, and Python 3.11 would keep them.
    limit = (
        "import resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, resource.RLIM_INFINITY))"
    )
    process = start_training(tmp_path, *TINY, "mlflow.enabled=true", first=limit)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, output
    folder = run_of(tmp_path)
    assert "MLflow at sqlite:" in output
    assert "Training continues without a record" in output
    assert f"{folder.name}/checkpoint.json: can't be written: File too large; raise" in output
    assert "Traceback" not in output
    assert {path.name for path in folder.iterdir()} == {
        *(".lock", "config.yaml", "overrides.json", "checkpoint.json")
    }
    assert Checkpoint.load(folder).tuned_us
    assert Checkpoint.load(folder).history == []


def test_a_run_with_a_damaged_checkpoint_is_unchanged(folder: Path) -> None:
    path = folder / "checkpoint.json"
    for data in (b"{", b"[]\xff", None):
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        before = contents(folder)
        done = run("train", f"resume={folder}", "search.generations=3")
        assert done.exit_code == 2
        assert done.output.startswith(f"error: {path}: ")
        assert "start a new run" in done.output
        assert contents(folder) == before


def test_a_run_with_damaged_overrides_is_unchanged(folder: Path) -> None:
    for data in (b"", b"3", b"{}", b'["seed=1", 2]', b"[" * 100_000, b"\xff"):
        (folder / "overrides.json").write_bytes(data)
        before = contents(folder)
        done = run("train", f"resume={folder}")
        assert done.exit_code == 2
        assert "overrides.json" in done.output
        assert "restore it" in done.output
        assert contents(folder) == before


def test_a_run_that_never_began_differs_from_a_missing_one(folder: Path) -> None:
    (folder / "overrides.json").unlink()
    done = run("train", f"resume={folder.name}")
    assert done.exit_code == 2
    assert "the run ended before it started; start a new one" in done.output


def _has_a_cure(output: str, folder: Path, name: str = "") -> None:
    told = " ".join(output.split())
    assert f"{name}: can't be written: No space left on device; free disk space there" in told
    assert str(folder) in told
    assert f"resume with: heddle train resume={folder}" in told
