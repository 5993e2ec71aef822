"""`heddle nightly --backtest`: nightly retraining on past days, measured on each next day."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from traces.errors import TraceError, disk_failed
from traces.reader import Trace, open_trace
from trainer.backtest.page import page_of
from trainer.backtest.picture import plot_days
from trainer.backtest.run import nights_of, run_backtest, saved_versions
from trainer.backtest.step import Step
from trainer.backtest.verdict import Verdict, measured, no_gain_reasons, verdict_of
from trainer.backtest.versions import Versions, hold_versions
from trainer.checkpoint import write_atomically
from trainer.command.errors import BAD_INPUT, FAILED, UsageError, resumed_by
from trainer.command.one_night import check_night
from trainer.command.output import make_progress_console, write_and_show
from trainer.command.settings import compose_settings
from trainer.config import NightlyConfig
from trainer.lock import held
from trainer.mlflow_store import MlflowStore
from trainer.nightly.errors import NightError
from trainer.nightly.state import StateFolder
from trainer.policy_registry import read_from
from trainer.progress import make_display
from trainer.shell_words import heddle_command


def run_past_nights(settings: Sequence[str], days: int, rounds: int) -> None:
    """Retrain on the last days of a trace as `heddle nightly` does, and measure each next day.

    Args:
        settings: the settings of `heddle nightly`.
        days: the number of nights.
        rounds: comparisons on each next day, each on a schedule of its own.

    Raises:
        UsageError: a setting is wrong, or the trace has too few days.
        SystemExit: the backtest was interrupted, or no day could be measured.
    """
    config = compose_settings("nightly", settings, NightlyConfig)
    if config.state is None:
        raise UsageError("state= names no folder; set it, such as state=backtest")
    if config.day is not None:
        raise UsageError(
            f"day={config.day}: a backtest uses the trace's last days; set --days instead"
        )
    check_night(config)
    config.machine.cores = config.machine.cores or len(os.sched_getaffinity(0))
    typed = [*settings, "--days", days, "--rounds", rounds]
    try:
        with resumed_by(heddle_command("nightly", "--backtest", *typed)):
            verdict = _run_nights(config, StateFolder(Path(config.state)), days, rounds)
    except (NightError, TraceError) as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(FAILED if disk_failed(error) else BAD_INPUT) from None
    if verdict is None:
        raise SystemExit(FAILED)


PAGE = "backtest.md"
PICTURE = "backtest.png"


def _run_nights(
    config: NightlyConfig, state: StateFolder, days: int, rounds: int
) -> Verdict | None:
    if config.trace is None:
        raise UsageError("trace= names no folder; create a trace with heddle trace import")
    trace = open_trace(Path(config.trace))
    nights_of(trace, days)
    versions: Versions = {}
    if config.mlflow.uri is not None:  # a new store in the folder has no policies
        reader = read_from(MlflowStore(config.mlflow.uri, state.path))
        versions = hold_versions(config, saved_versions(state), reader.by_version)
    state.make()
    with held(state.path):
        with make_display(make_progress_console()) as display:
            for name, version in versions.items():
                display.say(f"{name}: {version} in all nights")
            steps = run_backtest(config, state, trace, days, rounds, display, versions)
        verdict = verdict_of(steps)
        write_and_show(lambda: _write(config, state, trace, steps), lambda: _show(verdict, steps))
    return verdict


def _show(verdict: Verdict | None, steps: list[Step]) -> None:
    for line in (
        [verdict.line, *no_gain_reasons(steps)] if verdict else [step.reason for step in steps]
    ):
        click.echo(line)


def _write(config: NightlyConfig, state: StateFolder, trace: Trace, steps: list[Step]) -> list[str]:
    """Write the page and its picture; return the line that names them."""
    write_atomically(state.path / PAGE, page_of(steps, config.held_out.confidence))
    if found := measured(steps):
        plot_days(found, trace.manifest.synthetic, state.path / PICTURE)
    return [f"{state.path / PAGE}"]
