"""`heddle train`: learn a policy for a workload."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from omegaconf import OmegaConf

from envs import Comparison, comparison_table, machine_words
from envs.engine_interface import load_engine
from envs.errors import MeasuringError
from policies import Signature, load
from trainer.budget import BudgetError, TimeBudget
from trainer.checkpoint import (
    Checkpoint,
    WritingError,
    refuse_other_samples,
    remove_unfinished,
    write_atomically,
)
from trainer.command.errors import FAILED, INTERRUPTED, NOT_BETTER, UsageError, one_message
from trainer.command.forecast import forecast_pacing, forecast_run
from trainer.command.machine_warnings import warn_about_machine
from trainer.command.output import as_text, make_progress_console, print_table
from trainer.command.page import add_page
from trainer.command.saved_settings import with_saved_search
from trainer.command.scenarios import as_trained, common_signature, compose_scenarios
from trainer.command.scenarios_table import scenarios_table
from trainer.command.settings import (
    compose_settings,
    first_of_sweep,
    merge_overrides,
    settings_text,
    value_of,
)
from trainer.command.sweep import forecast_many, refuse_sweep, train_many
from trainer.config import TrainConfig
from trainer.evaluation import BackendError, MachineSpec, Notices, build_backend
from trainer.evaluation.combination import COMBINATIONS
from trainer.front import front_table, write_front
from trainer.lock import held
from trainer.mlflow_store import MlflowStore
from trainer.outcome import Outcome
from trainer.plot import plot_history
from trainer.policy_registry import CHAMPION, Registered, default_store, read_from
from trainer.progress import Display, make_display
from trainer.record import Record
from trainer.record_label import description, label_of, throughputs
from trainer.run import Training
from trainer.run_folder import RunFolder, find_run_folder, new_run_folder
from trainer.run_settings import check_settings, measuring_settings
from trainer.run_version import heddle_version
from trainer.scenario import Scenario
from trainer.search.space import store_of
from trainer.shell_words import heddle_command
from trainer.store_training import with_store_baselines
from trainer.sweep_folder import Sweep
from trainer.verdict import Kind, Verdict


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("-m", "--multirun", is_flag=True, help="Train one run per combination of values.")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@click.option(
    "--fail-unless-better",
    is_flag=True,
    help=f"Exit with {NOT_BETTER} unless the gain is significant.",
)
@click.option("--dry-run", is_flag=True, help="Forecast time and memory, and exit.")
@one_message
def train(
    settings: tuple[str, ...],
    multirun: bool,
    show: bool,
    fail_unless_better: bool,
    dry_run: bool,
) -> None:
    r"""Learn a policy and compare it with the baselines.

    A search proposes policies, and the best of them are measured again side by side. The winner is
    compared with the baselines. A folder under runs_dir holds the policy, the settings, the
    comparison, a picture, and the checkpoint of the last generation. Ctrl-C shows how to resume.

    robust.scenarios= trains one table for several workloads or machines of one signature;
    robust.combine= selects the mean or the worst of their scores.

    \b
    Examples:
      heddle train experiment=quick
      heddle train workload.warehouses=2 machine.cores=2 search.seconds=600
      heddle train workload=ycsb workload.theta=0.9 search.generations=50
      heddle train -m workload.warehouses=1,2,4 seed=1,2,3
      heddle train 'robust.scenarios=[{workload.warehouses:[1,4]}]' robust.combine=worst
      heddle train experiment=quick budget=5min
      heddle train --dry-run workload.warehouses=100
      heddle train resume=RUN
      heddle train -m sweep=SWEEP
    """
    if show:
        first = first_of_sweep(settings) if multirun else settings
        click.echo(settings_text("train", first), nl=False)
        return
    if multirun and dry_run:
        forecast_many(settings)
        return
    if dry_run:
        config, overrides, _ = with_resume(settings)
        for line in forecast_run(*checked(config, overrides)[:2]).lines():
            click.echo(line)
        return
    if multirun:
        if fail_unless_better:
            raise UsageError("--fail-unless-better: takes one run; leave out -m")
        train_many(settings)
        return
    ended = train_once(*with_resume(settings))
    if ended.code:
        raise SystemExit(ended.code)
    if fail_unless_better and not ended.better:
        raise SystemExit(NOT_BETTER)


@dataclass(frozen=True)
class Made:
    """The results of a run.

    Attributes:
        outcome: of the training; None if Ctrl-C ended it.
        lost: the error of a closing file that could not be written, if there is one.
        without_page: whether Ctrl-C came before its page was written.
    """

    outcome: Outcome | None = None
    lost: WritingError | None = None
    without_page: bool = False


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        folder: of the run.
        code: the command's exit code.
        better: whether the learned policy is significantly better than every baseline.
    """

    folder: RunFolder
    code: int
    better: bool


def checked(
    config: TrainConfig, overrides: Sequence[str]
) -> tuple[TrainConfig, list[Scenario], Signature]:
    """Check the settings of a training.

    Args:
        config: all settings.
        overrides: their overrides.

    Returns:
        The settings (of a single scenario, its own), the scenarios and their signature.

    Raises:
        UsageError: a setting is wrong; the message names it.
    """
    scenarios = compose_scenarios(config, overrides)
    config = as_trained(config, scenarios)
    read_from(MlflowStore(config.mlflow.uri, Path(config.runs_dir)))
    try:
        signature = common_signature(scenarios)
        for scenario in scenarios:
            load_engine().check_machine(scenario.config.machine.options())
        config = with_store_baselines(config)
        check_settings(config, signature, scenarios)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return config, scenarios, signature


def train_once(
    config: TrainConfig,
    overrides: Sequence[str],
    folder: RunFolder | None = None,
    sweep: Sweep | None = None,
    swept: Mapping[str, str] | None = None,
) -> Ended:
    """Start or resume a run.

    Args:
        config: all settings.
        overrides: their overrides, which are saved to resume the run.
        folder: of the run to resume; None for a new one.
        sweep: the sweep of the run, if it has one.
        swept: the run's values of the swept settings.
    """
    begun = time.monotonic()
    config, scenarios, signature = checked(config, overrides)
    budget = TimeBudget(config.budget, begun) if config.budget is not None else None
    new = folder is None
    if folder is None:
        workload = scenarios[0].workload.get("name", "workload")
        words = f"{workload}-{config.search.name}-seed{config.seed}"
        folder = new_run_folder(Path(config.runs_dir), words)
    resume_command = heddle_command("train", f"resume={folder.path}")
    if sweep is not None:
        resume_command = heddle_command("train", "-m", f"sweep={sweep.path}")
    try:
        return _train(
            config, overrides, scenarios, signature, folder, sweep, swept, resume_command, budget
        )
    except BudgetError as error:
        if new and sweep is None:
            shutil.rmtree(folder.path)  # there is nothing to resume
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:  # also before the first generation, and after the last
        return Ended(folder, _say_interrupted(folder, resume_command), better=False)


def _train(
    config: TrainConfig,
    overrides: Sequence[str],
    scenarios: Sequence[Scenario],
    signature: Signature,
    folder: RunFolder,
    sweep: Sweep | None,
    swept: Mapping[str, str] | None,
    resume_command: str,
    budget: TimeBudget | None,
) -> Ended:
    """Train in the run's folder, and print the results."""
    runs_dir = Path(config.runs_dir)
    with held(folder.path), make_display(make_progress_console()) as display:
        folder.refuse_lost_checkpoint()
        measured_on = measuring_settings(config, scenarios)
        refuse_other_samples(Checkpoint.load(folder.path), measured_on, folder.path)
        remove_unfinished(folder.path)
        of_scenarios = [_as_yaml(scenario.config) for scenario in scenarios]
        folder.write_settings(_as_yaml(config), list(overrides), of_scenarios)
        parent = None if sweep is None else sweep.mlflow_run_id
        label = label_of(scenarios, overrides, folder, swept, None if sweep is None else sweep.name)
        record = Record(config.mlflow, runs_dir, display.say, parent, label)
        status, registered, made = "FAILED", None, Made()
        try:
            made = _run(config, scenarios, signature, folder, display, record, budget)
            outcome = made.outcome
            if made.lost is None:
                status = "KILLED" if outcome is None or outcome.interrupted else "FINISHED"
            registered = _register(config, folder, outcome, record)
        except WritingError as error:
            raise _with_cure(error, resume_command) from error
        except KeyboardInterrupt:
            status = "KILLED"
            raise
        except (BackendError, MeasuringError) as error:
            raise type(error)(f"{error}\nThen resume with: {resume_command}") from error
        finally:
            record.end(status)
    code = _report(
        folder, record, outcome, COMBINATIONS[config.robust.combine].words, resume_command
    )
    if registered is not None:
        _show_registered(registered, record.uri)
    if made.lost is not None:
        raise _with_cure(made.lost, resume_command)
    if made.without_page:
        code = code or INTERRUPTED
    verdict = None if outcome is None else outcome.verdict
    return Ended(folder, code, verdict is not None and verdict.kind is Kind.BETTER)


def _as_yaml(config: TrainConfig) -> str:
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def _run(
    config: TrainConfig,
    scenarios: Sequence[Scenario],
    signature: Signature,
    folder: RunFolder,
    display: Display,
    record: Record,
    budget: TimeBudget | None,
) -> Made:
    """Train, and write the files and the page.

    Raises:
        WritingError: a checkpoint or a policy can't be written.
    """
    display.say(f"run: {folder.path}")
    machines = [scenario.config.machine for scenario in scenarios]
    for kind, cores in {(machine.kind, machine.cores) for machine in machines}:
        warn_about_machine(kind, cores, takes_turns=store_of(config.search) is None)
    specs = [MachineSpec.of(scenario.config) for scenario in scenarios]
    backend = None
    try:
        notices = Notices(display.say, folder.backend_log)
        backend = build_backend(config.evaluation, *specs, notices=notices)
        pacing = forecast_pacing(config, scenarios, backend, display, budget)
        training = Training(
            config, signature, folder, backend, display, record, scenarios=scenarios, pacing=pacing
        )
        outcome = training.run()
        lost = None
        try:
            _write_files(folder, scenarios, outcome, training)
        except WritingError as error:
            lost = error
        backend.close()  # the page loads its own database
        without_page = False
        try:
            add_page(folder, config.report, display)
        except KeyboardInterrupt:
            without_page = True
        _record_results(record, folder, scenarios, outcome)
        if budget is not None:
            display.say(budget.words)
        return Made(outcome, lost, without_page)
    except KeyboardInterrupt:
        return Made()
    finally:
        if backend is not None:
            backend.close()


def _record_results(
    record: Record, folder: RunFolder, scenarios: Sequence[Scenario], outcome: Outcome
) -> None:
    """Add figures, tables and files to the record."""
    several = len(scenarios) > 1
    closings = [
        (closing.scenario.name if several else "", closing.comparison, closing.validation)
        for closing in outcome.closings
    ]
    record.scores(throughputs(closings))
    record.describe(description(folder.scenarios(len(scenarios)), folder.policy))
    record.artifacts(folder.path, *folder.results(len(scenarios)))


def _register(
    config: TrainConfig, folder: RunFolder, outcome: Outcome | None, record: Record
) -> Registered | None:
    """Register the learned policy, unless it was not compared or violates consistency.

    The other policies of the front become versions without an alias.
    """
    model = config.registered_model
    if model is None or outcome is None or outcome.interrupted or outcome.violations:
        return None
    front = outcome.front
    others = [] if front is None else [each for each in front.policies if each.name != front.chosen]
    return record.register(load(folder.policy), model, others)


def _show_registered(registered: Registered, uri: str) -> None:
    aliases = ", ".join(registered.aliases)
    model, version = registered.model, registered.version
    click.echo(f"model:   {model}, version {version} ({aliases})")
    if CHAMPION not in registered.aliases:
        typed = ["policy", "promote", f"registry:{model}/{version}"]
        # A later command reads the store from the environment, not from this run.
        typed += ["--uri", uri] if uri != default_store().uri else []
        click.echo(f"promote: {heddle_command(*typed)}")


def _with_cure(error: WritingError, resume_command: str) -> WritingError:
    return WritingError(
        f"{error}\nEarlier files are unchanged. Fix this, then resume with: {resume_command}"
    )


def _write_files(
    folder: RunFolder, scenarios: Sequence[Scenario], outcome: Outcome, training: Training
) -> None:
    for closing, files in zip(outcome.closings, folder.scenarios(len(scenarios)), strict=False):
        _write_comparison(
            closing.scenario,
            closing.comparison,
            closing.verdict,
            files.comparison,
            files.comparison_text,
        )
        if closing.validation is not None:
            _write_comparison(
                closing.scenario,
                closing.validation,
                closing.validated,
                files.validation,
                files.validation_text,
            )
    if outcome.front is not None:
        write_front(outcome.front, folder.front, folder.front_plot)
    if training.history:
        plot_history(training.history, training.reference_name, folder.plot)


def _write_comparison(
    scenario: Scenario,
    comparison: Comparison,
    verdict: Verdict | None,
    document: Path,
    table: Path,
) -> None:
    content = comparison.as_dict(
        workload=scenario.workload,
        seed=scenario.config.seed,
        version=heddle_version(),
        verdict=verdict.as_dict() if verdict is not None else None,
    )
    write_atomically(document, json.dumps(content, indent=1) + "\n")
    if comparison.rows:
        text = as_text(comparison_table(comparison, _title(scenario, comparison)))
        if verdict is not None:
            text += f"\n{verdict_line(verdict, comparison)}\n"
        write_atomically(table, text)


def _report(
    folder: RunFolder, record: Record, outcome: Outcome | None, objective: str, resume_command: str
) -> int:
    """Print the results and the next steps; return the exit code."""
    if outcome is None:
        return _say_interrupted(folder, resume_command)
    for scenario, comparison, verdict in outcome.comparisons:
        _show(scenario, comparison, verdict)
    if len(outcome.closings) > 1 and outcome.scores:
        print_table(scenarios_table(outcome, objective))
        if outcome.verdict is not None:
            click.echo(f"\nverdict by the {objective}: {outcome.verdict.line}")
        click.echo()
    if outcome.front is not None:
        print_table(front_table(outcome.front))
        click.echo(f"front:   {folder.front}, drawn in {folder.front_plot}\n")
    click.echo(f"policy:  {folder.policy}")
    click.echo(f"read it: {heddle_command('policy', 'show', folder.policy)}")
    page = folder.report if folder.report.exists() else heddle_command("report", folder.path)
    click.echo(f"page:    {page}")
    if record.how_to_open is not None:
        click.echo(f"record:  {record.how_to_open}")
    for violation in outcome.violations:
        click.echo(f"consistency violated: {violation}", err=True)
    if outcome.interrupted:
        click.echo(f"interrupted; compare again with: {resume_command}")
        return INTERRUPTED
    return FAILED if outcome.violations else 0


def _say_interrupted(folder: RunFolder, resume_command: str) -> int:
    """Print how to resume; return the exit code."""
    if not folder.overrides.exists():
        click.echo(f"\ninterrupted before {folder.path} was started; start a new run")
        return INTERRUPTED
    click.echo(f"\ninterrupted; resume with: {resume_command}")
    if folder.policy.exists():
        click.echo(f"best policy so far: {folder.policy}")
    return INTERRUPTED


def _show(scenario: Scenario, comparison: Comparison, verdict: Verdict | None) -> None:
    """Print a comparison's table and verdict."""
    click.echo()
    print_table(comparison_table(comparison, _title(scenario, comparison)))
    if verdict is not None:
        click.echo(f"\n{verdict_line(verdict, comparison)}\n")


def verdict_line(verdict: Verdict, comparison: Comparison) -> str:
    """Return the line of a verdict with the machine of its comparison."""
    return f"verdict on {machine_words(comparison.rows[0].machine)}: {verdict.line}"


def _title(scenario: Scenario, comparison: Comparison) -> str:
    options = scenario.workload
    name = options.pop("name", "workload")
    words = f"{name} ({', '.join(f'{key} {value}' for key, value in options.items())})"
    rows = comparison.rows
    return f"{words}, {machine_words(rows[0].machine)}" if rows else words


def with_resume(
    settings: Sequence[str],
) -> tuple[TrainConfig, list[str], RunFolder | None]:
    """Compose the settings, on top of those of the run to resume, if there is one.

    Returns:
        All settings, their overrides, and the folder of the run to resume.

    Raises:
        UsageError: a setting is wrong, or needs several runs.
        RunFolderError: there is no such run.
    """
    name = value_of(settings, "resume")
    if name in (None, "null"):
        refuse_sweep(settings)
        return compose_settings("train", settings, TrainConfig), list(settings), None
    # The overrides may be valid only on top of the run's own settings, so compose one alone.
    where = [text for text in settings if text.startswith("runs_dir=")]
    runs_dir = compose_settings("train", where, TrainConfig).runs_dir
    folder = find_run_folder(Path(runs_dir), name)
    added = [text for text in settings if not text.startswith("resume=")]
    saved = with_saved_search(folder)
    _refuse_other_search(folder, saved, added)
    overrides = merge_overrides(saved, added)
    return compose_settings("train", overrides, TrainConfig), overrides, folder


def _refuse_other_search(folder: RunFolder, saved: Sequence[str], added: Sequence[str]) -> None:
    """Refuse to resume with another search, which can't use the run's state and settings.

    Raises:
        UsageError: the overrides choose another search; the message names that of the run.
    """
    typed = value_of(added, "search")
    if typed is None:
        return
    asked = compose_settings("train", [f"search={typed}"], TrainConfig).search.name
    before = compose_settings("train", saved, TrainConfig).search.name
    if asked != before:
        raise UsageError(
            f"search={typed}: {folder.path} is a run of the search {before}; leave out search= to "
            "resume it, or resume= to start a new run"
        )
