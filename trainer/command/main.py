"""The command `heddle`."""

from __future__ import annotations

import signal
from types import FrameType

import click

from policies.sources import add_source
from traces.lazy_group import LazyGroup

COMMANDS = {
    "train": "trainer.command.train:train",
    "report": "trainer.command.report:report",
    "evaluate": "trainer.command.evaluate:evaluate",
    "transfer": "trainer.command.transfer:transfer",
    "contest": "trainer.command.contest:contest",
    "nightly": "trainer.command.nightly:nightly",
    "backtest": "trainer.command.backtest:backtest",
    "serve": "trainer.command.serve:serve",
    "switch": "trainer.command.switch:switch",
    "check": "trainer.command.check:check",
    "history": "trainer.command.history:history",
    "policy": "trainer.command.policy:policy",
    "library": "trainer.command.policy_library:library",
    "trace": "traces.command:trace",
    "schedule": "trainer.command.schedule:schedule",
    "calibrate": "trainer.command.calibrate:calibrate",
    "fidelity": "trainer.command.fidelity:fidelity",
    "timeline": "trainer.command.timeline:timeline",
}
"""The commands, and where each is. To add one, write it and name it here."""


def show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from trainer.run_version import heddle_version

        click.echo(f"heddle {heddle_version()}")
        context.exit()


@click.group(
    cls=LazyGroup, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_version,
    help="Show the version and leave.",
)
def heddle() -> None:
    """Learn how the transactions of an in-memory database should interleave."""
    add_source("registry", _registered)


def _registered(name: str) -> str:
    # Takes a second to import: only where such a policy is named.
    from trainer.policy_registry import RegistryReader, default_store

    return RegistryReader(default_store()).text(name)


def main() -> None:
    """The console script."""
    signal.signal(signal.SIGTERM, _stop)
    heddle(prog_name="heddle")


def _stop(number: int, frame: FrameType | None) -> None:
    """Being asked to stop is treated like Ctrl-C: keep what there is, say how to go on."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
