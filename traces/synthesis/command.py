"""`heddle trace synth`: months of a shop, made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from traces.command import one_message
from traces.manifest import Manifest, Source
from traces.new_folder import refuse_existing
from traces.output import bar, print_table
from traces.synthesis.settings import Settings
from traces.synthesis.shop import days_of
from traces.synthesis.table import TYPES
from traces.tally import Tally
from traces.writer import TraceWriter

EXAMPLES = """
\b
Examples:
  heddle trace synth shop
  heddle trace synth week --days 7 --requests-per-day 20000 --seed 3
  heddle trace synth busy --days 30 --requests-per-day 3400000
"""

Command = TypeVar("Command", bound=Callable[..., Any])


def _settings_as_options(command: Command) -> Command:
    """An option for each field of `Settings`, with its default, its range and its help."""
    for one in reversed(fields(Settings)):
        command = _option(one)(command)
    return command


def _option(one: Field) -> Callable[[Command], Command]:
    kind: click.ParamType
    if one.name == "begin":
        kind = click.DateTime(["%Y-%m-%d"])
    else:
        least, most = one.metadata["range"]
        # Annotations are text here: "int", "float", "int | None".
        whole = str(one.type).startswith("int")
        kind = click.IntRange(least, most) if whole else click.FloatRange(least, most)
    return click.option(
        f"--{one.name.replace('_', '-')}",
        one.name,
        type=kind,
        default=None if one.default is None else str(one.default),
        show_default=one.default is not None,
        help=one.metadata["help"],
    )


@click.command("synth", epilog=EXAMPLES)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@_settings_as_options
@click.option("--name", help="The trace's name.  [default: that of its folder]")
@click.option("--replace", is_flag=True, help="Replace OUT if it is a trace already.")
@one_message
def synth(out: Path, begin: datetime, name: str | None, replace: bool, **options: Any) -> None:
    """Make up a trace, the folder OUT: carts and purchases of a shop over months.

    The load has its hours, weekends, a slow drift and flash sales; products' popularity moves;
    customers come in sessions. Transactions are those that the importer of a shop's log makes. The
    trace is marked as synthetic, and is shown so wherever it is shown. The same options give the
    same transactions.
    """
    refuse_existing(out, replace)
    settings = Settings(begin=begin.date(), **options)
    manifest = Manifest(
        name or out.absolute().name, Source(_generator(settings)), TYPES, synthetic=True
    )
    tally = Tally()
    with (
        TraceWriter(out, manifest, replace=replace) as writer,
        bar("making", settings.days) as shown,
    ):
        for done, (day, tables) in enumerate(days_of(settings), start=1):
            for table in tables:
                writer.write(table)
                tally.add(table)
            shown.update(done, f"{day}")
    print_table(tally.table())
    click.echo(f"{out}: {tally.transactions_text()}, made up")


def _generator(settings: Settings) -> str:
    """The command that makes the same trace again, for the manifest."""
    words = ["heddle trace synth"]
    for one in fields(settings):
        value = getattr(settings, one.name)
        if value != one.default or one.name == "seed":
            words.append(f"--{one.name.replace('_', '-')} {value}")
    return " ".join(words)
