"""The folder of a sweep: its runs, each in its own folder, and their states.

One file lists the runs, from which an interrupted sweep resumes. The file is written before and
after each run; a run resumes from its own checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import product
from pathlib import Path

from trainer.checkpoint import write_atomically
from trainer.renamed import present_key, present_overrides
from trainer.run_folder import (
    RunFolder,
    RunFolderError,
    make_new_folder,
    make_runs_dir,
    time_stamp,
)

SCHEMA_VERSION = 1
FILE_NAME = "sweep.json"
SWEEPS = "sweeps"
"""The folder in `runs_dir` of sweeps that are named without a path."""

WHERE = ("evaluation.backend", "evaluation.address", "mlflow.enabled", "mlflow.uri")
"""Settings of measurement and recording, which may change because they do not affect results."""


class State(StrEnum):
    """The state of a run of a sweep."""

    WAITING = "waiting"
    BEGUN = "begun"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass
class SweepRun:
    """One run of a sweep.

    Attributes:
        values: its values of the swept settings by name, as texts.
        folder: its folder's name in the sweep's; None before it starts.
        state: its state.
    """

    values: dict[str, str]
    folder: str | None = None
    state: State = State.WAITING

    def __post_init__(self) -> None:
        self.state = State(self.state)  # a text, if it was read from a file

    @property
    def overrides(self) -> list[str]:
        """Return its values as overrides."""
        return [f"{key}={value}" for key, value in self.values.items()]


@dataclass
class Sweep:
    """A sweep: a run for every combination of values.

    Attributes:
        path: its folder.
        settings: the overrides that all runs share.
        axes: the values of each swept setting, as texts.
        runs: in order of execution.
        mlflow_run_id: the parent of the runs' records.
    """

    path: Path
    settings: list[str] = field(default_factory=list)
    axes: dict[str, list[str]] = field(default_factory=dict)
    runs: list[SweepRun] = field(default_factory=list)
    mlflow_run_id: str | None = None

    @property
    def name(self) -> str:
        """Return the sweep's name."""
        return self.path.name

    @property
    def report(self) -> Path:
        """Return the file of the HTML page."""
        return self.path / "report.html"

    def extend(self, axes: dict[str, list[str]]) -> None:
        """Add values of swept settings, and their runs."""
        for key, values in axes.items():
            known = self.axes.setdefault(key, [])
            known += [value for value in values if value not in known]
        there = [run.values for run in self.runs]
        for chosen in product(*self.axes.values()):
            combination = dict(zip(self.axes, chosen, strict=True))
            if combination not in there:
                self.runs.append(SweepRun(combination))

    def folder_of(self, run: SweepRun) -> RunFolder | None:
        """Return a run's folder; None if it has not started, or its folder was removed."""
        if run.folder is None or not (self.path / run.folder).is_dir():
            return None
        return RunFolder(self.path / run.folder)

    def has_finished(self, run: SweepRun) -> bool:
        """Return whether a run is finished and its policy exists."""
        folder = self.folder_of(run)
        return run.state is State.FINISHED and folder is not None and folder.policy.exists()

    def begin(self, run: SweepRun, words: str) -> RunFolder:
        """Return a run's folder; create and record it if necessary.

        Args:
            run: the run.
            words: the part of the folder's name after the run's number.

        Raises:
            RunFolderError: the folder can't be created.
            WritingError: the sweep's file can't be written.
        """
        if run.folder is None:
            run.folder = f"{self.runs.index(run) + 1:03d}-{words}"
        run.state = State.BEGUN
        self.save()
        make_runs_dir(self.path / run.folder)
        return RunFolder(self.path / run.folder)

    def save(self) -> None:
        """Write the sweep's file.

        Raises:
            WritingError: it can't be written.
        """
        content = {key: value for key, value in asdict(self).items() if key != "path"}
        document = {"schema_version": SCHEMA_VERSION, **content}
        write_atomically(self.path / FILE_NAME, json.dumps(document, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Sweep:
        """Read a sweep's file.

        Raises:
            RunFolderError: it is missing or can't be read.
        """
        file = path / FILE_NAME
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            version = document.pop("schema_version")
            if version != SCHEMA_VERSION:
                raise RunFolderError(
                    f"{file}: schema_version {version!r:.40}, this version reads {SCHEMA_VERSION}"
                )
            runs = [SweepRun(**run) for run in document.pop("runs")]
            if not runs:
                raise ValueError("it has no runs")
            found = cls(path, **document, runs=runs)
            texts = [*found.settings, *found.axes, *(run.folder or "" for run in runs)]
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("settings, axes and folders must be texts")
            found.settings = present_overrides(found.settings)
            found.axes = {present_key(key): values for key, values in found.axes.items()}
            for run in runs:
                run.values = {present_key(key): value for key, value in run.values.items()}
            return found
        except OSError as error:
            raise RunFolderError(f"{file}: can't be read: {error.strerror}") from error
        except RunFolderError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise RunFolderError(
                f"{file}: is damaged ({type(error).__name__}: {error}); restore a copy, or start a "
                "new sweep"
            ) from error


def find_sweep(runs_dir: Path, name: str) -> Sweep | None:
    """Return the sweep of that name, or in that folder; None if there is none.

    Raises:
        RunFolderError: it can't be read.
    """
    for path in (runs_dir / SWEEPS / name, Path(name)):
        if (path / FILE_NAME).exists():
            return Sweep.load(path)
    return None


def sweep_names(runs_dir: Path) -> Sequence[str]:
    """Return the names of the sweeps in `runs_dir`, for messages."""
    return sorted(path.parent.name for path in (runs_dir / SWEEPS).glob(f"*/{FILE_NAME}"))


def new_sweep(runs_dir: Path, name: str | None) -> Sweep:
    """Create a sweep without runs.

    Args:
        runs_dir: the folder for a sweep whose name is not a path.
        name: its name, or its folder; None = named after the time.

    Raises:
        RunFolderError: the folder can't be created.
    """
    if name is not None:
        path = Path(name) if "/" in name else runs_dir / SWEEPS / name
        make_runs_dir(path)
        return Sweep(path)
    return Sweep(make_new_folder(runs_dir / SWEEPS, time_stamp()))
