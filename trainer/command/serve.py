"""`heddle serve`: run a workload under the published policy."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import click

from envs import (
    TUNED,
    Evaluator,
    Event,
    PolicyWatcher,
    Refused,
    Reloaded,
    Report,
    Subject,
    Switched,
    is_tuned,
    machine_words,
    subject_of,
    untuned,
)
from envs import serve as run_on
from policies.errors import cut, shown, write_failure_reason
from trainer.checkpoint import WritingError
from trainer.command.errors import UsageError, one_message, resumed_by
from trainer.command.evaluator import open_evaluator
from trainer.command.machine_warnings import any_takes_turns
from trainer.command.settings import compose_settings, settings_text
from trainer.config import ServeConfig, workload_options
from trainer.nightly.state import StateFolder
from trainer.shell_words import heddle_command

DIGEST_SHOWN = 12
"""Digits of a policy's digest in messages."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def serve(settings: tuple[str, ...], show: bool) -> None:
    r"""Run a workload under a policy file; switch when the file is replaced.

    policy= is a policy file, or the folder state= of `heddle nightly`. The workload runs on real
    cores. An invalid file is refused, and the current policy stays. Until there is a policy,
    fallback= runs.

    \b
    Exit codes: 0 after seconds= or SIGTERM; 1 a run failed; 2 a setting is wrong;
    130 after Ctrl-C or SIGHUP.

    \b
    Examples:
      heddle serve workload=replay workload.trace=shop policy=served
      heddle serve workload.warehouses=2 machine.cores=2 policy=served/policy.json
      heddle serve policy=new.json fallback=ic3 report_seconds=60 seconds=3600
    """
    if show:
        click.echo(settings_text("serve", settings), nl=False)
        return
    config = compose_settings("serve", settings, ServeConfig)
    path = _published_file(config)
    again = heddle_command("serve", *settings)
    with resumed_by(again, "serve again with"), _ended_by_signals():
        turns = any_takes_turns([str(path) if path.exists() else config.fallback])
        evaluator = open_evaluator(
            config.workload, config.machine, config.seed, config.grown_mib_max << 20, turns
        )
        try:
            _serve(config, path, evaluator, _fallback(config, evaluator))
        finally:
            evaluator.close()


def _serve(config: ServeConfig, path: Path, evaluator: Evaluator, fallback: Subject) -> None:
    name = workload_options(config.workload).get("name", "workload")
    where = machine_words(evaluator.place)
    _say(f"{name} on {where}; policy {path}, or {fallback.name} until it exists")

    def show_event(event: Event) -> None:
        served = watcher.served
        with contextlib.suppress(OSError, WritingError):  # the next report fails as well
            _say(_event_words(event, fallback.name if served is None else _name(served.name)))

    watcher = PolicyWatcher(
        path,
        evaluator.signature,
        evaluator,
        show_event,
        interval_s=config.poll_seconds,
    )
    with watcher:
        for report in run_on(
            evaluator,
            watcher,
            fallback,
            seed=config.seed,
            report_seconds=config.report_seconds,
            seconds=config.seconds,
            grown_bytes_max=config.grown_mib_max << 20,
        ):
            _say(_report_words(report))


def _published_file(config: ServeConfig) -> Path:
    """Return the file to follow.

    Raises:
        UsageError: a setting is wrong.
    """
    if config.machine.kind != "threads":
        raise UsageError(
            f"machine={config.machine.kind}: serve needs real cores; leave it out. heddle evaluate "
            "--switch switches policies on virtual cores"
        )
    if config.policy is None:
        raise UsageError("policy= names no file; set it, such as policy=served/policy.json")
    if "\0" in config.policy:
        raise UsageError(f"policy={shown(config.policy)}: is not a path")
    path = Path(config.policy)
    try:
        if path.is_dir():
            return StateFolder(path).policy
        exists = path.exists()
        folder_exists = path.parent.is_dir()
    except OSError as error:
        raise UsageError(
            f"policy={cut(config.policy)}: can't be accessed: {error.strerror}"
        ) from None
    if not exists and path.suffix != ".json":
        raise UsageError(
            f"policy={config.policy}: there is no such file or folder; name an existing one, or a "
            "future file that ends in .json"
        )
    if not folder_exists:
        raise UsageError(f"policy={config.policy}: there is no folder {path.parent}; create it")
    return path


def _fallback(config: ServeConfig, evaluator: Evaluator) -> Subject:
    if is_tuned(config.fallback):
        raise UsageError(f"fallback={TUNED}: needs a sweep of its backoff; use silo instead")
    return subject_of(config.fallback, evaluator.signature, untuned)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End the block at the first signal; SIGTERM ends it without an error.

    A second signal goes to the earlier handler (`Stop`), which ends the process at once. After a
    signal a terminal that is gone is no error.

    Raises:
        KeyboardInterrupt: another signal than SIGTERM arrived.
    """
    asked: list[int] = []
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        handler = before[number]
        if callable(handler):
            handler(number, frame)
        else:
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, end)
    try:
        yield
    except (KeyboardInterrupt, WritingError, BrokenPipeError) as error:
        if asked and asked[0] == signal.SIGTERM:
            with contextlib.suppress(OSError, WritingError):
                _say("ended by SIGTERM")
        elif asked and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        else:
            raise
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)


def _say(text: str) -> None:
    """Print a line with the time, and flush it: standard output may be a log.

    Raises:
        WritingError: it can't be written.
        BrokenPipeError: the reader has closed the pipe; Click ends the command silently.
    """
    # A file's name may contain bytes that are not text.
    printable = text.encode(errors="backslashreplace").decode()
    try:
        click.echo(f"{datetime.now(UTC).isoformat(timespec='seconds')}  {printable}")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WritingError(
            f"standard output: can't be written: {write_failure_reason(error)}"
        ) from error


def _event_words(event: Event, runs: str) -> str:
    match event:
        case Switched(policy):
            return f"switched to {_name(policy.name)} ({policy.digest[:DIGEST_SHOWN]})"
        case Refused(reason):
            return f"refused, {runs} stays: {' '.join(reason.split())}"
        case _:
            return f"missing, {runs} stays: there is no file {event.path}"


def _report_words(report: Report | Reloaded) -> str:
    if isinstance(report, Reloaded):
        return f"the database has grown by {report.grown_bytes >> 20} MiB and is reloaded"
    names = [_name(report.policies[0])]
    if len(report.policies) > 1:
        names.append(_name(report.policies[-1]))
    rates = f"{report.throughput:,.0f} commits/s  {report.abort_rate:.1%} aborts"
    return f"{' → '.join(names)}  {rates}"


def _name(name: str) -> str:
    """Return a policy's name on one line, without unprintable characters."""
    return cut(name) if name.isprintable() else shown(name)
