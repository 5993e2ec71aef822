"""The stored results of a run: settings, learning curve, policy and comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from envs import Comparison, machine_words
from envs.result import Machine
from policies import PolicyDocument, load
from policies.errors import write_failure_reason
from trainer.checkpoint import Checkpoint, OtherVersionError
from trainer.config import VerdictConfig
from trainer.evaluation.combination import COMBINATIONS
from trainer.lock import is_held
from trainer.outcome import LEARNED
from trainer.renamed import with_present_names
from trainer.run_folder import RunFolder
from trainer.scenario import combined, label_of
from trainer.shell_words import heddle_command
from trainer.verdict import Verdict, beyond_limits, judge, left_out_by, ratios_judged, same_as_known

PARTS = ("workload", "machine", "search", "validation", "robust")
"""The groups of settings that a page shows."""


class SavedRunError(ValueError):
    """A damaged file of a run; the message names the file and the remedy."""


@dataclass(frozen=True)
class Missing:
    """A part of the page that is missing because the run did not store it.

    Attributes:
        what: the part, in words.
        cure: how to get it.
        command: the command that makes it; None if there is none.
    """

    what: str
    cure: str
    command: str | None = None


@dataclass(frozen=True)
class SavedScenario:
    """A scenario of a run: a workload on a machine, and its comparisons.

    Attributes:
        label: its name among several scenarios; empty for a single one.
        settings: the settings of a training for this scenario.
        comparison: the closing comparison.
        validation: the comparison on real cores after a search on virtual ones.
        verdict: of the closing comparison; None without one, or without a baseline.
        validated: the verdict on real cores.
    """

    label: str
    settings: Mapping[str, Any]
    comparison: Comparison | None
    validation: Comparison | None
    verdict: Verdict | None = None
    validated: Verdict | None = None

    @property
    def finished(self) -> bool:
        """Whether the closing comparison is complete."""
        return self.comparison is not None and not self.comparison.interrupted

    @property
    def virtual(self) -> bool:
        """Whether it was trained on virtual cores."""
        return _part(self.settings, "machine").get("kind") == "virtual"

    @property
    def machine(self) -> str:
        """The machine it was trained on, in words."""
        if self.comparison is not None and self.comparison.rows:
            return machine_words(self.comparison.rows[0].machine)
        kind = str(_part(self.settings, "machine").get("kind", "threads"))
        if self.cores is None:
            return "all real cores" if kind == "threads" else f"{kind} cores"
        return machine_words(Machine(kind, self.cores))

    @property
    def cores(self) -> int | None:
        """The number of cores it was trained on; None if unknown."""
        if self.comparison is not None and self.comparison.rows:
            return self.comparison.rows[0].machine.cores
        cores = _part(self.settings, "machine").get("cores")
        return cores if isinstance(cores, int) else None

    @property
    def workload(self) -> dict[str, Any]:
        """The workload's name and options."""
        return dict(_part(self.settings, "workload"))

    @property
    def best(self) -> tuple[str, float] | None:
        """The verdict's baseline and the throughput relative to it; None without a verdict."""
        return None if self.verdict is None else (self.verdict.baseline, self.verdict.ratio)


@dataclass(frozen=True)
class SavedRun:
    """A run as stored in its folder.

    Attributes:
        folder: the run's folder.
        settings: all settings.
        typed: the overrides on the command line.
        checkpoint: of the last generation; empty if there is none.
        policy: the incumbent, or the learned policy; None before the first one.
        scenarios: at least one.
        running: whether a process holds the run.
        missing: the parts that should exist but do not.
    """

    folder: RunFolder
    settings: Mapping[str, Any]
    typed: list[str]
    checkpoint: Checkpoint
    policy: PolicyDocument | None
    scenarios: Sequence[SavedScenario]
    running: bool
    missing: list[Missing] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
        return all(scenario.finished for scenario in self.scenarios)

    @property
    def machine(self) -> str:
        """The machines it was trained on, in words."""
        return ", ".join(dict.fromkeys(scenario.machine for scenario in self.scenarios))

    @property
    def comparison(self) -> Comparison | None:
        """The closing comparison in the first scenario. Most runs have one scenario."""
        return self.scenarios[0].comparison

    @property
    def best(self) -> tuple[str, float] | None:
        """The verdict's baseline in the first scenario, and the throughput relative to it."""
        return self.scenarios[0].best

    @property
    def dotted_settings(self) -> dict[str, str]:
        """All settings as text, by dotted name."""
        return _leaves(self.settings)

    @property
    def search(self) -> dict[str, Any]:
        """The search's name and settings."""
        return dict(_part(self.settings, "search"))

    @property
    def combination(self) -> str | None:
        """How scores of several scenarios are combined, in words; None for a single scenario."""
        if len(self.scenarios) == 1:
            return None
        name = str(_part(self.settings, "robust").get("combine"))
        return COMBINATIONS[name].words if name in COMBINATIONS else name


def _leaves(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = "null" if value is None else str(value)
    return found


def read_run(folder: RunFolder, by_us: bool = False) -> SavedRun:
    """Read a run's folder and list its missing parts.

    Args:
        folder: the run's folder.
        by_us: whether this process holds the run and has finished its work there.

    Raises:
        SavedRunError: a file is damaged.
        CheckpointError: the checkpoint is damaged.
        PolicyFileError: the policy is damaged.
        RunFolderError: the stored command line is unreadable.
    """
    missing: list[Missing] = []
    settings = _settings(folder.config, missing)
    resume = heddle_command("train", f"resume={folder.path}")
    try:
        checkpoint = Checkpoint.load(folder.path)
    except OtherVersionError as error:
        checkpoint = Checkpoint()
        missing.append(
            Missing("the learning curve", f"another version of Heddle wrote it: {error}")
        )
    else:
        if not checkpoint.history:
            missing.append(
                Missing("the learning curve", "no generation was completed; resume with", resume)
            )
    policy = load(folder.policy) if folder.policy.exists() else None
    if policy is None:
        missing.append(Missing("a policy", "the search has not found one; resume with", resume))
    labels = _labels(settings, folder.config)
    scenarios = []
    for label, own in zip(labels, folder.scenarios(len(labels)), strict=True):
        scenario_settings = settings if own is folder else _settings(own.config, missing)
        comparison, verdict = _comparison(own.comparison, policy)
        validation, validated = _comparison(own.validation, policy)
        scenario = SavedScenario(
            label, scenario_settings, comparison, validation, verdict, validated
        )
        missing += _not_compared(scenario, resume)
        scenarios.append(scenario)
    return SavedRun(
        folder,
        settings,
        folder.read_overrides(),
        checkpoint,
        policy,
        scenarios,
        not by_us and is_held(folder.path),
        missing,
    )


def _labels(settings: Mapping[str, Any], path: Path) -> list[str]:
    """Return the labels of the scenarios; an empty one for a run without scenarios."""
    entries = _part(settings, "robust").get("scenarios") or []
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise _damaged(path, ValueError("robust.scenarios must be a list of settings"))
    found = [label_of(entry) for entry in combined(entries)]
    return found if len(found) > 1 else [""]


def _not_compared(scenario: SavedScenario, resume: str) -> list[Missing]:
    """List the missing parts of a scenario's comparisons."""
    where = f" ({scenario.label})" if scenario.label else ""
    if scenario.comparison is None:
        what = f"the closing comparison{where}, with its time breakdown"
        return [Missing(what, "it follows the search; resume with", resume)]
    missing = []
    if scenario.comparison.interrupted:
        what = f"a part of the closing comparison{where}"
        missing.append(Missing(what, "it was interrupted; resume with", resume))
    if scenario.validation is None and _wants_validation(scenario.settings):
        what = f"the comparison on real cores{where}"
        missing.append(Missing(what, "it was not made; resume with", resume))
    return missing


def _settings(path: Path, missing: list[Missing]) -> Mapping[str, Any]:
    text = _text(path)
    if text is None:
        missing.append(Missing("the settings", f"{path.name} is missing; start a new run"))
        return {}
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(found, Mapping):
        raise _damaged(path, ValueError("it has no settings"))
    for name in PARTS:
        if not isinstance(found.get(name, {}), Mapping):
            raise _damaged(path, ValueError(f"{name} must be a group of settings"))
    return with_present_names(found)


def _comparison(
    path: Path, policy: PolicyDocument | None
) -> tuple[Comparison | None, Verdict | None]:
    """Return a comparison and its verdict; judge it if an earlier version stored no verdict."""
    text = _text(path)
    if text is None:
        return None, None
    try:
        document = json.loads(text)
        comparison = Comparison.from_dict(document)
        written = document.get("verdict")
        if written is not None:
            return comparison, Verdict.from_dict(written)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    same_as = same_as_known(policy) if policy is not None else None
    (ratios,) = ratios_judged(LEARNED, [comparison])
    left_out = left_out_by(LEARNED, [comparison])
    confidence = VerdictConfig().confidence
    return comparison, judge(
        ratios,
        confidence,
        same_as=same_as,
        left_out=left_out,
        beyond=beyond_limits(LEARNED, [comparison]),
        objective=None if comparison.objective.is_throughput else comparison.objective.words,
    )


def _text(path: Path) -> str | None:
    """Return a file's text; None if the file does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SavedRunError(f"{path}: can't be read: {write_failure_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SavedRunError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return SavedRunError(
        f"{path}: is damaged: {reason[:200]}; restore a copy, or remove the file and "
        f"resume with: {heddle_command('train', f'resume={path.parent}')}"
    )


def _wants_validation(settings: Mapping[str, Any]) -> bool:
    virtual = _part(settings, "machine").get("kind") == "virtual"
    return virtual and bool(_part(settings, "validation").get("enabled", False))


def _part(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, Mapping) else {}
