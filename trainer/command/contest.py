"""`heddle lab searches`: compare search methods by the runs of sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from envs import (
    THREADS,
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Subject,
    comparison_table,
    machine_words,
    of_policy,
    subject_of,
    untuned,
)
from envs.host import local_machine, this_host, usable_cores
from policies import to_json
from trainer.checkpoint import write_atomically
from trainer.command.comparing import as_list
from trainer.command.errors import INTERRUPTED, UsageError, one_message, resumed_by
from trainer.command.machine_warnings import warn_about_machine
from trainer.command.output import as_text, make_progress_console, print_table, write_and_show
from trainer.command.saved_settings import settings_of
from trainer.command.settings import compose_settings, settings_text
from trainer.config import ContestConfig, workload_options
from trainer.contest.measuring import measure_anew
from trainer.contest.naming import UnlikeError
from trainer.contest.picture import plot_case
from trainer.contest.report import as_markdown, as_table, sheets
from trainer.contest.runs import Entrant, by_case, by_method, read_entrants, twice
from trainer.contest.standing import CaseStanding, Standing, stand
from trainer.evaluation.backend import check_backend
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.lock import held
from trainer.progress import Display, make_display
from trainer.record import Record
from trainer.repeats import SEED_STRIDE
from trainer.run_folder import make_runs_dir
from trainer.run_version import heddle_version
from trainer.shell_words import heddle_command
from trainer.sweep_folder import Sweep, find_sweep, sweep_names

SCHEMA_VERSION = 2


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def searches(settings: tuple[str, ...], show: bool) -> None:
    r"""Compare search methods by the runs of one or several sweeps.

    Champions, incumbents and baselines are measured again, on a population and inputs that no run
    has seen. The report has medians and quartiles over seeds, the area below the curves, and the
    evaluations to 95 % of the best known score. It compares how soon the best method reaches the
    final score of each other one, and tests which differences are significant. The best champion
    of each method also runs on real cores.

    The command writes contest.json, contest.md and a picture per workload. Ctrl-C keeps the results
    so far.

    \b
    Examples:
      heddle train -m experiment=search_contest sweep=contest
      heddle lab searches sweep=contest
      heddle lab searches sweep=contest threads.enabled=false seconds=0.02 rounds=3
      heddle lab searches sweep=short,long output=budgets
    """
    if show:
        click.echo(settings_text("contest", settings), nl=False)
        return
    typed = [as_list(text, "sweep") if "," in text else text for text in settings]
    config = compose_settings("contest", typed, ContestConfig)
    try:
        check_backend(config.evaluation)
    except ValueError as error:
        raise UsageError(str(error)) from error
    sweeps = _sweeps(config)
    folder = _folder(config, sweeps)
    runs = sum(len(sweep.runs) for sweep in sweeps)
    try:
        entrants = read_entrants(sweeps, settings_of)
    except UnlikeError as error:
        raise UsageError(f"sweep={_typed(config)}: {error}") from error
    if not entrants:
        raise UsageError(
            f"sweep={_typed(config)}: none of its {runs} runs is finished; resume with: "
            + ", ".join(heddle_command("train", "-m", f"sweep={sweep.path}") for sweep in sweeps)
        )
    again = twice(entrants)
    if again is not None:
        first, second = again
        raise UsageError(
            f"sweep={_typed(config)}: {first.folder.path} and {second.folder.path} are both runs "
            f"of {first.method} with seed {first.seed} on {first.case}; leave one of their sweeps "
            "out, or move one of these folders out of its sweep"
        )
    _refuse_known_inputs(config, entrants)
    for runs_of_case in by_case(entrants).values():
        for name in config.baselines:
            subject_of(name, runs_of_case[0].encoding.signature, untuned)  # or it is refused
    make_runs_dir(folder, "output")
    again_with = heddle_command("lab", "searches", *settings)
    with resumed_by(again_with), held(folder):
        with make_display(make_progress_console()) as display:
            fresh = measure_anew(config, entrants, folder / "fresh.json", display)
            standing = stand(entrants, fresh, config.share, missing=runs - len(entrants))
            on_real, interrupted = _on_threads(config, entrants, standing, display)
        write_and_show(
            lambda: _write(config, sweeps, entrants, standing, on_real, folder),
            lambda: _show(standing, on_real),
        )
    if interrupted:
        click.echo(f"interrupted on real cores; resume with: {again_with}")
        raise SystemExit(INTERRUPTED)


def _refuse_known_inputs(config: ContestConfig, entrants: Sequence[Entrant]) -> None:
    """Refuse a seed whose population or inputs a run has seen."""
    of_runs = {entrant.seed for entrant in entrants}
    if config.seed in of_runs:
        raise UsageError(
            f"seed={config.seed}: is the seed of a run; measure on inputs of another, such as "
            f"seed={(max(of_runs) + 3) * SEED_STRIDE}"
        )
    # A run's search, choice and comparison each use inputs numbered from a multiple of the stride.
    nearby = next((seed for seed in of_runs if 0 <= config.seed // SEED_STRIDE - seed < 3), None)
    if nearby is not None:
        raise UsageError(
            f"seed={config.seed}: the run with seed={nearby} may have seen these inputs; set "
            f"another, such as seed={(max(of_runs) + 3) * SEED_STRIDE}"
        )


def _names(config: ContestConfig) -> list[str]:
    """Return the names of the sweeps, in order."""
    named = config.sweep if isinstance(config.sweep, list) else [config.sweep]
    return [str(name) for name in named]


def _typed(config: ContestConfig) -> str:
    """Return the names of the sweeps as a setting has them."""
    return ",".join(_names(config))


def _sweeps(config: ContestConfig) -> list[Sweep]:
    runs_dir = Path(config.runs_dir)
    there = ", ".join(sweep_names(runs_dir)[-5:]) or f"none in {runs_dir}"
    if config.sweep is None or not _names(config):
        raise UsageError(f"sweep=: names no sweep; there are {there}")
    sweeps: dict[Path, Sweep] = {}
    for name in _names(config):
        found = find_sweep(runs_dir, name)
        if found is None:
            raise UsageError(f"sweep={name}: no such sweep; there are {there}")
        if found.path.resolve() in sweeps:
            raise UsageError(f"sweep={_typed(config)}: {name} is named twice; name it once")
        sweeps[found.path.resolve()] = found
    return list(sweeps.values())


def _folder(config: ContestConfig, sweeps: Sequence[Sweep]) -> Path:
    """Return the folder for the results."""
    if config.output:
        return Path(config.output)
    if len(sweeps) > 1:
        raise UsageError(
            f"sweep={_typed(config)}: several sweeps need a folder for the results; set it, such "
            "as output=contest"
        )
    return sweeps[0].path


def _on_threads(
    config: ContestConfig, entrants: Sequence[Entrant], standing: Standing, display: Display
) -> tuple[dict[str, Comparison], bool]:
    """Compare each method's best champion with Silo on real cores.

    Returns:
        The comparisons by case, and whether Ctrl-C ended them.
    """
    much = config.threads
    found: dict[str, Comparison] = {}
    interrupted = False
    if not much.enabled:
        return found, interrupted
    warn_about_machine(THREADS["kind"], much.cores)
    for case in standing.cases:
        runs = [entrant for entrant in entrants if entrant.case == case.case]
        workload = workload_options(runs[0].config.workload)
        evaluator = Evaluator(workload, much.cores, seed=config.seed)
        try:
            display.say(f"{case.case}: on {machine_words(evaluator.place)}")
            tuned = tune_silo(evaluator.run_round, much.tuning, config.seed, display)
            subjects = [
                tuned.silo(),
                subject_of("silo", evaluator.signature, untuned),
                *(best for method in by_method(runs) for best in _best_of(method, case, runs)),
            ]
            objective = replace(case.objective, limits=())
            plan = ComparisonPlan(much.seconds, much.repeats, much.warmup, objective=objective)
            # Limits hold on the machine of the runs: other cores have other latencies.
            found[case.case] = compare_shown(
                evaluator.run_round, subjects, plan, config.seed, display
            )
        except MeasuringError as error:
            display.say(f"{case.case}: not measured on real cores: {error}")
        except KeyboardInterrupt:  # before the comparison, which keeps its results
            interrupted = True
        finally:
            evaluator.close()
        interrupted = interrupted or (case.case in found and found[case.case].interrupted)
        if interrupted:
            break
    return found, interrupted


def _best_of(method: str, case: CaseStanding, runs: Sequence[Entrant]) -> Iterator[Subject]:
    """Yield a method's best champion, if any of its searches found one."""
    (standing,) = (found for found in case.methods if found.method == method)
    best = max(standing.runs, key=lambda run: (run.score, run.origin is not None))
    # Identified by method and seed: folders of two sweeps may have the same name.
    run = next(run for run in runs if (run.method, run.seed) == (method, best.seed))
    if run.champion is not None:
        yield of_policy(method, to_json(run.encoding.decode(run.champion.vector, method)))


def _machine(entrants: Sequence[Entrant], case: str) -> str:
    machine = next(entrant.config.machine for entrant in entrants if entrant.case == case)
    return machine_words(local_machine(machine.kind, machine.cores or usable_cores()))


def _write(
    config: ContestConfig,
    sweeps: Sequence[Sweep],
    entrants: Sequence[Entrant],
    standing: Standing,
    on_real: dict[str, Comparison],
    folder: Path,
) -> list[str]:
    """Write all files; return the line that names them."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "version": heddle_version(),
        "host": this_host().as_dict(),
        "sweeps": [
            {"name": sweep.name, "settings": sweep.settings, "axes": sweep.axes} for sweep in sweeps
        ],
        "measured_anew": {
            "seed": config.seed,
            "rounds": config.rounds,
            "seconds": config.seconds,
            "warmup": config.warmup,
            "baselines": config.baselines,
            "tuning": asdict(config.tuning),
        },
        **standing.as_dict(),
        "on_threads": {case: comparison.as_dict() for case, comparison in on_real.items()},
    }
    written = [folder / "contest.json", folder / "contest.md"]
    write_atomically(written[0], json.dumps(document, indent=1) + "\n")
    parts = [as_markdown(sheet) for sheet in sheets(standing)]
    for case, comparison in on_real.items():
        title = f"{case}: the best of each method on real cores"
        parts.append(f"```\n{as_text(comparison_table(comparison, title))}```\n")
    write_atomically(written[1], "\n".join(parts))
    for case_standing in standing.cases:
        case = case_standing.case
        name = "".join(letter if letter.isalnum() else "-" for letter in case)
        path = folder / f"contest-{name}.png"
        plot_case(case_standing, _machine(entrants, case), path)
        written.append(path)
    for sweep in sweeps:
        settings = next((e.config for e in entrants if e.folder.path.parent == sweep.path), None)
        if sweep.mlflow_run_id is not None and settings is not None:
            # In the store of its runs, which may be another than that of `runs_dir`.
            record = Record(settings.mlflow, Path(settings.runs_dir), click.echo)
            record.attach(sweep.mlflow_run_id, *written)
    return [f"written: {written[1]}, {written[0].name} and the pictures in the same folder"]


def _show(standing: Standing, on_real: dict[str, Comparison]) -> None:
    for sheet in sheets(standing):
        click.echo()
        print_table(as_table(sheet))
    for case, comparison in on_real.items():
        click.echo()
        print_table(comparison_table(comparison, f"{case}: the best of each method on real cores"))
    refused = sum(run.refused for c in standing.cases for m in c.methods for run in m.runs)
    if refused:
        click.echo(
            f"{refused} tables failed the check; see the folder refused of each run", err=True
        )
    if standing.missing:
        click.echo(f"{standing.missing} unfinished runs are not counted")
