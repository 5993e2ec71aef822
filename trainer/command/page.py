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
        folders: of the runs, one at least.
        config: what is drawn.
        output: the page.
        typed: the command that asks for it.
        display: shows how far it is.

    Raises:
        UsageError: a file of a run is damaged.
        WritingError: the page can't be written.
    """
    # MLflow and Matplotlib aside, reading runs takes half a second to import.
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
    """Write the page of a sweep; a run that can't be read is listed with the reason.

    Args:
        sweep: the sweep.
        config: what is drawn.
        output: the page.
        typed: the command that asks for it.
        display: shows how far it is.

    Raises:
        WritingError: the page can't be written.
    """
    from trainer.report.page import make_sweep_page
    from trainer.report.saved_sweep import read_sweep

    write_atomically(output, make_sweep_page(read_sweep(sweep), config, typed, display))


def add_page(folder: RunFolder, wanted: PageConfig, display: Display) -> None:
    """Write the page of a run that this process has just made, if one is wanted.

    The run is over and its files are written: whatever goes wrong here is reported and costs no
    more than the page.

    Raises:
        KeyboardInterrupt: Ctrl-C; there is no page then.
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
        display.say(f"interrupted before the page was made; make it with: {again}")
        raise
    except Exception as error:
        display.say(f"the page could not be made ({error}); try: {again}")


def add_sweep_page(sweep: Sweep, wanted: PageConfig, display: Display) -> None:
    """The same for a sweep, below whose page are those of its runs.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    if not wanted.enabled:
        return
    again = heddle_command("report", sweep.path)
    try:
        write_sweep_page(sweep, _drawn(wanted), sweep.report, again, display)
    except Exception as error:
        display.say(f"the page could not be made ({error}); try: {again}")


def _drawn(wanted: PageConfig) -> ReportConfig:
    timeline = str(wanted.timeline).lower()
    return compose_settings("report", [f"timeline.enabled={timeline}"], ReportConfig)
