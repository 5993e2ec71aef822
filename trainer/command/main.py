"""The command `heddle`."""

from __future__ import annotations

import sys

import click

from policies.sources import add_source
from traces.lazy_group import LazyCommand, LazyGroup
from traces.terminal import OutputError, Terminal, open_terminals
from trainer.command.errors import FAILED, INTERRUPTED
from trainer.command.stopping import Stop, end_interrupted

COMMANDS = {
    "train": LazyCommand(
        "trainer.command.train:train",
        "Learn a policy and compare it with the baselines.",
    ),
    "evaluate": LazyCommand(
        "trainer.command.evaluate:evaluate",
        "Measure protocols and policies, in one or several places.",
    ),
    "report": LazyCommand(
        "trainer.command.report:report", "Make one HTML page of runs or of a sweep."
    ),
    "runs": LazyCommand("trainer.command.runs:runs", "List, compare, tag and remove runs."),
    "check": LazyCommand(
        "trainer.command.check:check", "Search for histories that are not serializable."
    ),
    "serve": LazyCommand(
        "trainer.command.serve:serve",
        "Run a workload; switch when its policy file is replaced.",
    ),
    "nightly": LazyCommand(
        "trainer.command.nightly:nightly",
        "Retrain when the peak hour shifts.",
    ),
    "timeline": LazyCommand(
        "trainer.command.timeline:timeline",
        "Record the events of a run on virtual cores.",
    ),
    "variance": LazyCommand(
        "trainer.command.variance:variance",
        "Decompose the variance of latency, and rank its factors.",
    ),
    "policy": LazyCommand(
        "trainer.command.policy:policy",
        "Show, compare, convert, publish and re-measure policies.",
    ),
    "trace": LazyCommand("traces.command:trace", "Import, record, draw and analyze traces."),
    "machine": LazyCommand(
        "trainer.command.machine:machine", "Calibrate virtual cores; compare them with real ones."
    ),
    "lab": LazyCommand("trainer.command.lab:lab", "Compare search methods and schedules."),
    "doctor": LazyCommand(
        "trainer.command.doctor:doctor", "Report what will not work on this machine."
    ),
}
"""The commands, in the order of the help. A new command must be named here."""

RENAMED = {
    "transfer": "heddle evaluate with several values of a setting, such as machine.cores=4,16",
    "switch": "heddle evaluate --switch",
    "history": "heddle check --export FORMAT history=FILE",
    "library": "heddle policy list, verify and add",
    "contest": "heddle lab searches",
    "schedule": "heddle lab",
    "calibrate": "heddle machine calibrate",
    "fidelity": "heddle machine compare",
    "backtest": "heddle nightly --backtest",
}
"""Old names of commands, and the new ones."""


def show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Print the versions of Heddle, its build and its libraries, and exit."""
    if wanted:
        from trainer.installation import version_text

        click.echo(version_text())
        context.exit()


class _Heddle(LazyGroup):
    """Exits with 130 if it is interrupted, also while a command's libraries load."""

    def invoke(self, context: click.Context) -> object:
        """Run the command; exit with 130 if it is interrupted."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)


@click.group(
    cls=_Heddle,
    lazy=COMMANDS,
    renamed=RENAMED,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version, build and libraries, and exit.",
)
def heddle() -> None:
    """Learn how the transactions of an in-memory database should interleave."""
    add_source("registry", _registered)


def _registered(name: str) -> str:
    # Takes a second to import, so only if such a policy is named.
    from trainer.policy_registry import RegistryReader, default_store

    return RegistryReader(default_store()).text(name)


def main() -> None:
    """Run the console script."""
    stop = Stop()
    stop.install()
    output, _ = open_terminals()
    code = _exit_code(output, stop)
    if stop.asked:
        end_interrupted(code)
    sys.exit(code)


def _exit_code(output: Terminal, stop: Stop) -> int:
    """Run the command, flush its output, and return the exit code."""
    code = 0
    reason = ""
    try:
        heddle(prog_name="heddle")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else FAILED if ended.code else 0
    except OutputError as error:
        reason = str(error)
    except BaseException:
        # A library that is interrupted while it loads may raise any error.
        if not stop.asked:
            raise
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    try:
        output.flush()
    except OutputError as error:
        reason = str(error)
    except BrokenPipeError:
        output.lost = True
    if reason:
        click.echo(f"error: {reason}", err=True)
    if reason and code == 0:
        # After a hang-up there is no terminal; all files are written by then.
        return INTERRUPTED if stop.asked else FAILED
    return code


if __name__ == "__main__":
    main()
