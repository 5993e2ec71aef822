"""A backtest: the nights of past days, each followed by a measurement of the next day.

Every night is a night of `heddle nightly`, which uses no later data. The policy published after it
is measured on the next day. Measurements are stored, so a killed backtest resumes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from types import MappingProxyType
from typing import Any

from envs import MeasuringError
from envs.engine_interface import load_engine
from envs.workload import workload_signature
from traces.errors import TraceError
from traces.reader import Trace
from trainer.backtest.mark import MARK
from trainer.backtest.next_day import NextDay, measure_next_day
from trainer.backtest.step import Step
from trainer.backtest.versions import Versions
from trainer.checkpoint import write_atomically
from trainer.config import NightlyConfig, workload_options
from trainer.nightly.conditions import conditions_of
from trainer.nightly.errors import BadDayError, NothingToJudgeError, SettingsError, StateError
from trainer.nightly.night import Plan, run_night
from trainer.nightly.nights import Night
from trainer.nightly.state import StateFolder
from trainer.progress import Display
from trainer.renamed import with_present_names

SCHEMA_VERSION = 1


def nights_of(trace: Trace, days: int) -> list[date]:
    """Return the days of the nights: the last ones that are followed by another day.

    Raises:
        BadDayError: the trace has too few.
    """
    if len(trace.days) < days + 1:
        raise BadDayError(
            f"{trace.folder}: has {len(trace.days)} days, but {days} nights and the day after each "
            f"need {days + 1}; set --days {max(1, len(trace.days) - 1)}"
        )
    return list(trace.days[-days - 1 : -1])


def run_backtest(
    config: NightlyConfig,
    state: StateFolder,
    trace: Trace,
    days: int,
    rounds: int,
    display: Display,
    versions: Versions = MappingProxyType({}),
) -> list[Step]:
    """Run every night, and measure the policy published after it on the next day.

    The caller holds the store.

    Args:
        config: the settings of the nights.
        state: a separate store.
        trace: the trace, whose last days are used.
        days: the number of nights.
        rounds: the number of comparisons per day.
        display: shows the progress.
        versions: of the policies named by an alias; stored for the next run.

    Raises:
        KeyboardInterrupt: Ctrl-C; the next run resumes.
        NightError: a setting is wrong, the trace has too few days, or the store is damaged, or
            belongs to another backtest or to real nights.
        WritingError: a file can't be written.
    """
    nights = nights_of(trace, days)
    following = dict(zip(trace.days, trace.days[1:], strict=False))
    plan = {
        "nights": [f"{day}" for day in nights],
        "settings": _settings(config, rounds),
        "versions": dict(versions),
    }
    _refuse_another(state, plan)
    steps: list[Step] = []
    _write_mark(state, trace, plan, steps)
    for number, day in enumerate(nights, start=1):
        display.say(f"night {number} of {days}: {day}")
        step = Step.load(state.night(day))
        if step is None:
            night = run_night(Plan(config, state, trace, day), display)
            step = _followed(Plan(config, state, trace, following[day]), night, rounds, display)
            step.save(state.night(day))
        display.say(step.night.line)
        steps.append(step)
        _write_mark(state, trace, plan, steps)
    return steps


def saved_versions(state: StateFolder) -> Versions:
    """Return the versions that earlier nights used for policies named by an alias.

    Raises:
        StateError: the file is damaged.
    """
    mark = state.path / MARK
    try:
        plan = json.loads(mark.read_text(encoding="utf-8"))["plan"]
        return {str(name): str(held) for name, held in plan.get("versions", {}).items()}
    except FileNotFoundError:
        return {}
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise StateError(f"{mark}: is damaged ({error}); remove {state.path}") from None


def _settings(config: NightlyConfig, rounds: int) -> dict[str, Any]:
    """Return the settings that determine the result, for JSON."""
    document = asdict(config) | {"--rounds": rounds}
    for name in ("state", "day", "mlflow", "registered_model", "keep_policies"):
        del document[name]
    return dict(json.loads(json.dumps(document)))


def _refuse_another(state: StateFolder, plan: Mapping[str, Any]) -> None:
    """Refuse a store that does not belong to this backtest, since a backtest publishes policies."""
    mark = state.path / MARK
    if not mark.exists():
        if state.policy.exists() or any(state.days()):
            raise StateError(
                f"state={state.path}: is the store of heddle nightly; name a separate folder for "
                "the backtest"
            )
        return
    try:
        before = json.loads(mark.read_text(encoding="utf-8"))["plan"]
        changed = [*_changed(with_present_names(before["settings"]), plan["settings"])]
        other_nights = before["nights"] != plan["nights"]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"{mark}: is damaged ({error}); remove {state.path}") from None
    if other_nights:
        changed.append("the days")
    if changed:
        raise StateError(
            f"state={state.path}: is a backtest with other settings ({', '.join(changed)}); name "
            "another folder, or remove this one"
        )


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the names of the settings that differ."""
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changed(old, new, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name}"


def _write_mark(
    state: StateFolder, trace: Trace, plan: Mapping[str, Any], steps: Sequence[Step]
) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "trace": trace.manifest.name,
        "synthetic": trace.manifest.synthetic,
        "plan": plan,
        "steps": [step.as_dict() for step in steps],
    }
    write_atomically(state.path / MARK, json.dumps(document, indent=1) + "\n")


def _followed(plan: Plan, night: Night, rounds: int, display: Display) -> Step:
    """Return a night with the measurement of the published policy on the next day."""
    try:
        return Step(night, _measure(plan, rounds, display))
    except (BadDayError, NothingToJudgeError, TraceError, MeasuringError) as error:
        return Step(night, None, f"{plan.day}: {error}")


def _measure(plan: Plan, rounds: int, display: Display) -> NextDay:
    config, conflict = plan.config, plan.config.conflict
    conditions = conditions_of(
        plan.trace, plan.day, conflict.window_minutes, conflict.types or None, display.say
    )
    of_day = plan.training_config(conditions.hours)
    try:
        signature = workload_signature(load_engine(), workload_options(of_day.workload))
    except TraceError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from error
    display.say(f"published policy on {plan.day}, {conditions.hours} (UTC)")
    return measure_next_day(
        of_day,
        plan.trace,
        conditions,
        plan.state.served(),
        signature,
        rounds,
        config.held_out,
        display,
    )
