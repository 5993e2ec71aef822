"""`heddle trace synth`: generate a synthetic trace of a shop."""

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
    """Add an option for each field of `Settings`, with its default, range and help."""
    for setting in reversed(fields(Settings)):
        command = _option(setting)(command)
    return command


def _option(setting: Field) -> Callable[[Command], Command]:
    kind: click.ParamType
    if setting.name == "begin":
        kind, metavar = click.DateTime(["%Y-%m-%d"]), "YYYY-MM-DD"
    else:
        least, most = setting.metadata["range"]
        # Annotations are strings here: "int", "float", "int | None".
        whole = str(setting.type).startswith("int")
        kind = click.IntRange(least, most) if whole else click.FloatRange(least, most)
        metavar = "INTEGER" if whole else "NUMBER"
    return click.option(
        f"--{setting.name.replace('_', '-')}",
        setting.name,
        type=kind,
        metavar=metavar,
        default=None if setting.default is None else str(setting.default),
        show_default=setting.default is not None,
        help=setting.metadata["help"],
    )


@click.command("synth", epilog=EXAMPLES)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@_settings_as_options
@click.option("--name", metavar="NAME", help="Name the trace.  [default: name of its folder]")
@click.option("--replace", is_flag=True, help="Replace OUT if it is a trace.")
@one_message
def synth(out: Path, begin: datetime, name: str | None, replace: bool, **options: Any) -> None:
    """Generate a synthetic trace, the folder OUT: months of carts and purchases in a shop.

    The load varies with the hour and the weekend, drifts slowly, and has flash sales. The
    popularity of products changes, and customers act in sessions. Transactions have the form that
    the importer of a shop's log produces. Every output marks the trace as synthetic. The same
    options generate the same transactions.
    """
    refuse_existing(out, replace)
    settings = Settings(begin=begin.date(), **options)
    manifest = Manifest(
        name or out.absolute().name, Source(_generator(settings)), TYPES, synthetic=True
    )
    tally = Tally()
    with (
        TraceWriter(out, manifest, replace=replace) as writer,
        bar("generating", settings.days) as shown,
    ):
        for done, (day, tables) in enumerate(days_of(settings), start=1):
            for table in tables:
                writer.write(table)
                tally.add(table)
            shown.update(done, f"{day}")
    print_table(tally.table())
    click.echo(f"{out}: {tally.transactions_text()}, synthetic")


def _generator(settings: Settings) -> str:
    """Return the command that generates the same trace again, for the manifest."""
    words = ["heddle trace synth"]
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if value != setting.default or setting.name == "seed":
            words.append(f"--{setting.name.replace('_', '-')} {value}")
    return " ".join(words)
