"""`heddle check`: run, record and check trials."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import click
from rich import box
from rich.table import Table

from envs import machine_words
from envs.anomalies import PERMITTED, is_checkable, level_of, missing
from envs.anomalies import as_list as list_of
from envs.host import local_machine, this_host
from envs.shrink import shrink
from envs.trial import Trial, Verdict
from envs.trial_plan import (
    LOCKING,
    REAL_SECONDS,
    REAL_WATCHDOG_S,
    SWITCHING,
    VIRTUAL_SECONDS,
    VIRTUAL_WATCHDOG_S,
    TrialPlan,
    core_schedules,
)
from envs.trial_pool import TrialPool
from traces.result_file import JSON, print_json, with_format
from traces.spelling import visible
from trainer.command.comparing import as_list
from trainer.command.errors import FAILED, INTERRUPTED, UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.machine_warnings import any_takes_turns
from trainer.command.output import make_progress_console, print_table
from trainer.command.settings import compose_settings, parse_overrides, settings_text
from trainer.config import CheckConfig, workload_options
from trainer.progress import make_display
from trainer.run_version import heddle_version
from trainer.shell_words import heddle_command
from trainer.trial_folder import HISTORY_FILE, keep_trial

_WORDS = {
    SWITCHING: "random tables that replace one another",
    LOCKING: "two_phase_locking with random grant policies",
}
"""Descriptions of the names that stand for something random."""

EXPORTS = ("dbcop", "elle_append", "elle_register")
"""The formats of `envs.history_formats`, which are loaded only to write one."""


@dataclass
class Tally:
    """Counts of what was checked so far.

    Attributes:
        trials: number of trials, by policy.
        transactions: transactions that ended and were checked, by policy.
        aborted: aborted attempts, by policy.
        levels: isolation level at which the histories were checked, by policy.
        failed: the first failing trial: its number, the trial and its verdict.
        interrupted: whether Ctrl-C ended the check.
    """

    trials: Counter[str] = field(default_factory=Counter)
    transactions: Counter[str] = field(default_factory=Counter)
    aborted: Counter[str] = field(default_factory=Counter)
    levels: dict[str, str] = field(default_factory=dict)
    failed: tuple[int, Trial, Verdict] | None = None
    interrupted: bool = False

    def add(self, name: str, trial: Trial, verdict: Verdict) -> None:
        """Count a trial."""
        self.levels[name] = trial.isolation
        self.trials[name] += 1
        self.transactions[name] += verdict.transactions
        self.aborted[name] += verdict.aborted


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@click.option(
    "--export",
    type=click.Choice(EXPORTS),
    help="Write the history of history= for another checker.",
)
@with_format
@one_message
def check(settings: tuple[str, ...], show: bool, export: str | None, form: str) -> None:
    r"""Search for histories that are not serializable, hung workers and starving types.

    Each trial runs a protocol, a random table, or random tables that replace one another: on
    virtual cores under several schedules, or on real cores (machine=threads). It records what every
    transaction read and wrote. A checker that is independent of the engine decides whether a
    serial order of the transactions explains the record.

    The exit code is 0, or 1 if a trial fails. A failing trial is shrunk and written to the folder
    output=: replay=FOLDER/trial.json runs it again, identically on virtual cores. If no transaction
    ended, nothing was checked, and the exit code is 1 (2 for history=).

    A policy whose isolation level is weaker permits anomalies. allow= names them, and the check is
    for all others: allow=[write_skew] for snapshot isolation,
    allow=[write_skew,read_skew,lost_update] for read committed.

    --export writes the history of history= to the file output=, for another checker. dbcop: the
    JSON of dbcop verify. elle_register and elle_append: EDN for Elle's rw-register and list-append.
    Ranges and misses are left out, because these formats cannot express them.

    \b
    Examples:
      heddle check
      heddle check workload=tpcc policy=ic3,learned.json random=0 trials=20
      heddle check machine=threads trials=50
      heddle check trials=null budget=3600
      heddle check policy=mvto:isolation=snapshot allow=[write_skew] random=0
      heddle check replay=counterexample/trial.json
      heddle check history=counterexample/history.parquet
      heddle check --export dbcop history=counterexample/history.parquet output=history.json
    """
    overrides = [as_list(as_list(text), "allow") for text in settings]
    if show:
        click.echo(settings_text("check", overrides), nl=False)
        return
    config = compose_settings("check", overrides, CheckConfig)
    typed = frozenset(override.key_or_group for override in parse_overrides(overrides))
    if export is not None:
        _export(config, typed, export, form)
        return
    _refuse_idle_settings(config, typed)
    if form == JSON and (config.history is not None or config.replay is not None):
        raise UsageError("--format json: has no effect with history= or replay=; leave it out")
    try:
        isolation = level_of(config.allow)
    except ValueError as error:
        raise UsageError(f"allow={error}") from None
    if config.history is not None:
        _check_file(Path(config.history), isolation)
        return
    if config.replay is not None:
        _replay(Path(config.replay))
        return
    _run_trials(config, _plan(config, typed), form)


def _export(config: CheckConfig, typed: Collection[str], name: str, form: str) -> None:
    """Refuse settings without effect, then export the history."""
    if config.history is None:
        raise UsageError("--export: history= names no file; set it: history=history.parquet")
    if "output" not in typed:
        raise UsageError("--export: output= names no file; set it: output=history.json")
    if idle := sorted(set(typed) - {"history", "output"}):
        raise UsageError(f"{idle[0]}=: has no effect with --export; leave it out")
    if form == JSON:
        raise UsageError("--format json: has no effect with --export; leave it out")
    from trainer.command.history import export_history  # loads Arrow

    export_history(Path(config.history), name, Path(config.output))


def _check_file(path: Path, isolation: str) -> None:
    from trainer.command.recorded import checked_history  # loads Arrow

    _, report = checked_history(path, "history=", isolation)
    click.echo(_counts(report["transactions"], report["aborted"], 1))
    _print_findings([anomaly["text"] for anomaly in report["anomalies"]])
    if report["anomalies"]:
        raise SystemExit(FAILED)
    click.echo(isolation)


def _replay(path: Path) -> None:
    trial = _load_trial(path)
    try:
        with TrialPool(1) as pool:
            verdict = pool.run_one(trial)
    except ValueError as error:
        raise UsageError(f"replay={path}: {error}") from None
    click.echo(_counts(verdict.transactions, verdict.aborted, 1))
    if verdict.findings:
        _print_findings(verdict.findings)
        raise SystemExit(FAILED)
    if not verdict.transactions:
        _fail_unchecked(f"replay={path}: no transaction ended")
    click.echo("no failures found")


def _fail_unchecked(why: str) -> NoReturn:
    click.echo(f"error: nothing was checked: {why}", err=True)
    raise SystemExit(FAILED)


def _unchecked_reason(tally: Tally) -> str | None:
    """Return why the trials checked nothing, and the cure; None if they checked something."""
    trials = sum(tally.trials.values())
    if not trials:
        return "no trial began within budget=; raise budget="
    if not sum(tally.transactions.values()):
        return f"no transaction ended in {trials:,} trials; raise seconds="
    return None


def _load_trial(path: Path) -> Trial:
    try:
        return Trial.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"replay={path}: can't be read: {error.strerror}") from None
    except ValueError as error:  # also what is no UTF-8
        raise UsageError(f"replay={path}: {error}") from None


def _refuse_idle_settings(config: CheckConfig, typed: Collection[str]) -> None:
    """Refuse settings that have no effect on the check of a file."""
    chosen = [key for key in ("replay", "history") if getattr(config, key) is not None]
    with_effect = {*chosen[:1], *(["allow"] if chosen == ["history"] else [])}
    if chosen and (idle := sorted(set(typed) - with_effect)):
        raise UsageError(
            f"{idle[0]}=: has no effect with {chosen[0]}=, whose file has all settings; "
            "leave it out"
        )


def _plan(config: CheckConfig, typed: Collection[str]) -> TrialPlan:
    """Check the settings and return the plan from which trials are drawn.

    Args:
        config: the settings.
        typed: the settings that the user gave, which are the same in every trial.
    """
    if {"schedules", "machine.schedule"} <= set(typed):
        raise UsageError("machine.schedule=: contradicts schedules=; give one of them")
    known = core_schedules()
    unknown = [name for name in config.schedules if name not in known]
    if unknown or not config.schedules:
        raise UsageError(f"schedules={config.schedules}: must be some of {', '.join(known)}")
    if config.trials is None and config.budget is None:
        raise UsageError("trials=null: needs budget=, in seconds")
    if not config.policy and config.random == 0:
        raise UsageError("policy=[] random=0: there is nothing to check; set one of them")
    turns = config.random > 0 or any_takes_turns(config.policy)
    evaluator = open_evaluator(config.workload, config.machine, config.seed, takes_turns=turns)
    evaluator.close()
    virtual = config.machine.kind == "virtual"
    plan = TrialPlan(
        workload=workload_options(config.workload),
        machine=config.machine.options(),
        cores=evaluator.cores,
        policies=config.policy,
        random=config.random,
        draw=config.draw,
        schedules=config.schedules,
        seconds=config.seconds or (VIRTUAL_SECONDS if virtual else REAL_SECONDS),
        watchdog_s=VIRTUAL_WATCHDOG_S if virtual else REAL_WATCHDOG_S,
        seed=config.seed,
        fixed=typed,
        allow=config.allow,
    )
    drawn = config.draw and plan.workload["name"] == "generic"
    files = [name for name in config.policy if name.endswith(".json")]
    if drawn and files:
        raise UsageError(
            f"policy={files[0]}: fits one set of transaction types only; add draw=false, or leave "
            "it out"
        )
    for number in range(len(config.policy)):  # find mistakes before the first trial
        subject = plan.trial(number).subject
        if not is_checkable(subject, config.allow):
            raise UsageError(
                f"allow={list_of(config.allow)}: with lost_update the order of a store's versions "
                f"is not known, so {visible(subject.name)} can't be checked; allow [write_skew] at "
                "most"
            )
        if lacking := missing(subject, config.allow):
            raise UsageError(
                f"policy={subject.name}: permits {', '.join(lacking)}; to check that nothing else "
                f"happens, add allow={list_of([*config.allow, *lacking])}"
            )
    return plan


def _run_trials(config: CheckConfig, plan: TrialPlan, form: str) -> None:
    virtual = plan.machine["kind"] == "virtual"
    jobs = config.jobs or (len(os.sched_getaffinity(0)) if virtual else 1)
    end = None if config.budget is None else time.monotonic() + config.budget
    tally = Tally()
    with TrialPool(jobs) as pool:
        try:
            _run(config, plan, pool, tally, end)
        except KeyboardInterrupt:
            tally.interrupted = True
        except ValueError as error:  # a policy that only the engine can refuse
            raise UsageError(f"policy={','.join(config.policy)}: {error}") from None
        try:
            if form == JSON:
                print_json(_document(tally, plan))
            else:
                _report(tally, plan)
        finally:
            # A failing trial is kept also if the output is closed or the terminal is lost.
            if tally.failed is not None:
                _, trial, verdict = tally.failed
                if config.shrink and virtual and not tally.interrupted:
                    trial, verdict = _shrunk(trial, verdict, pool)
                _keep(trial, verdict, Path(config.output), pool, form)
    if tally.failed is not None:
        raise SystemExit(FAILED)
    if tally.interrupted:
        raise SystemExit(INTERRUPTED)
    if (why := _unchecked_reason(tally)) is not None:
        _fail_unchecked(why)


def _report(tally: Tally, plan: TrialPlan) -> None:
    print_table(_table(tally, plan))
    if tally.failed is not None:
        number, trial, _ = tally.failed
        click.echo(f"trial {number} ({trial.subject.name}) found:")
        return
    total = sum(tally.transactions.values())
    click.echo(_counts(total, sum(tally.aborted.values()), sum(tally.trials.values())))
    if not tally.interrupted and _unchecked_reason(tally) is None:
        click.echo("no failures found")
        for name, level in tally.levels.items():
            if permitted := ", ".join(PERMITTED[level]):
                click.echo(f"{visible(name)}: checked for {level}, which permits {permitted}")


def _document(tally: Tally, plan: TrialPlan) -> dict[str, object]:
    """Return the results as JSON values; a failing trial is the original, not the reduced one."""
    failed = None
    if tally.failed is not None:
        number, trial, verdict = tally.failed
        failed = {
            "trial": number,
            "policy": trial.subject.name,
            "findings": list(verdict.findings),
        }
    return {
        "schema_version": 1,
        "heddle_version": heddle_version(),
        "host": this_host().as_dict(),
        "workload": plan.workload,
        "machine": plan.machine,
        "cores": plan.cores,
        "policies": [
            {
                "policy": name,
                "trials": trials,
                "transactions": tally.transactions[name],
                "aborts": tally.aborted[name],
                "isolation": tally.levels[name],
            }
            for name, trials in tally.trials.items()
        ],
        "failed": failed,
        "interrupted": tally.interrupted,
    }


def _run(
    config: CheckConfig, plan: TrialPlan, pool: TrialPool, tally: Tally, end: float | None
) -> None:
    """Run trials until one fails, or the number or the budget is reached."""

    def upcoming() -> Iterator[tuple[int, Trial]]:
        numbers = itertools.count() if config.trials is None else range(config.trials)
        for number in numbers:
            if tally.failed is not None or (end is not None and time.monotonic() >= end):
                return
            yield number, plan.trial(number)

    with make_display(make_progress_console()) as display:
        display.begin("trials", None if config.trials is None else float(config.trials))
        for number, trial, verdict in pool.run(upcoming()):
            tally.add(plan.name(number), trial, verdict)
            done = sum(tally.trials.values())
            display.update(done, f"{sum(tally.transactions.values()):,} transactions")
            if verdict.findings and tally.failed is None:
                tally.failed = (number, trial, verdict)


def _shrunk(trial: Trial, verdict: Verdict, pool: TrialPool) -> tuple[Trial, Verdict]:
    """Return the smallest failing trial found, and its verdict; Ctrl-C ends the reduction."""
    found = [(trial, verdict)]

    def fails(smaller: Trial) -> bool:
        seen = pool.run_one(smaller)
        if seen.findings:
            found.append((smaller, seen))
        return bool(seen.findings)

    with suppress(KeyboardInterrupt), make_display(make_progress_console()) as display:
        display.begin("reduce the failing trial", None)
        shrink(trial, fails)
    return found[-1]


def _keep(trial: Trial, verdict: Verdict, folder: Path, pool: TrialPool, form: str) -> None:
    """Write the trial and print its files; with JSON on standard error."""
    err = form == JSON
    try:
        kept = keep_trial(trial, verdict, folder, pool)
    finally:
        if not err:
            _print_findings(verdict.findings)
    words = machine_words(local_machine(trial.machine["kind"], trial.cores))
    click.echo(f"trial: {kept} ({trial.subject.name}, {words})", err=err)
    if (folder / HISTORY_FILE).exists():
        click.echo(f"history: {folder / HISTORY_FILE}", err=err)
    click.echo(f"run it again: {heddle_command('check', f'replay={kept}')}", err=err)


def _print_findings(findings: Sequence[str]) -> None:
    for finding in findings:
        click.echo(finding.rstrip("\n") + "\n")


def _counts(transactions: int, aborted: int, trials: int) -> str:
    words = "trial" if trials == 1 else "trials"
    return f"{transactions:,} transactions checked, {aborted:,} aborts, {trials:,} {words}"


def _table(tally: Tally, plan: TrialPlan) -> Table:
    where = machine_words(local_machine(plan.machine["kind"], plan.cores))
    options = plan.workload.items()
    fixed = ", ".join(f"{key} {value}" for key, value in options if f"workload.{key}" in plan.fixed)
    workload = f"{plan.workload['name']}{f' ({fixed})' if fixed else ''}"
    table = Table(
        title=f"{workload}, up to {where}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("policy", no_wrap=True)
    for name in ("trials", "transactions", "aborts", "found"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, trials in tally.trials.items():
        failed = tally.failed is not None and plan.name(tally.failed[0]) == name
        table.add_row(
            _WORDS.get(name, name),
            f"{trials:,}",
            f"{tally.transactions[name]:,}",
            f"{tally.aborted[name]:,}",
            str(len(tally.failed[2].findings)) if failed and tally.failed is not None else "–",
        )
    return table
