"""`heddle trace show`: describe a trace."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Table

from traces.command import one_message
from traces.manifest import RECORDER, Manifest
from traces.output import bar, print_reasons, print_table
from traces.reader import Trace, open_trace
from traces.result_file import JSON, print_json, with_format
from traces.spelling import visible
from traces.tally import COLUMNS, Tally

EXAMPLES = """
\b
Example:
  heddle trace show shop
"""


@click.command("show", epilog=EXAMPLES)
@click.argument("folder", metavar="FOLDER")
@with_format
@one_message
def show(folder: str, form: str) -> None:
    """Describe a trace: its source, its counts by type, and the accesses of each type.

    The command reads the complete trace, and so detects damaged files.
    """
    trace = open_trace(folder)
    tally = _count(trace)
    manifest = trace.manifest
    if form == JSON:
        print_json(asdict(manifest) | tally.as_dict())
        return
    click.echo(f"{manifest.name}: {tally.transactions_text()}")
    click.echo(_source_words(manifest))
    print_table(tally.table())
    if any(type_.accesses for type_ in manifest.types):
        print_table(_types_table(manifest))
    print_reasons(manifest.source.left_out, manifest.source.guessed)


def _count(trace: Trace) -> Tally:
    tally = Tally()
    total = sum(trace.transactions(day) for day in trace.days)
    with bar("reading", total) as shown:
        for batch in trace.batches():
            tally.add(batch.select(list(COLUMNS)))
            shown.update(tally.transactions.total(), "")
    return tally


def _source_words(manifest: Manifest) -> str:
    source = manifest.source
    made = "made up by" if manifest.synthetic else "imported as"
    if source.importer == RECORDER:
        made = "written by"
    files = f" from {', '.join(source.files)}" if source.files else ""
    return f"{made} {source.importer}{files}, with Heddle {manifest.heddle_version}"


def _types_table(manifest: Manifest) -> Table:
    table = Table()
    for column in ("type", "access", "name", "table", "kind"):
        table.add_column(column, justify="right" if column == "access" else "left")
    for type_ in manifest.types:
        table.add_section()
        for made in type_.accesses:
            words = (type_.name, str(made.access), made.name, made.table, made.kind)
            table.add_row(*map(visible, words))
    return table
