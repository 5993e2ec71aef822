"""The folder of a run: where it is, and what lies in it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from policies.errors import regular_text, write_failure_reason
from trainer.checkpoint import FILE_NAME, CheckpointError, write_atomically
from trainer.renamed import present_overrides, with_present_names
from trainer.search import SEARCHES

EXAMPLE = '["workload.warehouses=1", "seed=1"]'


class RunFolderError(ValueError):
    """A run that can't be found or used; the message says which there are."""


@dataclass(frozen=True)
class ScenarioFolder:
    """The files of one scenario of a run.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def config(self) -> Path:
        """All settings."""
        return self.path / "config.yaml"

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
    def files(self) -> list[Path]:
        """These files; not all are there."""
        return [
            self.config,
            self.comparison,
            self.comparison_text,
            self.validation,
            self.validation_text,
        ]


@dataclass(frozen=True)
class RunFolder(ScenarioFolder):
    """The files of a run. With a single scenario, the scenario's files are among them."""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.path.name

    @property
    def policy(self) -> Path:
        """The best policy so far, and in the end the learned one."""
        return self.path / "policy.json"

    @property
    def overrides(self) -> Path:
        """What was typed."""
        return self.path / "overrides.json"

    @property
    def plot(self) -> Path:
        """The picture."""
        return self.path / "fitness.png"

    @property
    def refused(self) -> Path:
        """Tables that failed the check, a folder each."""
        return self.path / "refused"

    @property
    def backend_log(self) -> Path:
        """Messages of Ray, and what its workers print; not there where it wrote nothing."""
        return self.path / "ray.log"

    @property
    def report(self) -> Path:
        """The page for people."""
        return self.path / "report.html"

    def results(self, scenarios: int) -> list[Path]:
        """What a record of a run for so many workloads keeps; not every run has all of them."""
        closing = [path for scenario in self.scenarios(scenarios) for path in scenario.files]
        return [
            self.policy,
            self.plot,
            self.report,
            *([self.config] if scenarios > 1 else []),
            *closing,
        ]

    def scenarios(self, count: int) -> list[ScenarioFolder]:
        """The folder of each scenario; of the only one, the run's own folder."""
        if count == 1:
            return [self]
        # Earlier versions named the folders `member-1`, …
        word = "member" if (self.path / "member-1").is_dir() else "scenario"
        return [ScenarioFolder(self.path / f"{word}-{number}") for number in range(1, count + 1)]

    def write_settings(
        self, config_yaml: str, overrides: list[str], of_scenarios: Sequence[str]
    ) -> None:
        """Keep the settings and what was typed.

        Args:
            config_yaml: all settings.
            overrides: what was typed.
            of_scenarios: all settings of each workload that is trained for.
        """
        for scenario, settings in zip(self.scenarios(len(of_scenarios)), of_scenarios, strict=True):
            make_runs_dir(scenario.path, "the run's folder")
            write_atomically(scenario.config, settings)
        write_atomically(self.config, config_yaml)
        write_atomically(self.overrides, json.dumps(overrides))

    def read_overrides(self) -> list[str]:
        """What was typed when the run was started.

        Raises:
            RunFolderError: the file is damaged.
        """
        try:
            found = json.loads(regular_text(self.overrides))
            if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
                raise ValueError("it is no list of texts")
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(
                f"resume={self.path}: {self.overrides.name}, what was typed for the run, can't be "
                f"read: {error}; write it anew, such as {EXAMPLE}"
            ) from error
        return present_overrides(found)

    def saved_settings(self) -> Mapping[str, Any]:
        """All settings of the run; none if they can't be read."""
        try:
            settings = yaml.safe_load(regular_text(self.config))
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return {}
        return with_present_names(settings) if isinstance(settings, dict) else {}

    def saved_search(self) -> Mapping[str, Any] | None:
        """The settings of the run's search; None if they can't be read, or name none."""
        search = self.saved_settings().get("search")
        if not isinstance(search, dict) or search.get("name") not in SEARCHES:
            return None
        return search

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
    return RunFolder(make_new_folder(runs_dir, f"{time_stamp()}-{words}"))


def time_stamp() -> str:
    """The time (UTC), as folders are named after it."""
    return datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")


def make_new_folder(place: Path, name: str) -> Path:
    """Make a folder in `place`: never one that is there, nor one that another process makes.

    Returns:
        The folder; its name has a number behind it where the name is taken.

    Raises:
        RunFolderError: none can be made.
    """
    number = 1
    make_runs_dir(place)
    try:
        while True:
            path = place / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
            else:
                return path
    except OSError as error:
        raise _none_can_be_made(place, error) from error


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
    if isinstance(error, FileExistsError | NotADirectoryError):
        return RunFolderError(
            f"{key}={runs_dir}: there is a file in the place of a folder; name a folder"
        )
    return RunFolderError(
        f"{key}={runs_dir}: no folder can be made there: {write_failure_reason(error)}"
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
