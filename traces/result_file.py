"""Results for programs: `output=FILE` (CSV or JSON by its ending) and `--format json`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from traces.errors import TraceError

Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUT = "output="
CSV = ".csv"
TABLE, JSON = "table", "json"

with_format = click.option(
    "--format",
    "form",
    type=click.Choice((TABLE, JSON)),
    default=TABLE,
    show_default=True,
    help="Print a table, or all results as JSON.",
)


def with_output(command: Command) -> Command:
    """Add `output=FILE` and its option `--output`, as the parameters `words` and `output`."""
    option = click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write all results: CSV if it ends in .csv, else JSON.",
    )
    return click.argument("words", nargs=-1, metavar="[output=FILE]")(option(command))


def named_output(words: Sequence[str], *options: Path | None) -> Path | None:
    """Return the output file that the arguments name.

    Args:
        words: the arguments that are no options.
        options: the values of the options that name it.

    Raises:
        TraceError: an argument has another form, or two files are named.
    """
    for word in words:
        if not word.startswith(OUTPUT) or word == OUTPUT:
            raise TraceError(f"{word}: is not output=FILE or an option; see --help")
    named = [Path(word.removeprefix(OUTPUT)) for word in words]
    named += [option for option in options if option is not None]
    if len(named) > 1:
        raise TraceError(f"output={named[1]}: the output is already {named[0]}; name one file")
    return named[0] if named else None


def file_text(path: Path, document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the content of a result file: the rows for `.csv`, otherwise the document as JSON.

    Args:
        path: the file.
        document: all results.
        rows: their main list.
    """
    if path.suffix.lower() == CSV:
        text = csv_text(rows)
    else:
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    # File names need not be valid text; JSON escapes such bytes in the same way.
    return text.encode(errors="backslashreplace").decode()


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; nested values become columns `field.part`, lists of rows are omitted."""
    flat = [dict(_flat(row)) for row in rows]
    columns = dict.fromkeys(key for row in flat for key in row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document as JSON."""
    click.echo(json.dumps(document, indent=1))


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, list | tuple):
            if any(isinstance(item, Mapping) for item in value):
                continue
            value = {str(at): item for at, item in enumerate(value)}
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
