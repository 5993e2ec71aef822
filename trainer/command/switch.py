"""`heddle evaluate --switch`: switch policies while transactions run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import click
from rich import box
from rich.table import Table

from envs import (
    TUNED,
    Evaluator,
    Interrupted,
    Result,
    Subject,
    machine_words,
    subject_of,
    untuned,
)
from envs.host import this_host
from envs.hot_switch import FEWEST_INTERVALS, HotSwitch, Unjudged, judge_switches, split
from policies.protocol import TABLE
from policies.schedule import FIFO
from traces.result_file import JSON, print_json
from trainer.checkpoint import write_atomically
from trainer.command.comparing import as_list
from trainer.command.errors import INTERRUPTED, UsageError
from trainer.command.evaluator import open_evaluator
from trainer.command.output import (
    print_table,
    refuse_bad_output,
    refuse_bad_picture,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text
from trainer.config import SwitchConfig, workload_options
from trainer.run_version import heddle_version
from trainer.switch_plot import plot_switch

REAL_SECONDS, REAL_WARMUP = 12.0, 1.0
VIRTUAL_SECONDS, VIRTUAL_WARMUP = 0.12, 0.02


def evaluate_switch(settings: Sequence[str], show: bool, form: str) -> None:
    """Switch between policy tables during a run; report throughput by interval.

    Args:
        settings: overrides; `policy` lists the tables in order, `at` the times of the switches.
        show: whether to print all settings instead.
        form: how results are printed, `table` or `json`.

    Raises:
        UsageError: a setting is wrong.
        SystemExit: it was interrupted.
    """
    overrides = [_listed(text) for text in settings]
    if show:
        click.echo(settings_text("switch", overrides), nl=False)
        return
    config = _complete(compose_settings("switch", overrides, SwitchConfig))
    refuse_bad_output(config.output)
    refuse_bad_picture(config.picture, config.output)
    times = _times(config)
    measured = _measure(config, times)
    if not measured.result.intervals:
        raise KeyboardInterrupt
    title = f"{_workload_words(config)}, {machine_words(measured.result.machine)}"

    def show_results() -> None:
        if form == JSON:
            print_json(_document(config, measured))
        else:
            _show(measured, title)

    write_and_show(lambda: _write(config, measured, title), show_results, as_json=form == JSON)
    if measured.interrupted:
        click.echo("interrupted", err=True)
        raise SystemExit(INTERRUPTED)


def _write(config: SwitchConfig, measured: _Measured, title: str) -> list[str]:
    """Write the files that the settings name; return the lines that name them."""
    written = []
    if config.output is not None:
        document = json.dumps(_document(config, measured), indent=1)
        write_atomically(Path(config.output), document + "\n")
        written.append(f"results: {config.output}")
    if config.picture is not None:
        plot_switch(measured.result, config.policy, title, Path(config.picture))
        written.append(f"picture: {config.picture}")
    return written


def _show(measured: _Measured, title: str) -> None:
    print_table(_table(measured, title))
    for switch in measured.switches:
        click.echo(switch.words())


@dataclass(frozen=True)
class _Measured:
    """The result of the run, with its policies in order."""

    result: Result
    policies: list[str]
    interrupted: bool = False

    @property
    def switches(self) -> list[HotSwitch | Unjudged]:
        return judge_switches(self.result, self.policies[0], self.policies[1:])


def _listed(text: str) -> str:
    return text if text == "at=null" else as_list(as_list(text), "at")


def _complete(config: SwitchConfig) -> SwitchConfig:
    """Return the settings with null replaced by the values for the machine."""
    virtual = config.machine.kind == "virtual"
    seconds, warmup = config.seconds, config.warmup
    if seconds is None:
        seconds = VIRTUAL_SECONDS if virtual else REAL_SECONDS
    if warmup is None:
        warmup = VIRTUAL_WARMUP if virtual else REAL_WARMUP
    return replace(config, seconds=seconds, warmup=warmup)


def _divides(intervals: int, seconds: float) -> bool:
    """Return whether the intervals are whole numbers of microseconds."""
    length_us = seconds * 1e6 / intervals
    return abs(length_us - round(length_us)) <= 1e-6 and round(length_us) > 0


def _cure(intervals: int, seconds: float, policies: int) -> str:
    """Return which number of intervals to set; another window if no number fits."""
    least = FEWEST_INTERVALS * policies
    fit = [n for n in range(least, 2 * max(intervals, least)) if _divides(n, seconds)]
    if not fit:
        return "set another seconds="
    return f"try intervals={min(fit, key=lambda n: abs(n - intervals))}"


def _times(config: SwitchConfig) -> list[float]:
    """Return the times of the switches, after checking them.

    Raises:
        UsageError: there is one policy, the times do not fit the policies or the window, or a
            policy has too few intervals.
    """
    seconds = config.seconds or 0.0
    count = len(config.policy)
    if count < 2:
        raise UsageError("policy= names fewer than two policies; set it, such as policy=occ,ic3")
    if not _divides(config.intervals, seconds):
        raise UsageError(
            f"seconds={seconds:g}, intervals={config.intervals}: the intervals would not be whole "
            "microseconds; "
            f"{_cure(config.intervals, seconds, count)}"
        )
    if config.at is None:
        if config.intervals < FEWEST_INTERVALS * count:
            raise UsageError(
                f"intervals={config.intervals}: each of {count} policies must run for at least "
                f"{FEWEST_INTERVALS}; {_cure(config.intervals, seconds, count)}"
            )
        # At the border between two intervals, so that each interval has one policy.
        borders = [round(config.intervals * part / count) for part in range(1, count)]
        times = [seconds * border / config.intervals for border in borders]
    else:
        times = config.at
    typed = f"at={','.join(f'{time:g}' for time in times)}"
    if len(times) != count - 1:
        raise UsageError(
            f"{typed}: {count} policies need {count - 1} time{'s' if count > 2 else ''}, not "
            f"{len(times)}"
        )
    least = FEWEST_INTERVALS * seconds / config.intervals
    for earlier, later in pairwise([0.0, *times, seconds]):
        # Half a microsecond is for rounding.
        if not later - earlier >= least - 5e-7:
            raise UsageError(
                f"{typed}: each policy must run for at least {FEWEST_INTERVALS} intervals of the "
                f"window, {least:g} of {seconds:g} s; from {earlier:g} to {later:g} is less"
            )
    return times


def _measure(config: SwitchConfig, times: list[float]) -> _Measured:
    with closing(open_evaluator(config.workload, config.machine, config.seed)) as evaluator:
        first, *others = [_table_named(name, evaluator) for name in config.policy]
        _refuse_other_schedules(first, others)
        try:
            result = evaluator.run_switching(
                first,
                list(zip(times, others, strict=True)),
                config.seconds or 0.0,
                warmup=config.warmup or 0.0,
                seed=config.seed,
                intervals=config.intervals,
            )
        except Interrupted as stop:
            if stop.result is None:
                raise
            return _Measured(stop.result, config.policy, interrupted=True)
    return _Measured(result, config.policy)


def _table_named(name: str, evaluator: Evaluator) -> Subject:
    """Return the policy table of a name.

    Raises:
        UsageError: the name is that of a protocol of the engine.
    """
    if name != TUNED:
        subject = subject_of(name, evaluator.signature, untuned)
        if subject.protocol == TABLE:
            return subject
        if subject.policy is not None:
            raise UsageError(
                f"policy={name}: runs under protocol {subject.protocol}, and a run can only switch "
                "between policy tables"
            )
    raise UsageError(
        f"policy={name}: is a protocol of the engine, and a run can only switch between policy "
        "tables; occ is the table that is equivalent to silo"
    )


def _refuse_other_schedules(first: Subject, others: Sequence[Subject]) -> None:
    """Refuse a change of the schedule: the engine switches only the table during a run.

    Raises:
        UsageError: a policy has another schedule than the first.
    """
    for other in others:
        if _schedule_of(other) != _schedule_of(first):
            raise UsageError(
                f"policy={other.name}: has another schedule than {first.name}, and a run can't "
                "switch its schedule; append the same to all policies, such as +fifo or +smf"
            )


def _schedule_of(subject: Subject) -> dict[str, str]:
    return {} if subject.schedule.get("policy", FIFO) == FIFO else subject.schedule


def _table(measured: _Measured, title: str) -> Table:
    """Return a table with a row per interval."""
    result = measured.result
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for heading in ("from, s", "K/s", *result.types, "aborts"):
        table.add_column(heading, justify="right", no_wrap=True)
    # Two digits of an interval's length suffice to distinguish the starts of two intervals.
    decimals = max(0, 1 - math.floor(math.log10(result.intervals[0].seconds)))
    stretches = split(result.intervals, [switch.at_s for switch in result.switches])
    for name, stretch in zip(measured.policies, stretches, strict=False):
        for at, interval in enumerate(stretch):
            aborts, commits = sum(interval.aborts.values()), sum(interval.commits.values())
            attempts = aborts + commits
            table.add_row(
                Path(name).stem if at == 0 else "",
                f"{interval.start_s:.{decimals}f}",
                f"{interval.throughput / 1000:,.1f}",
                *(
                    f"{interval.commits[kind] / interval.seconds / 1000:,.1f}"
                    for kind in result.types
                ),
                f"{aborts / attempts:.1%}" if attempts else "–",
            )
        table.add_section()
    return table


def _document(config: SwitchConfig, measured: _Measured) -> dict[str, object]:
    return {
        "schema_version": 1,
        "heddle_version": heddle_version(),
        "host": this_host().as_dict(),
        "policies": config.policy,
        "switches": [
            switch.as_dict() for switch in measured.switches if isinstance(switch, HotSwitch)
        ],
        "interrupted": measured.interrupted,
        "result": measured.result.as_dict(),
    }


def _workload_words(config: SwitchConfig) -> str:
    options = workload_options(config.workload)
    name = options.pop("name", "workload")
    return f"{name} ({', '.join(f'{key} {value}' for key, value in options.items())})"
