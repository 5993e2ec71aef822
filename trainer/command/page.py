"""Pages of runs: by `heddle report`, and at the end of `heddle train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainer.checkpoint import write_atomically
from trainer.command.errors import UsageError
from trainer.command.settings import compose_settings
from trainer.config import PageConfig, ReportConfig
from trainer.progress import Display
from trainer.run_folder import RunFolder
from trainer.shell_words import heddle_command
from trainer.sweep_folder import Sweep


def write_page(
    folders: Sequence[RunFolder],
    config: ReportConfig,
    output: Path,
    typed: str,
    display: Display,
) -> None:
    """Write the page of some runs.

    Args:
        folders: of the runs, at least one.
        config: the settings of the page.
        output: the page's file.
        typed: the command that makes it, for the page.
        display: shows progress.

    Raises:
        UsageError: a file of a run is damaged.
        WritingError: the page can't be written.
    """
    # Takes half a second to import, besides MLflow and Matplotlib.
    from trainer.report.page import make_page
    from trainer.report.saved_run import SavedRunError, read_run

    try:
        runs = [read_run(folder) for folder in folders]
    except SavedRunError as error:
        raise UsageError(str(error)) from error
    write_atomically(output, make_page(runs, config, typed, display))


def write_sweep_page(
    sweep: Sweep, config: ReportConfig, output: Path, typed: str, display: Display
) -> None:
    """Write the page of a sweep; an unreadable run is listed with the reason.

    Args:
        sweep: the sweep.
        config: the settings of the page.
        output: the page's file.
        typed: the command that makes it, for the page.
        display: shows progress.

    Raises:
        WritingError: the page can't be written.
    """
    from trainer.report.page import make_sweep_page
    from trainer.report.saved_sweep import read_sweep

    write_atomically(output, make_sweep_page(read_sweep(sweep), config, typed, display))


def add_page(folder: RunFolder, wanted: PageConfig, display: Display) -> None:
    """Write the page of a run that this process has just finished, if the settings ask for it.

    The run's files are written already, so an error is reported and only the page is missing.

    Raises:
        KeyboardInterrupt: Ctrl-C; the page is not written.
    """
    if not wanted.enabled:
        return
    from trainer.report.page import make_page
    from trainer.report.saved_run import read_run

    again = heddle_command("report", folder.path)
    try:
        run = read_run(folder, by_us=True)
        page = make_page([run], _drawn(wanted), again, display)
        write_atomically(folder.report, page)
    except KeyboardInterrupt:
        display.say(f"interrupted before the page was written; write it with: {again}")
        raise
    except Exception as error:
        display.say(f"the page could not be written ({error}); try again with: {again}")


def add_sweep_page(sweep: Sweep, wanted: PageConfig, display: Display) -> None:
    """Write the page of a sweep, which links to those of its runs; see `add_page`.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if not wanted.enabled:
        return
    again = heddle_command("report", sweep.path)
    try:
        write_sweep_page(sweep, _drawn(wanted), sweep.report, again, display)
    except Exception as error:
        display.say(f"the page could not be written ({error}); try again with: {again}")


def _drawn(wanted: PageConfig) -> ReportConfig:
    timeline = str(wanted.timeline).lower()
    recorded = [f"{part}.enabled={timeline}" for part in ("timeline", "variance")]
    return compose_settings("report", recorded, ReportConfig)
