"""What a run left behind: its settings, its curve, its policy, its comparisons."""

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
from trainer.evaluation.objective import OBJECTIVES
from trainer.lock import is_held
from trainer.renamed import with_present_names
from trainer.run import LEARNED
from trainer.run_folder import RunFolder
from trainer.scenario import combined, label_of
from trainer.shell_words import heddle_command
from trainer.verdict import Verdict, judge, left_out_by, ratios_judged, same_as_known

PARTS = ("workload", "machine", "search", "validation", "robust")
"""The groups of settings that a page tells of."""


class SavedRunError(ValueError):
    """A file of a run that is damaged; the message names it, and what to do."""


@dataclass(frozen=True)
class Missing:
    """What a run did not keep.

    Attributes:
        what: in words.
        cure: how to get it.
        command: what to type for it; None if there is nothing.
    """

    what: str
    cure: str
    command: str | None = None


@dataclass(frozen=True)
class SavedScenario:
    """What was trained for: a workload on a machine, and how the policy compares there.

    Attributes:
        label: how it is called among others; empty for the only one.
        settings: of a training for it.
        comparison: the closing one.
        validation: the one on real cores, after a search on virtual ones.
        verdict: what the closing comparison shows; None if there is none, or nothing to compare.
        validated: what the comparison on real cores shows.
    """

    label: str
    settings: Mapping[str, Any]
    comparison: Comparison | None
    validation: Comparison | None
    verdict: Verdict | None = None
    validated: Verdict | None = None

    @property
    def finished(self) -> bool:
        """Whether the closing comparison was made to its end."""
        return self.comparison is not None and not self.comparison.interrupted

    @property
    def virtual(self) -> bool:
        """Whether its cores were virtual."""
        return _part(self.settings, "machine").get("kind") == "virtual"

    @property
    def machine(self) -> str:
        """Where it was trained, in words."""
        if self.comparison is not None and self.comparison.rows:
            return machine_words(self.comparison.rows[0].machine)
        kind = str(_part(self.settings, "machine").get("kind", "threads"))
        if self.cores is None:
            return "all real cores" if kind == "threads" else f"{kind} cores"
        return machine_words(Machine(kind, self.cores))

    @property
    def cores(self) -> int | None:
        """On how many it was trained; None if that is not known."""
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
        """The verdict's baseline, and throughput ÷ its; None without a verdict."""
        return None if self.verdict is None else (self.verdict.baseline, self.verdict.ratio)


@dataclass(frozen=True)
class SavedRun:
    """Everything that a page is made of.

    Attributes:
        folder: of the run.
        settings: all of them.
        typed: what was typed.
        checkpoint: of the last generation; empty if there is none.
        policy: the best policy so far, or the learned one; None if there is none yet.
        scenarios: what it was trained for, one at least.
        running: whether a process is working on it now.
        missing: what is not there, and should be.
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
        """Whether it came to its end."""
        return all(scenario.finished for scenario in self.scenarios)

    @property
    def machine(self) -> str:
        """Where it was trained, in words."""
        return ", ".join(dict.fromkeys(scenario.machine for scenario in self.scenarios))

    @property
    def comparison(self) -> Comparison | None:
        """The closing comparison in the first scenario: in the only one, of most runs."""
        return self.scenarios[0].comparison

    @property
    def best(self) -> tuple[str, float] | None:
        """The verdict's baseline in the first scenario, and throughput ÷ its."""
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
    def objective(self) -> str | None:
        """What the scores in the scenarios came to one by, in words; None where there is one."""
        if len(self.scenarios) == 1:
            return None
        name = str(_part(self.settings, "robust").get("objective"))
        return OBJECTIVES[name].words if name in OBJECTIVES else name


def _leaves(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= _leaves(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = "null" if value is None else str(value)
    return found


def read_run(folder: RunFolder, by_us: bool = False) -> SavedRun:
    """Read a run's folder; what is not there is said.

    Args:
        folder: of the run.
        by_us: whether this process holds it, and has ended its work there.

    Raises:
        SavedRunError: a file is damaged.
        CheckpointError: the checkpoint is.
        PolicyFileError: the policy is.
        RunFolderError: what was typed can't be read.
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
                Missing("the learning curve", "no generation was finished; resume it", resume)
            )
    policy = load(folder.policy) if folder.policy.exists() else None
    if policy is None:
        missing.append(Missing("a policy", "none was found yet; resume it", resume))
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
    """What the scenarios are called; of a training for one workload, nothing."""
    entries = _part(settings, "robust").get("scenarios") or []
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise _damaged(path, ValueError("robust.scenarios is no list of settings"))
    found = [label_of(one) for one in combined(entries)]
    return found if len(found) > 1 else [""]


def _not_compared(scenario: SavedScenario, resume: str) -> list[Missing]:
    """What of a scenario's comparisons is not there."""
    where = f" ({scenario.label})" if scenario.label else ""
    if scenario.comparison is None:
        what = f"the closing comparison{where}, and with it where time goes"
        return [Missing(what, "it is made when the search has ended; resume it", resume)]
    missing = []
    if scenario.comparison.interrupted:
        what = f"a part of the closing comparison{where}"
        missing.append(Missing(what, "it was cut short; resume it", resume))
    if scenario.validation is None and _wants_validation(scenario.settings):
        what = f"the comparison on real cores{where}"
        missing.append(Missing(what, "it was not made; resume it", resume))
    return missing


def _settings(path: Path, missing: list[Missing]) -> Mapping[str, Any]:
    text = _text(path)
    if text is None:
        missing.append(Missing("the settings", f"{path.name} is not there; start a new run"))
        return {}
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _damaged(path, error) from error
    if not isinstance(found, Mapping):
        raise _damaged(path, ValueError("it holds no settings"))
    for name in PARTS:
        if not isinstance(found.get(name, {}), Mapping):
            raise _damaged(path, ValueError(f"{name} is no group of settings"))
    return with_present_names(found)


def _comparison(
    path: Path, policy: PolicyDocument | None
) -> tuple[Comparison | None, Verdict | None]:
    """A comparison and its verdict, which earlier versions did not write: come to here, then."""
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
    return comparison, judge(ratios, confidence, same_as=same_as, left_out=left_out)


def _text(path: Path) -> str | None:
    """A file's text; None if it is not there."""
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
        f"{path}: is damaged: {reason[:200]}; put a copy in its place, or remove it and "
        f"resume with: {heddle_command('train', f'resume={path.parent}')}"
    )


def _wants_validation(settings: Mapping[str, Any]) -> bool:
    virtual = _part(settings, "machine").get("kind") == "virtual"
    return virtual and bool(_part(settings, "validation").get("enabled", False))


def _part(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, Mapping) else {}
