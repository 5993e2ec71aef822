"""`heddle train -m`: one run for every combination of values, in sequence.

Each run uses all machines, so that the times of runs can be compared; Ray is started once. A sweep
that resumes does not repeat finished runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from trainer.command.errors import FAILED, INTERRUPTED, UsageError, one_message
from trainer.command.forecast import forecast_run
from trainer.command.output import make_progress_console
from trainer.command.page import add_sweep_page
from trainer.command.saved_settings import saved_search
from trainer.command.settings import (
    SWEPT_MAX,
    compose_settings,
    first_of_sweep,
    merge_overrides,
    parse_overrides,
    swept_by_config,
    swept_values,
    value_of,
)
from trainer.config import TrainConfig
from trainer.duration import duration_words
from trainer.forecast import Forecast
from trainer.lock import held
from trainer.progress import make_display
from trainer.record import Record
from trainer.run_folder import make_runs_dir
from trainer.shell_words import heddle_command
from trainer.sweep_folder import WHERE, State, Sweep, SweepRun, find_sweep, new_sweep, sweep_names

OWN = ("sweep", "runs_dir")
"""Settings of the sweep itself, which do not affect the results of its runs."""


def train_many(settings: Sequence[str]) -> None:
    """Start a sweep, or resume it.

    Raises:
        UsageError: a setting is wrong.
        SystemExit: it was interrupted, or a run failed.
    """
    runs_dir, name, typed = _sweep_request(settings)
    found = find_sweep(runs_dir, name) if name is not None else None
    sweep = _begun(runs_dir, name, typed) if found is None else found
    with held(sweep.path):
        if found is not None:  # read again: the previous holder of the lock may have made runs
            sweep = _resumed(_with_its_search(Sweep.load(found.path)), typed)
        sweep.save()
        _train(sweep)


def forecast_many(settings: Sequence[str]) -> None:
    """Forecast every unfinished run of a sweep, and write nothing.

    Runs that differ only in their seed share a forecast.

    Raises:
        UsageError: a setting is wrong.
    """
    from trainer.command.train import checked

    sweep = _planned(settings)
    runs = [run for run in sweep.runs if not sweep.has_finished(run)]
    known: dict[tuple[str, ...], Forecast] = {}
    total, searches = 0.0, 0
    for run in runs:
        click.echo(
            f"run {sweep.runs.index(run) + 1} of {len(sweep.runs)}: {' '.join(run.overrides)}"
        )
        alike = tuple(text for text in run.overrides if not text.startswith("seed="))
        if alike not in known:
            overrides = [*sweep.settings, *run.overrides]
            config = compose_settings("train", overrides, TrainConfig)
            known[alike] = forecast_run(*checked(config, overrides)[:2])
            for line in known[alike].lines():
                click.echo(f"  {line}")
        total += known[alike].total
        searches += known[alike].open_ended
    more = f" and {searches} searches of unknown time" if searches else ""
    click.echo(f"{len(runs)} runs in sequence: {duration_words(total)}{more}")


def refuse_sweep(settings: Sequence[str]) -> None:
    """Refuse settings for several runs if `-m` is missing.

    Raises:
        UsageError: the settings are for several runs.
    """
    if value_of(settings, "sweep") not in (None, "null"):
        raise UsageError("sweep= has several runs; add -m")
    experiment = value_of(settings, "experiment")
    if experiment in (None, "null"):
        return
    swept = swept_by_config("train", settings)
    missing = [key for key in swept if value_of(settings, key) is None]
    if missing:
        raise UsageError(
            f"experiment={experiment}: is a sweep over {', '.join(swept)}; add -m, or set each to "
            f"one value, such as {missing[0]}=…"
        )


def _sweep_request(settings: Sequence[str]) -> tuple[Path, str | None, list[str]]:
    """Return the folder of the runs, the name of the sweep, and the other overrides.

    Raises:
        UsageError: a run is resumed, or the name is not a name.
    """
    if value_of(settings, "resume") not in (None, "null"):
        raise UsageError("resume= resumes one run; leave out -m")
    # The overrides may be valid only on top of the sweep's own settings, so compose one alone.
    runs_dir = Path(
        compose_settings(
            "train", [text for text in settings if text.startswith("runs_dir=")], TrainConfig
        ).runs_dir
    )
    typed = [text for text in settings if not text.startswith("sweep=")]
    return runs_dir, _name(settings), typed


def _planned(settings: Sequence[str]) -> Sweep:
    """Return the sweep as it would be started or resumed, without writing anything."""
    runs_dir, name, typed = _sweep_request(settings)
    found = find_sweep(runs_dir, name) if name is not None else None
    if found is not None:
        return _resumed(_with_its_search(found), typed)
    sweep = Sweep(runs_dir)
    sweep.settings, axes = _axes_of_new(runs_dir, name, typed)
    sweep.extend(axes)
    return sweep


def _name(settings: Sequence[str]) -> str | None:
    """Return the sweep's name or folder; None if neither is set.

    Raises:
        UsageError: the folder would be that of all sweeps, or a parent of it.
    """
    name = value_of(settings, "sweep")
    if name is None or name == "null":
        return None
    if Path(name.strip()).name in ("", ".."):
        raise UsageError(
            f"sweep={name}: is not a name of a sweep; write one, such as sweep=mine, or leave "
            "sweep= out to name it after the time"
        )
    return name


def _axes_of_new(
    runs_dir: Path, name: str | None, typed: Sequence[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the shared overrides of a new sweep and the swept values, after checking both."""
    shared, axes = split_axes(typed)
    if not axes and name is not None:
        there = ", ".join(sweep_names(runs_dir)[-5:]) or "none"
        raise UsageError(
            f"sweep={name}: no such sweep; there are {there}. To start it, give a setting several "
            "values, such as seed=1,2,3"
        )
    _refuse_mistakes(shared, axes)
    return shared, axes


def _begun(runs_dir: Path, name: str | None, typed: Sequence[str]) -> Sweep:
    shared, axes = _axes_of_new(runs_dir, name, typed)
    make_runs_dir(runs_dir)
    sweep = new_sweep(runs_dir, name)
    sweep.settings = shared
    sweep.extend(axes)
    return sweep


def _with_its_search(sweep: Sweep) -> Sweep:
    """Return the sweep with the search of its earlier runs, in case the default has changed."""
    if not {"search", "experiment"} & set(sweep.axes):
        for run in sweep.runs:
            folder = sweep.folder_of(run)
            if folder is not None and folder.saved_search() is not None:
                saved = saved_search(folder, [*sweep.settings, *run.overrides])
                sweep.settings = [*saved, *sweep.settings]
                break
    return sweep


def _resumed(sweep: Sweep, typed: Sequence[str]) -> Sweep:
    """Return the sweep with the overrides that may change when it resumes.

    Raises:
        UsageError: another setting has changed.
    """
    own = [*sweep.settings, *(f"{key}={values[0]}" for key, values in sweep.axes.items())]
    shared, axes = split_axes([text for text in typed if not text.startswith("runs_dir=")], own)
    for text in list(shared):  # one value of what is swept
        key, _, value = text.partition("=")
        if key in sweep.axes:
            shared.remove(text)
            axes[key] = [value]
    before = {_key(text): text for text in sweep.settings}
    others = [text for text in shared if before.get(_key(text)) != text and _key(text) not in WHERE]
    others += [key for key in axes if key not in sweep.axes]
    if others:
        raise UsageError(
            f"{others[0]}: differs from the settings of {sweep.path}, whose runs must be "
            f"comparable; with sweep= only set further values of {', '.join(sweep.axes)}, and "
            f"{', '.join(WHERE)}"
        )
    sweep.settings = merge_overrides(sweep.settings, shared)
    _refuse_mistakes(sweep.settings, axes)
    sweep.extend(axes)
    return sweep


def split_axes(
    typed: Sequence[str], on: Sequence[str] = ()
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the overrides that all runs share, and the values of each swept setting.

    Args:
        typed: the overrides of the command.
        on: the overrides of a resumed sweep, on top of which `typed` must be valid.
    """
    first = first_of_sweep(typed)
    swept = swept_by_config("train", merge_overrides(on, first)) if first else {}
    if on and value_of(first, "experiment") is None:
        swept = {}  # the experiment's sweep is fixed when the sweep starts
    named = [f"{key}={value}" for key, value in swept.items()]
    shared: dict[str, str] = {}
    axes: dict[str, list[str]] = {}
    for override in parse_overrides([*named, *typed]):
        key = override.get_key_element().lstrip("+")
        if key.split(".")[0].split("/")[0] == "hydra" or key in OWN:
            if key == "runs_dir" and not override.is_sweep_override():
                shared[key] = str(override.input_line)
                continue
            raise UsageError(f"{override.input_line}: can't be set for a sweep")
        # A setting that the configuration sweeps keeps its place: the last one changes fastest.
        if override.is_sweep_override():
            shared.pop(key, None)
            axes[key] = swept_values(override, SWEPT_MAX)
        elif key in swept:  # one value now; a later call may add more
            axes[key] = [str(override.get_value_element_as_str())]
        else:
            axes.pop(key, None)
            shared[key] = str(override.input_line)
    return list(shared.values()), axes


def _refuse_mistakes(shared: Sequence[str], axes: dict[str, list[str]]) -> None:
    """Check every swept value once before the first run.

    Raises:
        UsageError: a setting is wrong.
    """
    from trainer.command.train import checked

    first = {key: values[0] for key, values in axes.items()}
    tried = [first, *({**first, key: value} for key in axes for value in axes[key][1:])]
    for values in tried:
        overrides = [f"{key}={value}" for key, value in values.items()]
        config = compose_settings("train", [*shared, *overrides], TrainConfig)
        checked(config, [*shared, *overrides])


def _train(sweep: Sweep) -> None:
    """Make the unfinished runs.

    Raises:
        SystemExit: the sweep was interrupted, or a run failed.
    """
    click.echo(f"sweep: {sweep.path}: {len(sweep.runs)} runs, {_finished(sweep)} finished")
    try:
        interrupted = _train_recorded(sweep)
    except KeyboardInterrupt:  # between runs as well, such as while MLflow starts
        interrupted = True
    if interrupted:
        _print_resume_command(sweep)
        raise SystemExit(INTERRUPTED)
    failed = [run for run in sweep.runs if not sweep.has_finished(run)]
    click.echo(f"\nsweep: {sweep.path}: {_finished(sweep)} of {len(sweep.runs)} runs finished")
    if sweep.report.exists():
        click.echo(f"page: {sweep.report}")
    for run in failed:
        click.echo(f"failed: {' '.join(run.overrides)} ({sweep.path / str(run.folder)})", err=True)
    if failed:
        click.echo(f"retry these with: {_resume_command(sweep)}", err=True)
        raise SystemExit(FAILED)


def _train_recorded(sweep: Sweep) -> bool:
    """Make the runs below a record of the sweep; return whether Ctrl-C ended one of them."""
    from trainer.report.saved_sweep import kinds_markdown, read_sweep

    config = compose_settings("train", [*sweep.settings, *sweep.runs[0].overrides], TrainConfig)
    record, status = Record(config.mlflow, Path(config.runs_dir), click.echo), "KILLED"
    try:
        _start(record, sweep)
        for run in [run for run in sweep.runs if not sweep.has_finished(run)]:
            if _train_one(sweep, run) == INTERRUPTED:
                return True
        with make_display(make_progress_console()) as display:
            add_sweep_page(sweep, config.report, display)
        record.describe(kinds_markdown(read_sweep(sweep)))
        record.artifacts(sweep.path, sweep.report)
        status = "FINISHED" if _finished(sweep) == len(sweep.runs) else "FAILED"
        return False
    finally:
        record.scores({"runs": len(sweep.runs), "finished": _finished(sweep)})
        record.end(status)


def _train_one(sweep: Sweep, run: SweepRun) -> int:
    """Start or resume a run; return its exit code."""
    from trainer.command.train import train_once

    number = sweep.runs.index(run) + 1
    click.echo(f"\nrun {number} of {len(sweep.runs)}: {' '.join(run.overrides)}")
    overrides = [*sweep.settings, *run.overrides]

    def make() -> int:
        config = compose_settings("train", overrides, TrainConfig)
        words = f"{config.workload.get('name', 'workload')}-{config.search.name}-seed{config.seed}"
        return train_once(config, overrides, sweep.begin(run, words), sweep, run.values).code

    try:
        code = one_message(make)()
    except SystemExit as error:  # its message is printed, and the other runs can still be made
        code = error.code if isinstance(error.code, int) else FAILED
    if code != INTERRUPTED:
        run.state = State.FAILED if code else State.FINISHED
        sweep.save()
    return int(code)


def _start(record: Record, sweep: Sweep) -> None:
    """Start the record, or continue it."""
    axes = {key: ",".join(values) for key, values in sweep.axes.items()}
    record.start(sweep.name, {"settings": " ".join(sweep.settings), **axes}, sweep.mlflow_run_id)
    if record.run_id is not None:
        sweep.mlflow_run_id = record.run_id
        sweep.save()


def _finished(sweep: Sweep) -> int:
    return sum(sweep.has_finished(run) for run in sweep.runs)


def _print_resume_command(sweep: Sweep) -> None:
    click.echo(
        f"\nsweep interrupted, {_finished(sweep)} of {len(sweep.runs)} runs finished; resume with: "
        f"{_resume_command(sweep)}"
    )


def _resume_command(sweep: Sweep) -> str:
    return heddle_command("train", "-m", f"sweep={sweep.path}")


def _key(text: str) -> str:
    return text.partition("=")[0].lstrip("+")
