"""`heddle transfer`: policies on workloads and cores that they were not trained for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Subject,
    UnknownPolicyError,
    is_tuned,
    machine_words,
    scheduled,
    subject_of,
    untuned,
    with_backoff,
)
from envs.host import this_host
from envs.transfer import Column, Place, Transfer
from envs.transfer_table import transfer_table
from policies import PolicyFileError
from traces.result_file import JSON, print_json, with_format
from trainer.checkpoint import write_atomically
from trainer.command.combinations import Combination, combinations, with_swept
from trainer.command.errors import FAILED, INTERRUPTED, UsageError, one_message
from trainer.command.evaluate import as_list, schedule_options
from trainer.command.evaluator import open_evaluator
from trainer.command.output import (
    make_output_folder,
    make_progress_console,
    print_table,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text
from trainer.config import TransferConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.progress import Display, make_display
from trainer.run_version import heddle_version
from trainer.transfer_plot import plot_transfer


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE[,VALUE]...]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and leave.")
@with_format
@one_message
def transfer(settings: tuple[str, ...], show: bool, form: str) -> None:
    r"""Measure each policy in each place: how good is a table where it was not trained?

    Settings of workload, machine, schedule and case may have several values; each combination of
    them is a column, measured by interleaved repeats as in heddle evaluate. A cell says how a
    policy compares with the reference there, and with the best there. Ctrl-C keeps what was
    measured.

    \b
    Examples:
      heddle transfer policy=one.json,four.json machine=virtual workload.warehouses=1,2,4,8,16,48
      heddle transfer policy=one.json,ic3 machine=virtual machine.cores=4,16,48 output=transfer
      heddle transfer policy=silo,learned.json workload=ycsb workload.theta=0.5,0.9,0.99
      heddle transfer experiment=smf_applications machine.cores=48
    """
    found = combinations(with_swept("transfer", [as_list(text) for text in settings]))
    if show:
        click.echo(settings_text("transfer", found[0].overrides), nl=False)
        return
    configs = [compose_settings("transfer", one.overrides, TransferConfig) for one in found]
    config = configs[0]
    if not config.policy:
        raise UsageError("policy= names no policy; such as policy=silo,learned.json")
    folder = make_output_folder(config.output, "transfer.json")
    booths = [_open(one, each) for one, each in zip(found, configs, strict=True)]
    transfer = _measure(config, booths)
    title = _title([booth.place for booth in booths])
    if transfer.measured:
        document = transfer.as_dict(
            seed=config.seed, version=heddle_version(), host=this_host().as_dict()
        )
        write_and_show(
            lambda: [] if folder is None else _write(transfer, document, title, folder),
            lambda: (
                print_json(document)
                if form == JSON
                else print_table(transfer_table(transfer, title))
            ),
            as_json=form == JSON,
        )
    for problem in transfer.failures:
        click.echo(f"could not be measured: {problem}", err=True)
    for violation in transfer.violations:
        click.echo(f"consistency violated: {violation}", err=True)
    if transfer.interrupted:
        raise SystemExit(INTERRUPTED)
    if transfer.failures or transfer.violations:
        raise SystemExit(FAILED)


@dataclass(frozen=True)
class _Booth:
    """A place, what measures there, and what is measured.

    Subjects are read once, before anything is measured: in a column hours later a file may be gone,
    or be another table.
    """

    place: Place
    evaluator: Evaluator
    config: TransferConfig
    subjects: Sequence[Subject]

    def compare(self, display: Display, number: str) -> Comparison:
        """Tune the reference if need be, and measure all that takes part.

        Raises:
            MeasuringError: a policy can't run here.
        """
        config, run_round = self.config, self.evaluator.run_round
        with closing(self.evaluator):
            display.say(f"{number}: {self.place.label}")
            subjects = self.subjects
            if any(is_tuned(subject.name) for subject in subjects):
                tuned = tune_silo(run_round, config.tuning, config.seed, display)
                subjects = with_backoff(subjects, tuned)
            plan = ComparisonPlan(config.run.seconds, config.run.repeats, config.run.warmup)
            return compare_shown(
                run_round, subjects, plan, config.seed, display, f"{number} compare"
            )


def _open(combination: Combination, config: TransferConfig) -> _Booth:
    """Everything that can be wrong with a place is found before anything is measured.

    Raises:
        UsageError: a policy does not fit its workload, or there is no such workload or machine.
    """
    evaluator = open_evaluator(config.workload, config.machine, config.seed)
    workload = workload_options(config.workload)
    label = combination.label or workload["name"]
    try:
        _refuse_unknown_reference(config.reference, evaluator)
        schedule = schedule_options(config.schedule, evaluator.signature)
        subjects = [
            # The column says how transactions are scheduled; a row is called as it was typed.
            replace(scheduled(subject, schedule), name=subject.name)
            for subject in _named(config, evaluator)
        ]
    except PolicyFileError as error:
        raise UsageError(f"{label}: {error}") from error
    machine = config.machine.options()
    place = Place(label, workload, machine, evaluator.cores, schedule)
    return _Booth(place, evaluator, config, subjects)


def _named(config: TransferConfig, evaluator: Evaluator) -> list[Subject]:
    """The reference and the policies, each once."""
    names = dict.fromkeys([config.reference, *config.policy])
    return [subject_of(name, evaluator.signature, untuned) for name in names]


def _refuse_unknown_reference(name: str, evaluator: Evaluator) -> None:
    try:
        subject_of(name, evaluator.signature, untuned)
    except UnknownPolicyError as error:
        there_are = str(error).splitlines()[-1]
        raise UsageError(f"reference={name}: no such policy\n{there_are}") from error


def _measure(config: TransferConfig, booths: list[_Booth]) -> Transfer:
    columns: list[Column] = []
    interrupted = False
    with make_display(make_progress_console()) as display:
        try:
            for column in _columns(booths, display):
                interrupted = column.comparison.interrupted
                if column.comparison.rows or column.failure:
                    columns.append(column)
                if interrupted:
                    break
        except KeyboardInterrupt:
            interrupted = True
    names = list(dict.fromkeys(config.policy))
    return Transfer(names, config.reference, columns, interrupted)


def _columns(booths: list[_Booth], display: Display) -> Iterator[Column]:
    """The columns, as they are measured; one that fails costs none of the others."""
    for at, booth in enumerate(booths, start=1):
        try:
            comparison = booth.compare(display, f"{at}/{len(booths)}")
            yield Column(booth.place, booth.config.reference, comparison)
        except MeasuringError as error:
            yield Column(booth.place, booth.config.reference, Comparison([]), str(error))


def _title(places: Sequence[Place]) -> str:
    """What the columns have in common."""
    first, *others = places
    common = {
        key: value
        for key, value in first.workload.items()
        if all(place.workload.get(key) == value for place in others)
    }
    name = common.pop("name", None)
    options = ", ".join(f"{key} {value}" for key, value in common.items())
    what = "several workloads" if name is None else f"{name} ({options})" if options else name
    kinds = {"virtual" if one.machine["kind"] == "virtual" else "real" for one in places}
    kind = " and ".join(sorted(kinds))
    cores = {place.cores for place in places}
    if len(cores) > 1 or (len(kinds) > 1 and any(place.host.crowded for place in places)):
        return f"{what}, {kind} cores"
    if len(kinds) > 1:
        return f"{what}, {first.cores} {kind} cores"
    return f"{what}, {machine_words(first.host)}"


def _write(found: Transfer, document: Mapping[str, Any], title: str, folder: Path) -> list[str]:
    write_atomically(folder / "transfer.json", json.dumps(document, indent=1) + "\n")
    plot_transfer(found, title, folder / "transfer.png")
    return [f"results: {folder / 'transfer.json'}", f"picture: {folder / 'transfer.png'}"]
