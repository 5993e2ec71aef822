"""`heddle trace import`: convert a log into a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from traces.command import one_message
from traces.importers.base import LeftOut
from traces.importers.registry import FORMATS, find_format
from traces.importing import Imported, NothingImportedError, import_log
from traces.output import counted, print_reasons, print_table
from traces.result_file import JSON, TABLE, print_json

_COMMANDS = (
    "heddle trace import --format ecommerce 2019-Oct.csv.gz 2019-Nov.csv.gz shop",
    "heddle trace import --format access-log --mapping app.yaml app.jsonl app-trace",
    "heddle trace import --format complete-journey journey",
    "heddle trace import --format postgresql --schema schema.sql log/postgresql-*.csv shop-trace",
    "heddle trace import --format access-log --mapping app.yaml --format json app.jsonl app-trace",
    "heddle trace import --format access-log --help",
)
EXAMPLES = "\n\b\nExamples:\n" + "".join(f"  {command}\n" for command in _COMMANDS)


class ImportCommand(click.Command):
    """A command that has its own options and those of the format that the arguments name."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Find the format first, because it determines the options."""
        context.meta[FORMAT] = next(
            (name for name in _named_formats(args) if name in FORMATS), None
        )
        return super().parse_args(context, args)

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """The options; those of the format come last."""
        name = context.meta.get(FORMAT)
        own = find_format(name).options if name in FORMATS else ()
        return [*super().get_params(context), *own]


TYPES_SHOWN = 20
"""Rows of the table of types at most; `heddle trace show` prints all types."""

FORMAT = "traces.format"
"""The key of the format's name in the context."""


@click.command("import", cls=ImportCommand, epilog=EXAMPLES)
@click.option(
    "-f",
    "--format",
    "names",
    required=True,
    multiple=True,
    type=click.Choice([*FORMATS, TABLE, JSON]),
    help="Name the log's format; add json to print JSON.",
)
@click.option("--name", metavar="NAME", help="Name the trace.  [default: name of its folder]")
@click.option("--strict", is_flag=True, help="Fail at the first row left out or guessed.")
@click.option("--replace", is_flag=True, help="Replace OUT if it is a trace.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, type=click.Path(path_type=Path))
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@one_message
def import_trace(
    names: tuple[str, ...],
    name: str | None,
    strict: bool,
    replace: bool,
    sources: tuple[Path, ...],
    out: Path,
    **options: Any,
) -> None:
    """Convert a log into a trace, the folder OUT.

    If the import fails, OUT stays unchanged. Rows that are left out, or imported with a guess, are
    counted by reason, with examples. Name a format together with --help to list its options too.
    """
    format_name, form = _log_and_form(names)
    try:
        made = import_log(
            format_name, sources, out, name=name, strict=strict, replace=replace, **options
        )
    except NothingImportedError as error:
        _name_bad_rows(error.left_out)
        raise
    if form == JSON:
        print_json(_document(out, made))
    else:
        _report(out, made)
    hint = find_format(format_name).hint(made.tally.transactions)
    if hint is not None:
        click.echo(hint, err=True)


def _log_and_form(names: tuple[str, ...]) -> tuple[str, str]:
    """Return the format of the log and the format of the summary."""
    logs = list(dict.fromkeys(name for name in names if name in FORMATS))
    forms = list(dict.fromkeys(name for name in names if name not in FORMATS))
    if not logs:
        raise click.UsageError(f"--format: name the log's format: {', '.join(FORMATS)}")
    for named in (logs, forms):
        if len(named) > 1:
            raise click.UsageError(f"--format: give one of {' and '.join(named)}")
    return logs[0], forms[0] if forms else TABLE


def _document(out: Path, made: Imported) -> dict[str, Any]:
    """Return what `heddle trace show` prints as JSON, with examples of bad rows."""
    manifest = asdict(made.trace.manifest) | made.tally.as_dict()
    return manifest | {"trace": str(out), "examples": made.left_out.named}


def _report(out: Path, made: Imported) -> None:
    print_table(made.tally.table(TYPES_SHOWN))
    print_reasons(made.left_out.counts, made.left_out.guessed)
    _name_bad_rows(made.left_out)
    click.echo(f"{out}: {made.tally.transactions_text()}")


def _name_bad_rows(left_out: LeftOut) -> None:
    for reason, examples in left_out.named.items():
        count = left_out.counts[reason] + left_out.guessed[reason]
        click.echo(f"{reason}, {counted(count, 'row')}, for example", err=True)
        for example in examples:
            click.echo(f"  {example}", err=True)


def _named_formats(args: list[str]) -> Iterator[str]:
    """Yield the values of `--format` among the arguments."""
    for number, arg in enumerate(args):
        if arg in ("-f", "--format") and number + 1 < len(args):
            yield args[number + 1]
        elif arg.startswith("--format="):
            yield arg.removeprefix("--format=")
        elif arg.startswith("-f") and len(arg) > 2:
            yield arg[2:].removeprefix("=")
