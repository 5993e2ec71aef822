"""Warnings before measurements on real cores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from envs.host import local_machine, machine_warnings, this_host, usable_cores
from envs.subject import is_external
from policies import from_json, load
from policies.protocol import EXTERNAL, protocol_name
from policies.shipped import in_library, library_path
from policies.sources import is_sourced, read_sourced


def any_takes_turns(policies: Iterable[str]) -> bool:
    """Return whether one of the policies runs in the engine, whose workers take turns on a core.

    Args:
        policies: names after `policy=`. Those that can't be read count as such policies: their
            mistakes are reported later.
    """
    return not all(is_external(name) or _is_for_store(name) for name in policies)


def _is_for_store(name: str) -> bool:
    """Return whether a name is that of a policy for a store, with or without a schedule."""
    plain = name if Path(name).exists() else name.partition("+")[0]
    try:
        if is_sourced(plain):
            document = from_json(read_sourced(plain), plain, check=False)
        else:
            document = load(library_path(plain) if in_library(plain) else plain, check=False)
    except (OSError, ValueError):  # a PolicyFileError is a ValueError
        return False
    return protocol_name(document.protocol) == EXTERNAL


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
