"""Composes the scenarios of a robust training, each with its own configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from envs.engine_interface import load_engine
from envs.workload import workload_signature
from policies import Signature
from trainer.command.errors import UsageError
from trainer.command.settings import compose_settings, merge_overrides
from trainer.config import TrainConfig
from trainer.scenario import GROUPS, Scenario, combined, label_of, single_scenario

KEY = "robust.scenarios"
NONE = f"{KEY}=[]"

SCENARIOS_MAX = 64
"""The most scenarios: every worker holds a database for each."""

_PLAIN = re.compile(r"[\w./:+-]+")


def compose_scenarios(config: TrainConfig, overrides: Sequence[str]) -> list[Scenario]:
    """Return the scenarios that are set, or else the workload that is set as the only one.

    Args:
        config: all settings.
        overrides: the overrides of these settings.

    Raises:
        UsageError: a scenario is invalid, or set twice; the message names it.
    """
    if not config.robust.scenarios:
        return single_scenario(config)
    found: list[Scenario] = []
    for number, settings in enumerate(_expanded(config), start=1):
        typed = [f"{key}={_typed(value)}" for key, value in settings.items()]
        label = label_of(settings)
        try:
            own = compose_settings("train", merge_overrides(overrides, [*typed, NONE]), TrainConfig)
        except UsageError as error:
            raise UsageError(f"{KEY}, scenario {number} ({label}): {error}") from error
        found.append(Scenario(number, label, own))
    _refuse_other_kinds(config, found)
    _refuse_twins(found)
    return found


def as_trained(config: TrainConfig, scenarios: Sequence[Scenario]) -> TrainConfig:
    """Return all settings; with a single scenario, that scenario's."""
    return scenarios[0].config if len(scenarios) == 1 else config


def common_signature(scenarios: Sequence[Scenario]) -> Signature:
    """Return the signature that all scenarios share.

    Raises:
        UsageError: two scenarios have different ones; the message names both.
        ValueError: there is no such workload, or no such option of it.
    """
    first, *others = scenarios
    common = workload_signature(load_engine(), first.workload)
    for other in others:
        signature = workload_signature(load_engine(), other.workload)
        if signature != common:
            raise UsageError(
                f"{KEY}: a table fits one signature, but these scenarios have different ones: "
                f"{_words(first, common)}; {_words(other, signature)}. Train a table for each"
            )
    return common


def _expanded(config: TrainConfig) -> list[dict[str, Any]]:
    for entry in config.robust.scenarios:
        for key in entry:
            if re.split("[./]", key)[0] not in GROUPS:
                raise UsageError(
                    f"{KEY}: {key}: scenarios may differ in settings of workload and machine "
                    "only, such as {workload.warehouses:4}"
                )
        if not entry or [] in entry.values():
            raise UsageError(
                f"{KEY}: {entry}: sets nothing; set something, such as {{workload.warehouses:4}}"
            )
    found = combined(config.robust.scenarios)
    if len(found) > SCENARIOS_MAX:
        raise UsageError(f"{KEY}: makes {len(found)} scenarios; set at most {SCENARIOS_MAX}")
    return found


def _typed(value: Any) -> str:
    """Return a value as an override has it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if not _PLAIN.fullmatch(value):
            escaped = value.replace("'", "\\'")
            return f"'{escaped}'"
    return str(value)


def _refuse_other_kinds(config: TrainConfig, scenarios: Sequence[Scenario]) -> None:
    first, *others = scenarios
    for other in others:
        if other.config.machine.kind != first.config.machine.kind:
            raise UsageError(
                f"{KEY}: {first.label} has machine={first.config.machine.kind}, but {other.label} "
                f"has machine={other.config.machine.kind}; set the same machine= in all"
            )
    kind = first.config.machine.kind
    # Settings that the scenarios share, such as the rungs, depend on the kind set outside of them.
    if others and kind != config.machine.kind:
        raise UsageError(
            f"{KEY}: the scenarios have machine={kind}, but the training has "
            f"machine={config.machine.kind}; set machine={kind} for the training, and leave "
            "machine out of the scenarios"
        )


def _refuse_twins(scenarios: Sequence[Scenario]) -> None:
    seen: dict[str, Scenario] = {}
    for scenario in scenarios:
        settings = repr((scenario.workload, asdict(scenario.config.machine)))
        if settings in seen:
            raise UsageError(
                f"{KEY}: scenarios {seen[settings].number} ({seen[settings].label}) and "
                f"{scenario.number} ({scenario.label}) are the same; leave one out"
            )
        seen[settings] = scenario


def _words(scenario: Scenario, signature: Signature) -> str:
    types = ", ".join(f"{kind.name} with {len(kind.states)}" for kind in signature.types)
    return f"{scenario.label} ({signature.workload}; accesses: {types})"
