"""`heddle report`: make an HTML page of runs of `heddle train`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from policies import SEEDS
from trainer.command.errors import UsageError, one_message
from trainer.command.output import make_progress_console, refuse_bad_output
from trainer.command.page import write_page, write_sweep_page
from trainer.command.settings import compose_settings, settings_text
from trainer.config import ReportConfig
from trainer.progress import make_display
from trainer.run_folder import RunFolder, find_run_folder
from trainer.shell_words import heddle_command
from trainer.sweep_folder import Sweep, find_sweep

SETTING = re.compile(r"[+~]?[A-Za-z_][\w./]*=")
"""The beginning of a setting; any other argument is a run."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="RUN... [KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def report(words: tuple[str, ...], show: bool) -> None:
    r"""Make one HTML page of runs: training, comparison and policy.

    RUN is the name of a run in runs_dir, or its folder. Several runs are shown side by side; the
    name of a sweep shows all its runs. The page is one file and needs no network. The page of an
    unfinished run shows the results so far.

    \b
    Examples:
      heddle report runs/RUN
      heddle report RUN OTHER output=compared.html
      heddle report RUN timeline.enabled=false
      heddle report SWEEP
    """
    names = [word for word in words if not SETTING.match(word)]
    settings = [word for word in words if SETTING.match(word)]
    if show:
        click.echo(settings_text("report", settings), nl=False)
        return
    config = compose_settings("report", settings, ReportConfig)
    if config.beside is not None and config.beside not in SEEDS:
        raise UsageError(
            f"beside={config.beside}: is not a seed policy; there are {', '.join(SEEDS)}"
        )
    typed = heddle_command("report", *map(Path, names), *settings)
    sweep = _sweep(names, config)
    if sweep is not None:
        output = config.output or str(sweep.report)
        refuse_bad_output(output)
        with make_display(make_progress_console()) as display:
            write_sweep_page(sweep, config, Path(output), typed, display)
    else:
        folders = _folders(names, config)
        own = folders[0].report if len(folders) == 1 else Path("report.html")
        output = config.output or str(own)
        refuse_bad_output(output)
        with make_display(make_progress_console()) as display:
            write_page(folders, config, Path(output), typed, display)
    click.echo(f"report: {output}")


def _folders(names: list[str], config: ReportConfig) -> list[RunFolder]:
    if not names:
        raise UsageError("no run is named; name one, such as heddle report runs/RUN")
    runs_dir = Path(config.runs_dir)
    found = [find_run_folder(runs_dir, name, name or "''") for name in names]
    paths = [folder.path.resolve() for folder in found]
    for name, path in zip(names, paths, strict=True):
        if paths.count(path) > 1:
            raise UsageError(f"{name}: is named twice; name it once")
    return found


def _sweep(names: list[str], config: ReportConfig) -> Sweep | None:
    """Return the named sweep; None if runs are named."""
    runs_dir = Path(config.runs_dir)
    sweeps = (find_sweep(runs_dir, name) for name in names)
    found = [sweep for sweep in sweeps if sweep is not None]
    if found and len(names) > 1:
        raise UsageError(
            f"{found[0].name}: is a sweep, and a page shows only one; leave the others out, or "
            "name its runs"
        )
    return found[0] if found else None
