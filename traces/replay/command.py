"""`heddle trace replay`: prepare a part of a trace for the engine."""

from __future__ import annotations

from pathlib import Path

import click

from traces.command import one_message
from traces.output import counted, print_table
from traces.output_file import refuse_bad_output
from traces.reader import open_trace
from traces.replay.likeness import (
    arrival_words,
    conflict_words,
    likeness_tables,
    recorded,
    replayed,
)
from traces.replay.part import choose_part
from traces.replay.prepared import make_shown, prepared_program
from traces.replay.program import read_program
from traces.result_file import named_output

EXAMPLES = """
\b
Examples:
  heddle trace replay shop
  heddle trace replay shop --day 2019-11-29 --hours peak
  heddle trace replay shop --hours 9-12 output=morning.program
  heddle trace replay shop --exclude report --exclude backup
"""


@click.command(epilog=EXAMPLES)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--day", metavar="YYYY-MM-DD", help="Replay this day (UTC), or all days.")
@click.option(
    "--hours", metavar="HOURS", help="Replay 9, 9-12, 9:20-9:40 (UTC), or peak, the busiest hour."
)
@click.option(
    "--exclude", multiple=True, metavar="TYPE", help="Leave out a transaction type (repeatable)."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the program to this file, for workload.program=FILE.",
)
@click.argument("words", nargs=-1, metavar="[output=FILE]")
@one_message
def replay(
    trace: Path,
    day: str | None,
    hours: str | None,
    exclude: tuple[str, ...],
    output: Path | None,
    words: tuple[str, ...],
) -> None:
    """Prepare a part of a trace for replay, and compare the two.

    The default is the whole trace if it has at most a million transactions, and otherwise the peak
    hour of its last day. workload=replay workload.trace=TRACE prepares the same part by itself.
    """
    output = named_output(words, output)
    refuse_bad_output(output, "output")
    opened = open_trace(trace)
    part = choose_part(opened, day, hours, exclude)
    if output is None:
        output = prepared_program(trace, day, hours, exclude)
    else:
        make_shown(opened, part, output)
    program = read_program(output)
    name = opened.manifest.name + (" (synthetic)" if opened.manifest.synthetic else "")
    sessions = counted(program.header["sessions"], "session")
    transactions = counted(program.header["transactions"], "transaction")
    click.echo(f"{name}, {part.words} (UTC): {transactions} in {sessions}")
    likeness = recorded(opened, part), replayed(program, part)
    for table in likeness_tables(*likeness):
        print_table(table)
    click.echo(conflict_words(*likeness))
    click.echo(arrival_words(program))
    for reason, count in program.header["left_out"].items():
        click.echo(f"left out: {counted(count, 'transaction')} {reason}")
    click.echo(f"program: {output}")
