"""Warnings before measurements on real cores."""

from __future__ import annotations

import click

from envs.host import local_machine, machine_warnings, this_host, usable_cores


def warn_about_machine(kind: str, cores: int | None, takes_turns: bool = True) -> None:
    """Print to stderr why measurements on this machine may be unreliable.

    Args:
        kind: of the machine: `threads` or `virtual`.
        cores: number of workers; None: one for every core that the process may use.
        takes_turns: as for `machine_warnings`.
    """
    machine = local_machine(kind, cores or usable_cores())
    for doubt in machine_warnings(machine, this_host(), takes_turns):
        click.echo(f"warning: {doubt}", err=True)
