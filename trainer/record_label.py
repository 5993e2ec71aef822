"""A run's name, tags and description in MLflow."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from envs import Comparison, machine_words
from envs.result import Machine
from trainer.run_folder import RunFolder, ScenarioFolder
from trainer.run_version import heddle_version
from trainer.scenario import Scenario

NAME_MAX = 200
"""Characters of a run's name that MLflow shows."""

THROUGHPUT = "commits_per_second"
"""The metric of a policy's throughput. MLflow sorts sections by name and opens the first, so this
name comes before evaluations and fitness."""

ELSEWHERE = (
    *("mlflow", "report", "evaluation.backend", "evaluation.address", "runs_dir", "resume"),
    *("sweep", "registered_model", "forecast"),
)
"""Settings of measurement and recording, which do not distinguish runs."""

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)-(\d\d)")


@dataclass(frozen=True)
class RunLabel:
    """Name, tags and hidden settings of a record.

    Attributes:
        name: the run's name; its distinguishing part is first, since tables cut names off.
        tags: for searching runs.
        hidden: settings or groups that are not recorded, since they do not affect results, but
            would be shown as differences between runs.
    """

    name: str
    tags: Mapping[str, str] = field(default_factory=dict)
    hidden: Sequence[str] = ()


def label_of(
    scenarios: Sequence[Scenario],
    typed: Sequence[str],
    folder: RunFolder,
    swept: Mapping[str, str] | None = None,
    sweep: str | None = None,
) -> RunLabel:
    """Return the label of a run.

    Args:
        scenarios: the scenarios of the training.
        typed: the overrides.
        folder: of the run.
        swept: in a sweep, the run's values of the swept settings.
        sweep: the sweep's name.
    """
    config = scenarios[0].config
    workload = " | ".join(dict.fromkeys(_workload(scenario) for scenario in scenarios))
    machine = ", ".join(dict.fromkeys(_machine(scenario) for scenario in scenarios))
    tags = {
        "heddle.workload": workload,
        "heddle.machine": machine,
        "heddle.search": config.search.name,
        "heddle.seed": str(config.seed),
        "heddle.run": folder.name,
        "heddle.folder": str(folder.path.resolve()),
        "heddle.version": heddle_version(),
        "mlflow.source.name": "heddle train",
        "mlflow.source.type": "LOCAL",
    }
    if sweep is not None:
        tags["heddle.sweep"] = sweep
    return RunLabel(_name(scenarios, typed, folder, swept), tags, ELSEWHERE)


def throughputs(
    closings: Sequence[tuple[str, Comparison | None, Comparison | None]],
) -> dict[str, float]:
    """Return the throughput of every compared policy, by the names of metrics.

    Args:
        closings: for each scenario its name (empty for the only one), the comparison, and the
            validation on real cores.
    """
    found = {}
    for scenario, comparison, validation in closings:
        below = f"/{scenario}" if scenario else ""
        for what, compared in ((THROUGHPUT, comparison), (f"{THROUGHPUT}_on_threads", validation)):
            for row in compared.rows if compared is not None else ():
                found[f"{what}{below}/{row.subject.name}"] = row.throughput
    return found


def description(scenarios: Sequence[ScenarioFolder], policy: Path) -> str:
    """Return the text at the top of a record's page: the tables of the run, in Markdown.

    Args:
        scenarios: the folder of each scenario.
        policy: the learned policy.
    """
    tables = [path for own in scenarios for path in (own.comparison_text, own.validation_text)]
    # A longer fence than usual, since a name in a table may contain a fence.
    parts = [
        f"````\n{path.read_text(encoding='utf-8').rstrip()}\n````"
        for path in tables
        if path.exists()
    ]
    parts.append(f"Policy: `{policy}`. Page: `report.html` among the artifacts.")
    return "\n\n".join(parts)


def _name(
    scenarios: Sequence[Scenario],
    typed: Sequence[str],
    folder: RunFolder,
    swept: Mapping[str, str] | None,
) -> str:
    config = scenarios[0].config
    parts = [f"{_short(key)}={value}" for key, value in (swept or {}).items()]
    others = [text for text in typed if _distinguishes(text, swept or {})]
    workload = str(config.workload.get("name", "workload"))
    parts += [workload, *(_short_setting(text) for text in others)]
    keys = {text.partition("=")[0] for text in (*typed, *(swept or {}))}
    if "search" not in keys:
        parts.append(config.search.name)
    if "seed" not in keys:
        parts.append(f"seed={config.seed}")
    words = " ".join(parts)
    ending = f" {_when(folder)}"
    return words[: NAME_MAX - len(ending)] + ending


def _distinguishes(text: str, swept: Mapping[str, str]) -> bool:
    key = text.partition("=")[0].lstrip("+")
    elsewhere = any(key == group or key.startswith(f"{group}.") for group in ELSEWHERE)
    return not elsewhere and key not in swept and key != "workload"  # whose name comes first


def _short_setting(text: str) -> str:
    key, equals, value = text.partition("=")
    return f"{_short(key)}{equals}{value}"


def _short(key: str) -> str:
    """Return a setting's name, without its group if that is the workload's or the machine's."""
    group, dot, rest = key.lstrip("+").partition(".")
    return rest if dot and group in ("workload", "machine") else key.lstrip("+")


def _when(folder: RunFolder) -> str:
    """Return the time in the folder's name; for a run of a sweep, that of its creation."""
    found = _STAMP.match(folder.name)
    if found is not None:
        return f"{found[1]} {found[2]}:{found[3]}:{found[4]}"
    made = folder.path.stat().st_mtime if folder.path.exists() else 0.0
    return f"{datetime.fromtimestamp(made, UTC):%Y-%m-%d %H:%M:%S}"


def _workload(scenario: Scenario) -> str:
    return " ".join(
        value if key == "name" else f"{key}={value}" for key, value in scenario.workload.items()
    )


def _machine(scenario: Scenario) -> str:
    machine = scenario.config.machine
    # The engine's default number of cores.
    cores = machine.cores or len(os.sched_getaffinity(0))
    return machine_words(Machine(machine.kind, cores))
