"""`heddle machine`: measure the costs of virtual cores and compare them with real cores."""

from __future__ import annotations

import click

from traces.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "calibrate": LazyCommand(
        "trainer.command.calibrate:calibrate",
        "Measure this machine and write costs of virtual cores.",
    ),
    "compare": LazyCommand(
        "trainer.command.fidelity:compare",
        "Compare the order of policies on virtual and real cores.",
    ),
}
"""The commands below `heddle machine`, in the order of the help. To add one, name it here."""


@click.group(
    "machine",
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def machine() -> None:
    """Calibrate virtual cores for this machine, and compare them with its real cores."""
