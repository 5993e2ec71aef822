"""Comparing runs: their results, and the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.report.saved_run import SavedRun

NOT_SETTINGS = ("mlflow", "evaluation.backend", "evaluation.address", "report", "runs_dir")
"""Settings of where a run is measured and recorded, which do not affect the result."""


def results(run: SavedRun) -> dict[str, str]:
    """Return the results of a run by name: throughput, the ratio to each baseline, the verdict."""
    found: dict[str, str] = {}
    for scenario in run.scenarios:
        where = f" ({scenario.label})" if scenario.label else ""
        for name, compared in (("", scenario.comparison), ("validation: ", scenario.validation)):
            if compared is None:
                continue
            for row in compared.rows:
                found[f"{name}{row.subject.name}, commits/s{where}"] = f"{row.throughput:,.0f}"
            for baseline, score in compared.scores("learned").items():
                found[f"{name}learned ÷ {baseline}{where}"] = f"{score:.3f}"
    if run.checkpoint.history:
        found["evaluations"] = f"{run.checkpoint.evaluations:,}"
        found["search, s"] = f"{run.checkpoint.seconds:,.0f}"
    return found


def settings_of(run: SavedRun) -> dict[str, str]:
    """Return the settings that may affect the result of a run, by dotted name."""
    return {
        key: value
        for key, value in run.dotted_settings.items()
        if not any(key == group or key.startswith(f"{group}.") for group in NOT_SETTINGS)
    }


def differing(tables: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names whose values differ between tables, in the order of the first table."""
    names = dict.fromkeys(name for table in tables for name in table)
    return [name for name in names if len({table.get(name) for table in tables}) > 1]
