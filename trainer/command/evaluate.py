"""`heddle evaluate`: compare protocols and policies."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    Subject,
    TunedBackoff,
    comparison_table,
    is_tuned,
    machine_words,
    scheduled,
    subject_of,
    untuned,
    with_backoff,
)
from envs.baselines import UnknownPolicyError
from envs.bounds import measured_names, with_bounds
from envs.external_sweep import before_tuning, is_tuned_external
from envs.mix import Overdue, Shortfall
from envs.objective import THROUGHPUT, Objective
from policies import from_json
from traces.result_file import JSON, file_text, print_json, with_format
from traces.spelling import visible
from trainer.checkpoint import write_atomically
from trainer.command.combinations import combinations, with_swept
from trainer.command.comparing import as_list, refuse_unknown_reference, schedule_options
from trainer.command.errors import FAILED, INTERRUPTED, NOT_BETTER, UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.judging import is_learned, limited, refuse_too_short, unlimited
from trainer.command.machine_warnings import any_takes_turns
from trainer.command.output import (
    make_progress_console,
    print_table,
    refuse_bad_output,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text
from trainer.config import EvaluateConfig, workload_options
from trainer.evaluation.measure import compare_until, tune_external, tune_silo
from trainer.progress import Display, make_display
from trainer.repeats import varied
from trainer.run_version import heddle_version
from trainer.verdict import (
    Kind,
    Verdict,
    beyond_limits,
    judge,
    left_out_by,
    ratios_judged,
    same_as_known,
)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE[,VALUE]...]...")
@click.option("--switch", is_flag=True, help="Switch between the policies during one run.")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@click.option(
    "--fail-unless-better",
    is_flag=True,
    help=f"Exit with {NOT_BETTER} unless the gain is significant.",
)
@with_format
@one_message
def evaluate(
    settings: tuple[str, ...], switch: bool, show: bool, fail_unless_better: bool, form: str
) -> None:
    r"""Measure protocols and policies side by side, in interleaved repeats.

    policy= takes names and paths, separated by commas: silo, silo_tuned, two_phase_locking,
    two_phase_locking_no_wait, cormcc, cormcc_bound, mvto, mvschedo, aria, external, occ,
    two_phase_locking_star, ic3, tebaldi, random:SEED, a table of heddle policy list, or the path of
    a policy file. Options of two_phase_locking, aria and external may follow, such as
    two_phase_locking:conflict=detect:grant=vats, and groups of tebaldi, such as
    tebaldi:new_order.payment:delivery. An admission policy may follow (fifo, smf, tsdefer or
    partition), such as silo+smf; schedule.policy= sets that of all others.
    Ratios are relative to reference=, by default the first policy. Ctrl-C shows the results so far.

    A policy from a file, the library or a registry gets a verdict against the best of the other
    policies. With verdict.repeats_max=20 repeats continue until it is decided. objective= compares
    by latency instead of throughput, and objective.limits= bounds any metric, as in heddle train.

    Several values of a setting of workload, machine, schedule or case make a matrix: a column for
    each combination. Its cells are relative to reference=, by default silo_tuned, and to the best
    policy of the column.

    --switch runs the first policy and switches to the others at the times at=. It reports
    throughput by interval, dips, and how soon each switch has settled. All policies must be tables
    with the same admission policy.

    output= names a file for the results: CSV if it ends in .csv, else JSON. For a matrix it names a
    folder. --switch also takes picture=.

    \b
    Examples:
      heddle evaluate policy=silo,silo_tuned,occ,ic3
      heddle evaluate policy=silo,runs/RUN/policy.json workload.warehouses=2 run.seconds=5
      heddle evaluate policy=silo,silo+smf,silo+tsdefer schedule.window=16
      heddle evaluate policy=silo,learned.json objective=p99 objective.limits={delivery.p99:2ms}
      heddle evaluate policy=one.json,ic3 machine=virtual machine.cores=4,16,48 output=matrix
      heddle evaluate --switch policy=occ,ic3 machine.cores=2 seconds=24 at=12
    """
    if switch:
        if fail_unless_better:
            raise UsageError("--fail-unless-better: has no effect with --switch; leave it out")
        from trainer.command.switch import evaluate_switch

        evaluate_switch(settings, show, form)
        return
    found = combinations(with_swept("evaluate", [as_list(text) for text in settings]))
    if show:
        click.echo(settings_text("evaluate", found[0].overrides), nl=False)
        return
    if len(found) > 1:
        if fail_unless_better:
            raise UsageError(
                "--fail-unless-better: takes one workload and machine; give each setting one value"
            )
        from trainer.command.transfer import evaluate_places

        evaluate_places(found, form)
        return
    _evaluate_one_place(found[0].overrides, fail_unless_better, form)


def _evaluate_one_place(overrides: Sequence[str], fail_unless_better: bool, form: str) -> None:
    """Measure policies in one place, and judge the learned ones.

    Raises:
        UsageError: a setting is wrong.
        SystemExit: it was interrupted, consistency is violated, or no gain is significant.
    """
    config = evaluate_settings(overrides)
    if fail_unless_better and not any(map(is_learned, config.policy)):
        raise UsageError(
            "--fail-unless-better: policy= names no policy from a file, the library or a registry; "
            "add one, such as policy=silo,runs/RUN/policy.json"
        )
    comparison = measure(config)
    title = f"{_workload_words(config)}, {_where(comparison)}"
    verdicts = _verdicts(config, comparison)
    document = _document(config, comparison, verdicts)

    def show_results() -> None:
        if form == JSON:
            print_json(document)
        else:
            _show(comparison, title, verdicts)

    write_and_show(lambda: _write(config.output, document), show_results, as_json=form == JSON)
    if comparison.interrupted:
        raise SystemExit(INTERRUPTED)
    if comparison.violations:
        raise SystemExit(FAILED)
    better = verdicts and all(verdict.kind is Kind.BETTER for verdict in verdicts.values())
    if fail_unless_better and not better:
        raise SystemExit(NOT_BETTER)


def _verdicts(config: EvaluateConfig, comparison: Comparison) -> dict[str, Verdict]:
    """Return the verdict on each learned policy, compared with the others."""
    learned = {row.subject.name for row in comparison.rows if is_learned(row.subject.name)}
    found = {name: _verdict(config, comparison, name, learned) for name in sorted(learned)}
    return {name: verdict for name, verdict in found.items() if verdict is not None}


def _verdict(
    config: EvaluateConfig, comparison: Comparison, name: str, learned: Container[str]
) -> Verdict | None:
    row = comparison.row(name)
    assert row is not None
    by = comparison.objective
    (ratios,) = ratios_judged(name, [comparison])
    return judge(
        {other: taken for other, taken in ratios.items() if other not in learned},
        config.verdict.confidence,
        analyses=len(_plan(config).analyses),
        same_as=same_as_known(from_json(row.subject.policy)) if row.subject.policy else None,
        left_out=left_out_by(name, [comparison]),
        beyond=beyond_limits(name, [comparison]),
        objective=None if by.is_throughput else by.words,
    )


def _plan(config: EvaluateConfig, objective: Objective = THROUGHPUT) -> ComparisonPlan:
    run, most = config.run, config.verdict.repeats_max
    return ComparisonPlan(run.seconds, run.repeats, run.warmup, most or 0, objective)


def _document(
    config: EvaluateConfig, comparison: Comparison, verdicts: Mapping[str, Verdict]
) -> dict[str, Any]:
    return comparison.as_dict(
        workload=workload_options(config.workload),
        seed=config.seed,
        version=heddle_version(),
        verdicts={name: verdict.as_dict() for name, verdict in verdicts.items()},
    )


def _write(output: str | None, document: Mapping[str, Any]) -> list[str]:
    if output is None or not document["results"]:
        return []
    path = Path(output)
    write_atomically(path, file_text(path, document, list(map(_csv_row, document["results"]))))
    return [f"results: {output}"]


def _csv_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its lists of types as text, because a CSV has no lists."""
    left_out = "; ".join(str(Shortfall(**shortfall)) for shortfall in row["left_out"])
    overdue = "; ".join(str(Overdue(**one)) for one in row["overdue"])
    return {**row, "left_out": left_out, "overdue": overdue}


def _show(comparison: Comparison, title: str, verdicts: Mapping[str, Verdict]) -> None:
    print_table(comparison_table(comparison, title))
    for limit in comparison.objective.limits:
        click.echo(f"limit: {limit.text}")
    for row in comparison.rows:
        name = row.subject.name
        exceeded = beyond_limits(name, [comparison])
        said = name in verdicts and verdicts[name].kind is Kind.BEYOND_LIMITS
        if exceeded is not None and not said:
            click.echo(f"{visible(name)}: beyond the limits: {exceeded}")
        if (level := row.subject.weaker_isolation) is not None:
            click.echo(
                f"{visible(name)}: isolation={level}, so its histories need not be serializable"
            )
    for name, verdict in verdicts.items():
        click.echo(f"{visible(name)}: {verdict.line}")
    for violation in comparison.violations:
        click.echo(f"consistency violated: {violation}", err=True)


def evaluate_settings(settings: Sequence[str]) -> EvaluateConfig:
    """Compose and check the settings.

    Raises:
        UsageError: one of them is wrong.
    """
    config = compose_settings("evaluate", [as_list(text) for text in settings], EvaluateConfig)
    if not config.policy:
        raise UsageError("policy= names no policy; set it, such as policy=silo,occ,ic3")
    refuse_bad_output(config.output)
    return config


def measure(config: EvaluateConfig) -> Comparison:
    """Measure the policies side by side, with progress shown.

    Raises:
        UsageError: there is no such workload or machine.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        MeasuringError: a policy can't run.
    """
    turns = any_takes_turns(config.policy)
    evaluator = open_evaluator(config.workload, config.machine, config.seed, takes_turns=turns)
    try:
        with make_display(make_progress_console()) as display:
            return _compare(config, evaluator, display)
    except KeyboardInterrupt:
        return Comparison([], interrupted=True)
    finally:
        evaluator.close()


def _compare(config: EvaluateConfig, evaluator: Evaluator, display: Display) -> Comparison:
    def tuned() -> TunedBackoff:
        return tune_silo(evaluator.run_round, config.tuning, config.seed, display)

    schedule = schedule_options(config.schedule, evaluator.signature)

    names = measured_names(config.policy)
    if config.reference is not None:
        refuse_unknown_reference(config.reference, evaluator)
        names = list(dict.fromkeys([config.reference, *names]))
    # Read all policies once, before the sweep: a name may be wrong, and a file may change.
    named = (_subject_of(name, evaluator) for name in names)
    subjects: Sequence[Subject] = [scheduled(subject, schedule) for subject in named]
    subjects = [
        tune_external(
            evaluator.run_round, subject, evaluator.cores, config.tuning, config.seed, display
        )
        if is_tuned_external(subject.name)
        else subject
        for subject in subjects
    ]
    if any(is_tuned(subject.name) for subject in subjects):
        subjects = with_backoff(subjects, tuned())

    chosen = config.objective
    objective = unlimited(chosen, evaluator.signature, [subject.name for subject in subjects])

    def decided(comparison: Comparison) -> bool:
        within = limited(chosen, evaluator.signature, comparison)
        found = _verdicts(config, within).values()
        return all(verdict.is_decided(config.verdict.equal_within) for verdict in found)

    run_round = varied(
        evaluator.run_round, config.workload, config.machine, config.seed, config.seed
    )
    refuse_too_short(chosen, subjects[0], run_round, config.run, evaluator.signature)
    comparison = compare_until(
        run_round, subjects, _plan(config, objective), config.seed, display, decided, config.verdict
    )
    return with_bounds(limited(chosen, evaluator.signature, comparison), config.policy)


def _subject_of(name: str, evaluator: Evaluator) -> Subject:
    """Return the subject of a name after `policy=`, with what a sweep finds still missing.

    Raises:
        UnknownPolicyError, PolicyFileError: see `subject_of`.
    """
    if not is_tuned_external(name):
        return subject_of(name, evaluator.signature, untuned)
    try:
        plain = before_tuning(name)
    except ValueError as error:
        raise UnknownPolicyError(str(error)) from None
    return replace(subject_of(plain, evaluator.signature, untuned), name=name)


def _workload_words(config: EvaluateConfig) -> str:
    options = workload_options(config.workload)
    name = options.pop("name", "workload")
    return f"{name} ({', '.join(f'{key} {value}' for key, value in options.items())})"


def _where(comparison: Comparison) -> str:
    return machine_words(comparison.rows[0].machine) if comparison.rows else "nothing measured"
