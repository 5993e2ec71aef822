"""The settings of a training: checked before it, and named in its checkpoints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from envs import (
    THREADS,
    subject_of,
)
from policies import (
    SCHEDULE,
    Signature,
    is_seed,
    open_policy,
)
from policies.policy_digest import policy_digest
from policies.protocol import TABLE
from policies.schedule import PARAMETERS, POLICY
from trainer.classifier.document import read_classifier
from trainer.config import TrainConfig, TrainedObjectiveConfig
from trainer.duration import parse_duration
from trainer.evaluation.backend import check_backend
from trainer.evaluation.combination import check_combination
from trainer.evaluation.race import check_race
from trainer.objective import check_objective
from trainer.policy_library.start import start_tables
from trainer.policy_registry import refuse_bad_model
from trainer.scenario import Scenario, single_scenario
from trainer.search import build_search
from trainer.search.space import space_of
from trainer.store_training import check_store_training, untuned_reference

DIGITS = 12
"""Digits of a digest in settings and messages."""


def check_settings(
    config: TrainConfig, signature: Signature, scenarios: Sequence[Scenario] = ()
) -> None:
    """Check the settings before anything is measured.

    Args:
        config: all settings.
        signature: of the workload.
        scenarios: the scenarios of the training; none = only that of the settings.

    Raises:
        ValueError: a setting is wrong; the message names it.
        PolicyFileError: the file of a baseline, of `search.base` or of `search.start`, is not a
            valid policy for the workload.
    """
    bounds = ("generations", "evaluations", "seconds")
    if all(getattr(config.search, bound) is None for bound in bounds):
        raise ValueError(
            "search.generations, search.evaluations and search.seconds are null: the search would "
            "never end; set one of them"
        )
    most, cost = config.search.evaluations, max(1, len(scenarios))
    if most is not None and most < cost:
        raise ValueError(
            f"search.evaluations={most}: must be at least {cost}, one for each scenario of "
            "robust.scenarios"
        )
    if config.budget is not None:
        try:
            parse_duration(config.budget)
        except ValueError as error:
            raise ValueError(f"budget={error}") from None
    check_combination(config.robust.combine)
    check_objective(config.objective, signature, config.baselines)
    if config.objective.front and len(scenarios) > 1:
        raise ValueError(
            "objective.front: is of one workload on one machine; leave out robust.scenarios"
        )
    check_backend(config.evaluation)
    check_race(config.evaluation)
    if config.evaluation.settled is not None and config.machine.kind == THREADS["kind"]:
        raise ValueError(
            f"evaluation.settled={config.evaluation.settled}: lengthens rungs on virtual cores "
            "only; on real cores leave it out, or set evaluation.rungs"
        )
    space = space_of(config.search, signature)
    start_tables([scenario.config for scenario in scenarios] or [config], space.encoding)
    refuse_bad_model(config.registered_model)
    if config.registered_model is not None and not config.mlflow.enabled:
        raise ValueError(
            f"registered_model={config.registered_model}: needs MLflow; leave out "
            "mlflow.enabled=false"
        )
    build_search(config.search, space, [], config.seed)
    check_store_training(config, scenarios)
    for name in config.baselines:
        subject_of(name, signature, lambda: untuned_reference(config.search))


def measuring_settings(config: TrainConfig, scenarios: Sequence[Scenario] = ()) -> dict[str, str]:
    """Return the settings on which samples and their use depend, by name.

    Args:
        config: all settings.
        scenarios: the scenarios of the training; none = only that of the settings.
    """
    settings = {
        f"scenario {scenario.number}'s {name}" if len(scenarios) > 1 else name: value
        for scenario in scenarios or single_scenario(config)
        for name, value in scenario.settings.items()
    }
    if len(scenarios) > 1:
        settings["robust.combine"] = config.robust.combine
    settings |= _objective_named(config.objective)
    if config.search.base is not None:
        settings["search.base"] = _content_named(config.search.base)
    if config.search.classifiers:
        named = (_classifier_named(name) for name in config.search.classifiers)
        settings["search.classifiers"] = ", ".join(named)
    if SCHEDULE in config.search.actions:
        # The meaning of a vector depends on these.
        cells = (f"{cell.name} {cell.choices} {cell.default}" for cell in (POLICY, *PARAMETERS))
        settings["the schedule's cells"] = ", ".join(cells)
    if config.search.protocols != [TABLE]:
        settings["search.protocols"] = ", ".join(config.search.protocols)
    slices = config.evaluation
    return settings | {
        "evaluation.slice_seconds": str(slices.slice_seconds),
        "evaluation.warmup_seconds": str(slices.warmup_seconds),
        "evaluation.later_warmup_seconds": str(slices.later_warmup_seconds),
        "seed": str(config.seed),
        "search": config.search.name,
        "search.actions": ", ".join(sorted(set(config.search.actions))),
    }


def _objective_named(config: TrainedObjectiveConfig) -> dict[str, str]:
    """Return the settings of the objective that differ from the defaults."""
    default = asdict(TrainedObjectiveConfig())
    return {
        f"objective.{name}": str(value)
        for name, value in asdict(config).items()
        if value != default[name]
    }


def _content_named(policy: str) -> str:
    """Return a policy's name and digest, because the content of its file may change."""
    if is_seed(policy):
        return policy
    return f"{policy} ({policy_digest(open_policy(policy))[:DIGITS]})"


def _classifier_named(name: str) -> str:
    content = json.dumps(read_classifier(Path(name)), sort_keys=True)
    digest = hashlib.blake2b(content.encode(), digest_size=DIGITS // 2).hexdigest()
    return f"{name} ({digest})"
