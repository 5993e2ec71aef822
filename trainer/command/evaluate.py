"""`heddle evaluate`: protocols and policies side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    Subject,
    comparison_table,
    is_tuned,
    machine_words,
    scheduled,
    subject_of,
    with_constant,
)
from envs.engine_interface import load_engine
from policies import Signature
from trainer.checkpoint import write_atomically
from trainer.command.errors import FAILED, INTERRUPTED, UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.output import (
    make_progress_console,
    print_table,
    refuse_bad_output,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text
from trainer.config import EvaluateConfig, ScheduleConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.progress import Display, make_display
from trainer.run_version import heddle_version


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and leave.")
@one_message
def evaluate(settings: tuple[str, ...], show: bool) -> None:
    r"""Measure protocols and policies side by side, in interleaved repeats.

    policy= takes names and paths, separated by commas: silo, silo_tuned, two_phase_locking,
    two_phase_locking_no_wait, mvto, mvschedo, occ, two_phase_locking_star, ic3, random:SEED, a
    table of heddle library list, or the path of a policy file. An admission policy may follow, such
    as silo+smf: fifo, smf, tsdefer or partition; schedule.policy= is that of all others. Ratios are
    taken to the first. Ctrl-C shows what was measured so far.

    \b
    Examples:
      heddle evaluate policy=silo,silo_tuned,occ,ic3
      heddle evaluate policy=silo,runs/RUN/policy.json workload.warehouses=2 run.seconds=5
      heddle evaluate policy=occ,ic3 workload=ycsb workload.theta=0.9 output=result.json
      heddle evaluate policy=silo,silo+smf,silo+tsdefer schedule.window=16
    """
    if show:
        overrides = [as_list(text) for text in settings]
        click.echo(settings_text("evaluate", overrides), nl=False)
        return
    config = evaluate_settings(settings)
    comparison = measure(config)
    title = f"{_workload_words(config)}, {_where(comparison)}"
    write_and_show(lambda: _write(config, comparison), lambda: _show(comparison, title))
    if comparison.interrupted:
        raise SystemExit(INTERRUPTED)
    if comparison.violations:
        raise SystemExit(FAILED)


def _write(config: EvaluateConfig, comparison: Comparison) -> list[str]:
    if config.output is None or not comparison.rows:
        return []
    document = comparison.as_dict(
        workload=workload_options(config.workload),
        seed=config.seed,
        version=heddle_version(),
    )
    write_atomically(Path(config.output), json.dumps(document, indent=1) + "\n")
    return [f"results: {config.output}"]


def _show(comparison: Comparison, title: str) -> None:
    print_table(comparison_table(comparison, title))
    for violation in comparison.violations:
        click.echo(f"consistency violated: {violation}", err=True)


def evaluate_settings(settings: Sequence[str]) -> EvaluateConfig:
    """The settings as typed.

    Raises:
        UsageError: one of them is wrong.
    """
    config = compose_settings("evaluate", [as_list(text) for text in settings], EvaluateConfig)
    if not config.policy:
        raise UsageError("policy= names no policy; such as policy=silo,occ,ic3")
    refuse_bad_output(config.output)
    return config


def as_list(override: str, listed: str = "policy") -> str:
    """`policy=a,b` as Hydra writes a list: here it is several policies of one run, no sweep.

    Args:
        override: as typed.
        listed: the key whose value is a list; another override is left as it is.
    """
    key, equals, value = override.partition("=")
    if key != listed or not equals:
        return override
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    names = [name.strip().strip("'\"") for name in value.split(",")]
    quoted = (f"'{name}'" for name in names if name)
    return f"{listed}=[{','.join(quoted)}]"


def schedule_options(config: ScheduleConfig, signature: Signature) -> dict[str, str]:
    """The settings `schedule.*` as the engine takes them.

    Args:
        config: the settings.
        signature: of the workload.

    Raises:
        UsageError: there is no such policy or type, or a value is out of range.
    """
    if unknown := [name for name in config.unscheduled if name not in signature.type_names]:
        raise UsageError(
            f"schedule.unscheduled=[{','.join(unknown)}]: {signature.workload} has the types "
            f"{', '.join(signature.type_names)}"
        )
    options = config.options()
    try:
        load_engine().check_schedule(options, signature.to_dict())
    except ValueError as error:
        raise UsageError(str(error)) from None
    return options


def measure(config: EvaluateConfig) -> Comparison:
    """Measure the policies side by side, with progress shown.

    Raises:
        UsageError: there is no such workload or machine.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        MeasuringError: one can't run.
    """
    evaluator = open_evaluator(config.workload, config.machine, config.seed)
    try:
        with make_display(make_progress_console()) as display:
            return _compare(config, evaluator, display)
    except KeyboardInterrupt:
        return Comparison([], interrupted=True)
    finally:
        evaluator.close()


def _compare(config: EvaluateConfig, evaluator: Evaluator, display: Display) -> Comparison:
    def tuned_us() -> float:
        return tune_silo(evaluator.run_round, config.tuning, config.seed, display)

    schedule = schedule_options(config.schedule, evaluator.signature)

    # Names first: a mistake in the last of them must not cost a sweep. And once: a file may change.
    named = (subject_of(name, evaluator.signature, lambda: 1.0) for name in config.policy)
    subjects: Sequence[Subject] = [scheduled(subject, schedule) for subject in named]
    if any(is_tuned(subject.name) for subject in subjects):
        subjects = with_constant(subjects, tuned_us())
    plan = ComparisonPlan(config.run.seconds, config.run.repeats, config.run.warmup)
    return compare_shown(evaluator.run_round, subjects, plan, config.seed, display)


def _workload_words(config: EvaluateConfig) -> str:
    options = workload_options(config.workload)
    name = options.pop("name", "workload")
    return f"{name} ({', '.join(f'{key} {value}' for key, value in options.items())})"


def _where(comparison: Comparison) -> str:
    return machine_words(comparison.rows[0].machine) if comparison.rows else "nothing measured"
