"""One night of `heddle nightly`, or a rollback, once the options are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from envs.workload import PART, TRACED
from traces.errors import TraceError, disk_failed
from traces.reader import open_trace
from trainer.backtest.mark import MARK
from trainer.command.errors import BAD_INPUT, FAILED, UsageError
from trainer.command.output import make_progress_console
from trainer.command.settings import compose_settings
from trainer.config import NightlyConfig
from trainer.lock import HeldError, held
from trainer.mlflow_store import MlflowStore
from trainer.nightly.conditions import chosen_day
from trainer.nightly.errors import BadDayError, NightError
from trainer.nightly.held_out import BLOCKS_MIN
from trainer.nightly.night import Plan, run_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.registry import align
from trainer.nightly.rollback import roll_back
from trainer.nightly.state import StateFolder
from trainer.policy_registry import read_from
from trainer.progress import make_display

BAD_DAY = 3
NOTHING_TO_JUDGE = 4
AT_WORK = 5

CODES = {
    Outcome.BAD_DAY: BAD_DAY,
    Outcome.NOTHING_TO_JUDGE: NOTHING_TO_JUDGE,
    Outcome.FAILED: FAILED,
}
"""Exit codes by outcome; 0 for the others."""


def exit_code_of_night(settings: Sequence[str], rollback: bool) -> int:
    """Run the night or roll back; return the exit code."""
    config = compose_settings("nightly", settings, NightlyConfig)
    if config.state is None:
        raise UsageError("state= names no folder; set it, such as state=served")
    state = StateFolder(Path(config.state))
    if rollback:
        _refuse_missing(state)
    try:
        state.make()
        with held(state.path):
            code = _roll_back(config, state) if rollback else _run_one_night(config, state)
    except HeldError as error:
        click.echo(f"error: {error}; this does not stop its night", err=True)
        code = AT_WORK
    except BadDayError as error:
        click.echo(f"error: {error}", err=True)
        code = BAD_DAY
    except (NightError, TraceError) as error:
        click.echo(f"error: {error}", err=True)
        code = FAILED if disk_failed(error) else BAD_INPUT
    return code


def _run_one_night(config: NightlyConfig, state: StateFolder) -> int:
    check_night(config)
    if (state.path / MARK).exists():
        raise UsageError(
            f"state={state.path}: is the folder of a backtest; set another one for heddle nightly"
        )
    config.machine.cores = config.machine.cores or len(os.sched_getaffinity(0))
    if config.trace is None:
        raise UsageError("trace= names no folder; create a trace with heddle trace import")
    trace = open_trace(Path(config.trace))
    read_from(MlflowStore(config.mlflow.uri, state.path))
    plan = Plan(config, state, trace, chosen_day(trace, config.day))
    with make_display(make_progress_console()) as display:
        night = run_night(plan, display)
        _align(config, state, display.say)
    click.echo(night.line)
    return CODES.get(night.outcome, 0)


def _roll_back(config: NightlyConfig, state: StateFolder) -> int:
    done = roll_back(state)
    _align(config, state, lambda said: click.echo(said, err=True))
    click.echo(f"rolled back: {done.why}")
    return 0


def _align(config: NightlyConfig, state: StateFolder, say: Callable[[str], None]) -> None:
    """Point MLflow's alias to the served policy."""
    if config.mlflow.enabled and config.registered_model is not None:
        align(MlflowStore(config.mlflow.uri, state.path), config.registered_model, state, say)


def _refuse_missing(state: StateFolder) -> None:
    if not state.path.is_dir():
        raise UsageError(f"state={state.path}: there is no such folder")


def check_night(config: NightlyConfig) -> None:
    """Check the settings before the night begins.

    Raises:
        UsageError: a setting is wrong.
    """
    if config.workload.get("name") not in TRACED:
        raise UsageError(
            f"workload={config.workload.get('name')}: heddle nightly trains for a trace; set "
            f"workload= to {' or '.join(TRACED)}"
        )
    for key in (*PART, "program"):
        if config.workload.get(key) not in (None, []):
            cure = (
                "the night replays all types; leave it out"
                if key == "exclude"
                else "is set by the night; set trace= and day= instead"
            )
            raise UsageError(f"workload.{key}: {cure}")
    for key in ("minutes", "blocks"):
        value = getattr(config.held_out, key)
        if value < BLOCKS_MIN:
            raise UsageError(f"held_out.{key}={value}: must be at least {BLOCKS_MIN}")
