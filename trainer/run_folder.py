"""The folder of a run: where it is, and what lies in it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from policies.errors import why_not_written
from trainer.checkpoint import FILE_NAME, CheckpointError, write_atomically

EXAMPLE = '["workload.warehouses=1", "seed=1"]'


class RunFolderError(ValueError):
    """A run that can't be found or used; the message says which there are."""


@dataclass(frozen=True)
class RunFolder:
    """One run's files.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def name(self) -> str:
        """The run's name."""
        return self.path.name

    @property
    def policy(self) -> Path:
        """The best policy so far, and in the end the learned one."""
        return self.path / "policy.json"

    @property
    def config(self) -> Path:
        """All settings."""
        return self.path / "config.yaml"

    @property
    def overrides(self) -> Path:
        """What was typed."""
        return self.path / "overrides.json"

    @property
    def comparison(self) -> Path:
        """The closing comparison, as `heddle evaluate` writes it."""
        return self.path / "comparison.json"

    @property
    def comparison_text(self) -> Path:
        """The closing comparison's table."""
        return self.path / "comparison.txt"

    @property
    def validation(self) -> Path:
        """The comparison on real cores that follows a search on virtual ones."""
        return self.path / "validation.json"

    @property
    def validation_text(self) -> Path:
        """Its table."""
        return self.path / "validation.txt"

    @property
    def plot(self) -> Path:
        """The picture."""
        return self.path / "fitness.png"

    @property
    def refused(self) -> Path:
        """Tables that failed the check, a folder each."""
        return self.path / "refused"

    @property
    def report(self) -> Path:
        """The page that `heddle report` makes."""
        return self.path / "report.html"

    @property
    def results(self) -> list[Path]:
        """What a record of the run keeps; not every run has all of them."""
        return [
            self.policy,
            self.config,
            self.comparison,
            self.comparison_text,
            self.validation,
            self.validation_text,
            self.plot,
        ]

    def write_settings(self, config_yaml: str, overrides: list[str]) -> None:
        """Keep the settings and what was typed."""
        write_atomically(self.config, config_yaml)
        write_atomically(self.overrides, json.dumps(overrides))

    def read_overrides(self) -> list[str]:
        """What was typed when the run was started.

        Raises:
            RunFolderError: the file is damaged.
        """
        try:
            found = json.loads(self.overrides.read_text(encoding="utf-8"))
            if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
                raise ValueError("it is no list of texts")
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(
                f"resume={self.path}: {self.overrides.name}, what was typed for the run, can't be "
                f"read: {error}; write it anew, such as {EXAMPLE}"
            ) from error
        return found

    def refuse_lost_checkpoint(self) -> None:
        """A run without its checkpoint would begin anew, and write over its best policy.

        Raises:
            CheckpointError: there is a policy, and no checkpoint.
        """
        if self.policy.exists() and not (self.path / FILE_NAME).exists():
            raise CheckpointError(
                f"{self.path / FILE_NAME}: is missing, and {self.policy.name} says that there was "
                "one; put a copy in its place, or start a new run"
            )


def new_run_folder(runs_dir: Path, words: str) -> RunFolder:
    """Make a folder named after the time and some words; never one that is there already.

    Raises:
        RunFolderError: none can be made in `runs_dir`.
    """
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    make_runs_dir(runs_dir)
    try:
        while True:
            suffix = "" if number == 1 else f"-{number}"
            path = runs_dir / f"{stamp}-{words}{suffix}"
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
            else:
                return RunFolder(path)
    except OSError as error:
        raise _none_can_be_made(runs_dir, error) from error


def make_runs_dir(runs_dir: Path, key: str = "runs_dir") -> None:
    """Make the folder that holds the runs, if it is not there; `key` is the setting's name.

    Raises:
        RunFolderError: it can't be made.
    """
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _none_can_be_made(runs_dir, error, key) from error


def _none_can_be_made(runs_dir: Path, error: OSError, key: str = "runs_dir") -> RunFolderError:
    return RunFolderError(
        f"{key}={runs_dir}: no folder can be made there: {why_not_written(error)}"
    )


def find_run_folder(runs_dir: Path, name: str, said: str | None = None) -> RunFolder:
    """The run of that name, or in that folder.

    Args:
        runs_dir: where runs are kept.
        name: of the run, or its folder.
        said: how messages call what was typed; `resume=NAME` by default.

    Raises:
        RunFolderError: there is none; the message lists the newest ones.
    """
    said = said or f"resume={name}"
    for path in (runs_dir / name, Path(name)):
        with contextlib.suppress(OSError):  # such as a name that no file can have
            if RunFolder(path).overrides.exists():
                return RunFolder(path)
            if RunFolder(path).config.exists():
                raise RunFolderError(f"{said}: the run was ended before it began; start a new one")
    found = sorted(path.parent.name for path in runs_dir.glob(f"*/{FILE_NAME}"))
    there = f"there are {', '.join(found[-5:])}" if found else f"there are none in {runs_dir}"
    raise RunFolderError(f"{said}: no such run; {there}")
