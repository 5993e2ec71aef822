"""The folder of a run, and its files."""

from __future__ import annotations

import contextlib
import functools
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
    """A run that can't be found or used; the message lists existing runs."""


@dataclass(frozen=True)
class ScenarioFolder:
    """The files of one scenario of a run.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def config(self) -> Path:
        """Return the file of all settings."""
        return self.path / "config.yaml"

    @property
    def comparison(self) -> Path:
        """Return the file of the closing comparison, in the format of `heddle evaluate`."""
        return self.path / "comparison.json"

    @property
    def comparison_text(self) -> Path:
        """Return the file of the closing comparison's table."""
        return self.path / "comparison.txt"

    @property
    def validation(self) -> Path:
        """Return the file of the comparison on real cores after a search on virtual ones."""
        return self.path / "validation.json"

    @property
    def validation_text(self) -> Path:
        """Return the file of the validation's table."""
        return self.path / "validation.txt"

    @property
    def files(self) -> list[Path]:
        """Return these files, some of which may not exist."""
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
        """Return the run's name."""
        return self.path.name

    @property
    def policy(self) -> Path:
        """Return the file of the incumbent's policy, and in the end of the learned one."""
        return self.path / "policy.json"

    @property
    def overrides(self) -> Path:
        """Return the file of the overrides."""
        return self.path / "overrides.json"

    @property
    def plot(self) -> Path:
        """Return the file of the picture."""
        return self.path / "fitness.png"

    @property
    def front(self) -> Path:
        """Return the folder of the policies that no other dominates, if a front was requested."""
        return self.path / "front"

    @property
    def front_plot(self) -> Path:
        """Return the file of the front's picture."""
        return self.path / "front.png"

    @property
    def refused(self) -> Path:
        """Return the folder of tables that failed the check, each in a folder."""
        return self.path / "refused"

    @property
    def backend_log(self) -> Path:
        """Return the file of messages of Ray and its workers; missing if there are none."""
        return self.path / "ray.log"

    @property
    def report(self) -> Path:
        """Return the file of the HTML page."""
        return self.path / "report.html"

    def results(self, scenarios: int) -> list[Path]:
        """Return the files for the record of a run with this number of scenarios.

        Not every run has all of them.
        """
        closing = [path for scenario in self.scenarios(scenarios) for path in scenario.files]
        return [
            self.policy,
            self.plot,
            self.front / "front.json",
            self.front_plot,
            self.report,
            *([self.config] if scenarios > 1 else []),
            *closing,
        ]

    def scenarios(self, count: int) -> list[ScenarioFolder]:
        """Return the folder of each scenario; for a single scenario, the run's own folder."""
        if count == 1:
            return [self]
        # Earlier versions named the folders `member-1`, …
        word = "member" if (self.path / "member-1").is_dir() else "scenario"
        return [ScenarioFolder(self.path / f"{word}-{number}") for number in range(1, count + 1)]

    def write_settings(
        self, config_yaml: str, overrides: list[str], of_scenarios: Sequence[str]
    ) -> None:
        """Save the settings and the overrides.

        Args:
            config_yaml: all settings.
            overrides: the overrides.
            of_scenarios: all settings of each scenario.
        """
        for scenario, settings in zip(self.scenarios(len(of_scenarios)), of_scenarios, strict=True):
            make_runs_dir(scenario.path, "the run's folder")
            write_atomically(scenario.config, settings)
        write_atomically(self.config, config_yaml)
        write_atomically(self.overrides, json.dumps(overrides))

    def read_overrides(self) -> list[str]:
        """Return the overrides with which the run was started.

        Raises:
            RunFolderError: the file is damaged.
        """
        try:
            found = json.loads(regular_text(self.overrides))
            if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
                raise ValueError("it is not a list of texts")
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(
                f"resume={self.path}: {self.overrides.name}, the run's overrides, can't be read: "
                f"{error}; restore it, such as {EXAMPLE}"
            ) from error
        return present_overrides(found)

    def saved_settings(self) -> Mapping[str, Any]:
        """Return all settings of the run; empty if they can't be read."""
        try:
            return _settings_in(regular_text(self.config))
        except (OSError, ValueError, RecursionError, yaml.YAMLError):
            return {}

    def saved_search(self) -> Mapping[str, Any] | None:
        """Return the settings of the run's search; None if they can't be read or name no search."""
        search = self.saved_settings().get("search")
        if not isinstance(search, dict) or search.get("name") not in SEARCHES:
            return None
        return search

    def refuse_lost_checkpoint(self) -> None:
        """Refuse a run that lost its checkpoint, since it would restart and overwrite its policy.

        Raises:
            CheckpointError: there is a policy, but no checkpoint.
        """
        if self.policy.exists() and not (self.path / FILE_NAME).exists():
            raise CheckpointError(
                f"{self.path / FILE_NAME}: is missing, although {self.policy.name} exists; restore "
                "a copy, or start a new run"
            )


@functools.lru_cache(maxsize=64)  # a comparison reads a run's settings several times
def _settings_in(text: str) -> Mapping[str, Any]:
    settings = yaml.safe_load(text)
    return with_present_names(settings) if isinstance(settings, dict) else {}


def new_run_folder(runs_dir: Path, words: str) -> RunFolder:
    """Create a new folder named after the time and some words.

    Raises:
        RunFolderError: it can't be created in `runs_dir`.
    """
    return RunFolder(make_new_folder(runs_dir, f"{time_stamp()}-{words}"))


def time_stamp() -> str:
    """Return the time (UTC) in the form of folders' names."""
    return datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")


def make_new_folder(place: Path, name: str) -> Path:
    """Create a new folder in `place`, distinct from those of other processes.

    Returns:
        The folder; a number is appended to its name if the name is taken.

    Raises:
        RunFolderError: it can't be created.
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
        raise _creation_error(place, error) from error


def make_runs_dir(runs_dir: Path, key: str = "runs_dir") -> None:
    """Create the folder of the runs, if it is missing; `key` is the setting's name.

    Raises:
        RunFolderError: it can't be created.
    """
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _creation_error(runs_dir, error, key) from error


def _creation_error(runs_dir: Path, error: OSError, key: str = "runs_dir") -> RunFolderError:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return RunFolderError(
            f"{key}={runs_dir}: there is a file in the place of a folder; name a folder"
        )
    return RunFolderError(
        f"{key}={runs_dir}: no folder can be created there: {write_failure_reason(error)}"
    )


def find_run_folder(runs_dir: Path, name: str, said: str | None = None) -> RunFolder:
    """Return the run of that name, or in that folder.

    Args:
        runs_dir: folder of the runs.
        name: of the run, or its folder.
        said: the argument in messages; `resume=NAME` by default.

    Raises:
        RunFolderError: there is no such run; the message lists the newest ones.
    """
    said = said or f"resume={name}"
    for path in (runs_dir / name, Path(name)):
        with contextlib.suppress(OSError):  # such as a name that no file can have
            if RunFolder(path).overrides.exists():
                return RunFolder(path)
            if RunFolder(path).config.exists():
                raise RunFolderError(f"{said}: the run ended before it started; start a new one")
    found = sorted(path.parent.name for path in runs_dir.glob(f"*/{FILE_NAME}"))
    there = f"there are {', '.join(found[-5:])}" if found else f"there are none in {runs_dir}"
    raise RunFolderError(f"{said}: no such run; {there}")
