"""`heddle evaluate` in several places: policies on other workloads and machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from envs import (
    TUNED,
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Subject,
    is_tuned,
    machine_words,
    scheduled,
    subject_of,
    untuned,
    with_backoff,
)
from envs.bounds import measured_names, with_bounds
from envs.host import this_host
from envs.transfer import Column, Place, Transfer
from envs.transfer_table import transfer_table
from policies import PolicyFileError
from traces.result_file import JSON, print_json
from trainer.checkpoint import write_atomically
from trainer.command.combinations import Combination
from trainer.command.comparing import refuse_unknown_reference, schedule_options
from trainer.command.errors import FAILED, INTERRUPTED, UsageError
from trainer.command.evaluator import open_evaluator
from trainer.command.machine_warnings import any_takes_turns
from trainer.command.output import (
    make_output_folder,
    make_progress_console,
    print_table,
    write_and_show,
)
from trainer.command.settings import compose_settings
from trainer.config import EvaluateConfig, ObjectiveConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.progress import Display, make_display
from trainer.repeats import varied
from trainer.run_version import heddle_version
from trainer.transfer_plot import plot_transfer


def evaluate_places(found: Sequence[Combination], form: str) -> None:
    """Measure policies in several places: a column for each combination of the settings' values.

    A cell is a policy's throughput relative to the reference and to the best policy of its column.

    Args:
        found: the combinations.
        form: how results are printed, `table` or `json`.

    Raises:
        UsageError: a setting is wrong.
        SystemExit: Ctrl-C ended it, a place could not be measured, or consistency is violated.
    """
    configs = [compose_settings("evaluate", place.overrides, EvaluateConfig) for place in found]
    config = configs[0]
    if not config.policy:
        raise UsageError("policy= names no policy; set it, such as policy=silo,learned.json")
    if any(each.objective != ObjectiveConfig() for each in configs):
        raise UsageError(
            "objective: several places are compared by throughput; leave it out, or give each "
            "setting one value"
        )
    folder = make_output_folder(config.output, "transfer.json")
    opened = [_open(place, config) for place, config in zip(found, configs, strict=True)]
    transfer = _measure(config, opened)
    title = _title([column.place for column in opened])
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
        click.echo(f"not measured: {problem}", err=True)
    for violation in transfer.violations:
        click.echo(f"consistency violated: {violation}", err=True)
    if transfer.interrupted:
        raise SystemExit(INTERRUPTED)
    if transfer.failures or transfer.violations:
        raise SystemExit(FAILED)


def reference_of(config: EvaluateConfig) -> str:
    """Return the name of the policy that throughput is relative to."""
    return config.reference or TUNED


@dataclass(frozen=True)
class _OpenPlace:
    """A place with its evaluator and the policies to measure there.

    Policies are read once, before anything is measured: their files may change during the hours
    until a later column.
    """

    place: Place
    evaluator: Evaluator
    config: EvaluateConfig
    subjects: Sequence[Subject]

    def compare(self, display: Display, number: str) -> Comparison:
        """Tune the reference if necessary, and measure the policies.

        Raises:
            MeasuringError: a policy can't run here.
        """
        config = self.config
        run_round = varied(
            self.evaluator.run_round, config.workload, config.machine, config.seed, config.seed
        )
        with closing(self.evaluator):
            display.say(f"{number}: {self.place.label}")
            subjects = self.subjects
            if any(is_tuned(subject.name) for subject in subjects):
                tuned = tune_silo(run_round, config.tuning, config.seed, display)
                subjects = with_backoff(subjects, tuned)
            plan = ComparisonPlan(config.run.seconds, config.run.repeats, config.run.warmup)
            compared = compare_shown(
                run_round, subjects, plan, config.seed, display, f"{number} compare"
            )
            return with_bounds(compared, config.policy)


def _open(combination: Combination, config: EvaluateConfig) -> _OpenPlace:
    """Open a place and check its settings, before anything is measured.

    Raises:
        UsageError: a policy does not fit its workload, or there is no such workload or machine.
    """
    turns = any_takes_turns([reference_of(config), *config.policy])
    evaluator = open_evaluator(config.workload, config.machine, config.seed, takes_turns=turns)
    workload = workload_options(config.workload)
    label = combination.label or workload["name"]
    try:
        refuse_unknown_reference(reference_of(config), evaluator)
        schedule = schedule_options(config.schedule, evaluator.signature)
        subjects = [
            # The column has the schedule; a row has the name in policy=.
            replace(scheduled(subject, schedule), name=subject.name)
            for subject in _named(config, evaluator)
        ]
    except PolicyFileError as error:
        raise UsageError(f"{label}: {error}") from error
    machine = config.machine.options()
    place = Place(label, workload, machine, evaluator.cores, schedule)
    return _OpenPlace(place, evaluator, config, subjects)


def _named(config: EvaluateConfig, evaluator: Evaluator) -> list[Subject]:
    """Return the reference and the policies, each once."""
    names = dict.fromkeys([reference_of(config), *measured_names(config.policy)])
    return [subject_of(name, evaluator.signature, untuned) for name in names]


def _measure(config: EvaluateConfig, opened: list[_OpenPlace]) -> Transfer:
    columns: list[Column] = []
    interrupted = False
    with make_display(make_progress_console()) as display:
        try:
            for column in _columns(opened, display):
                interrupted = column.comparison.interrupted
                if column.comparison.rows or column.failure:
                    columns.append(column)
                if interrupted:
                    break
        except KeyboardInterrupt:
            interrupted = True
    names = list(dict.fromkeys(config.policy))
    return Transfer(names, reference_of(config), columns, interrupted)


def _columns(opened: list[_OpenPlace], display: Display) -> Iterator[Column]:
    """Yield the columns as they are measured; a failed one does not affect the others."""
    for at, column in enumerate(opened, start=1):
        try:
            comparison = column.compare(display, f"{at}/{len(opened)}")
            yield Column(column.place, reference_of(column.config), comparison)
        except MeasuringError as error:
            yield Column(column.place, reference_of(column.config), Comparison([]), str(error))


def _title(places: Sequence[Place]) -> str:
    """Return the workload and machine that the columns have in common, in words."""
    first, *others = places
    common = {
        key: value
        for key, value in first.workload.items()
        if all(place.workload.get(key) == value for place in others)
    }
    name = common.pop("name", None)
    options = ", ".join(f"{key} {value}" for key, value in common.items())
    what = "several workloads" if name is None else f"{name} ({options})" if options else name
    kinds = {"virtual" if place.machine["kind"] == "virtual" else "real" for place in places}
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
