"""`heddle timeline`: record the events of a run on virtual cores."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from envs import TUNED, is_tuned, machine_words, subject_of, untuned
from envs.result import Machine
from envs.timeline import Timeline
from trainer.checkpoint import write_atomically
from trainer.command.errors import UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.output import refuse_bad_output, refuse_bad_picture
from trainer.command.settings import compose_settings, settings_text
from trainer.config import TimelineConfig
from trainer.timeline.chrome_trace import chrome_trace
from trainer.timeline.picture import Window, draw_window


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def timeline(settings: tuple[str, ...], show: bool) -> None:
    r"""Record a short run on virtual cores: every access, wait, publication, abort and commit.

    output= is a trace for ui.perfetto.dev or chrome://tracing, with one track per core. It shows
    each wait with its state and the transaction that it waits for, and dependencies as arrows.
    picture= is an image of a window of it. The run is bit for bit that of `heddle evaluate` with
    the same settings.

    \b
    Examples:
      heddle timeline policy=ic3 output=trace.json
      heddle timeline policy=runs/RUN/policy.json machine.cores=48 seconds=0.0005
      heddle timeline policy=ic3 picture=window.png from_us=40 until_us=80 draw_cores=[0,1,2]
    """
    if show:
        click.echo(settings_text("timeline", settings), nl=False)
        return
    config = timeline_settings(settings)
    refuse_bad_output(config.output)
    window = _window(config)
    recorded = record(config)
    if config.picture is not None and config.from_us * 1000 >= recorded.end:
        raise UsageError(
            f"from_us={config.from_us:g}: the recording ends at {recorded.end / 1000:.0f} µs; "
            "raise seconds="
        )
    title = f"{Path(recorded.subject).stem} on {machine_words(Machine('virtual', recorded.cores))}"
    document = chrome_trace(recorded, title)
    write_atomically(Path(config.output), json.dumps(document) + "\n")
    click.echo(_words(recorded))
    click.echo(f"trace: {config.output} (open it at https://ui.perfetto.dev)")
    if config.picture is not None:
        draw_window(recorded, window, title, Path(config.picture))
        click.echo(f"picture: {config.picture}")


def timeline_settings(settings: Sequence[str]) -> TimelineConfig:
    """Compose and check the settings.

    Raises:
        UsageError: one of them is wrong.
    """
    config = compose_settings("timeline", settings, TimelineConfig)
    if config.machine.kind != "virtual":
        raise UsageError(
            f"machine={config.machine.kind}: events are recorded on virtual cores only; leave it "
            "out, or set machine.cores"
        )
    if is_tuned(config.policy):
        raise UsageError(f"policy={TUNED}: needs a sweep of its backoff; record silo instead")
    return config


def _window(config: TimelineConfig) -> Window:
    """Return the part of the timeline to draw, after checking the settings."""
    cores = config.machine.cores or len(os.sched_getaffinity(0))
    drawn = config.draw_cores if config.draw_cores is not None else list(range(min(cores, 8)))
    if config.picture is not None:
        refuse_bad_picture(config.picture, config.output)
    if not drawn or len(set(drawn)) < len(drawn) or not set(drawn) <= set(range(cores)):
        raise UsageError(
            f"draw_cores={drawn}: must be some of the cores 0 to {cores - 1}, each once"
        )
    if not config.from_us < config.until_us:
        raise UsageError(
            f"from_us={config.from_us:g} until_us={config.until_us:g}: the window is empty; raise "
            "until_us="
        )
    return Window(config.from_us, config.until_us, drawn)


def record(config: TimelineConfig) -> Timeline:
    """Record a run with these settings.

    Raises:
        UsageError: there is no such workload or machine.
        UnknownPolicyError, PolicyFileError: the policy can't be found, or is not for the workload.
        MeasuringError: it can't run.
    """
    evaluator = open_evaluator(config.workload, config.machine, config.seed)
    try:
        subject = subject_of(config.policy, evaluator.signature, untuned)
        return evaluator.record(
            subject,
            config.seconds,
            warmup=config.warmup,
            seed=config.seed,
            events=config.events,
        )
    finally:
        evaluator.close()


def _words(recorded: Timeline) -> str:
    ended = [attempt for attempt in recorded.attempts if attempt.outcome is not None]
    aborts = sum(attempt.outcome == "abort" for attempt in ended)
    waits = sum(len(attempt.waits) for attempt in recorded.attempts)
    text = (
        f"{len(ended) - aborts} transactions ended, {aborts} attempts aborted, {waits} waits in "
        f"{recorded.end / 1000:.1f} µs of {recorded.cores} virtual cores"
    )
    if recorded.dropped:
        text += (
            "\nthe recording stopped there, because it reached events=; lower seconds= or raise "
            "events="
        )
    return text
