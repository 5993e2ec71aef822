"""The nights of days that are known by now, each followed by its next day.

Every night is one of `heddle nightly`, which looks at nothing that came after its day; what it
leaves is measured on the day that came then. Measurements are saved: a killed backtest resumes.
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

MARK = "backtest.json"
"""In the folder: which days, and what they came to. Its absence tells a folder of real nights."""

SCHEMA_VERSION = 1


def nights_of(trace: Trace, days: int) -> list[date]:
    """The days whose nights are had: those before the trace's last ones.

    Raises:
        BadDayError: the trace has too few.
    """
    if len(trace.days) < days + 1:
        raise BadDayError(
            f"{trace.folder}: has {len(trace.days)} days; {days} nights and the day after each "
            f"take {days + 1}: --days {max(1, len(trace.days) - 1)}"
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
    """Have every night, and measure what it leaves on the next day.

    The caller holds the state's folder.

    Args:
        config: the settings of the nights.
        state: a folder of its own.
        trace: whose last days they are.
        days: how many nights.
        rounds: comparisons on each next day.
        display: shows.
        versions: of the policies that were named by an alias; kept for the next run.

    Raises:
        KeyboardInterrupt: Ctrl-C; the next run resumes.
        NightError: a setting is wrong, the trace has too few days, the state is damaged, or is of
            another backtest or of real nights.
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
    """Which versions the nights so far had, of the policies named by an alias.

    Raises:
        StateError: the mark can't be read.
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
    """What the outcome depends on, as JSON has it."""
    told = asdict(config) | {"--rounds": rounds}
    for name in ("state", "day", "mlflow", "registered_model", "keep_policies"):
        del told[name]
    return dict(json.loads(json.dumps(told)))


def _refuse_another(state: StateFolder, plan: Mapping[str, Any]) -> None:
    """A backtest publishes as it goes: in no folder but its own."""
    mark = state.path / MARK
    if not mark.exists():
        if state.policy.exists() or any(state.days()):
            raise StateError(
                f"state={state.path}: holds the nights of heddle nightly; a backtest needs a "
                "folder of its own"
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
    """The settings that differ, by name."""
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changed(old, new, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name}"


def _write_mark(
    state: StateFolder, trace: Trace, plan: Mapping[str, Any], steps: Sequence[Step]
) -> None:
    told = {
        "schema_version": SCHEMA_VERSION,
        "trace": trace.manifest.name,
        "synthetic": trace.manifest.synthetic,
        "plan": plan,
        "steps": [step.as_dict() for step in steps],
    }
    write_atomically(state.path / MARK, json.dumps(told, indent=1) + "\n")


def _followed(plan: Plan, night: Night, rounds: int, display: Display) -> Step:
    """The day after a night, with what is served by then."""
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
    display.say(f"what is served on {plan.day}, {conditions.hours} (UTC)")
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
