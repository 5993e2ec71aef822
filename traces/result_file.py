"""One way to have results: `output=FILE`, CSV by its ending, and `--format json` on the screen."""

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
    help="What is printed: a table, or everything as JSON.",
)


def with_output(command: Command) -> Command:
    """`output=FILE` and the option `--output` for it, as `words` and `output`."""
    option = click.option(
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write everything there: CSV if it ends in .csv, else JSON.",
    )
    return click.argument("words", nargs=-1, metavar="[output=FILE]")(option(command))


def named_output(words: Sequence[str], *options: Path | None) -> Path | None:
    """The file that was named, by whichever way.

    Args:
        words: what was typed beside options.
        options: the values of the options that name it.

    Raises:
        TraceError: something else was typed, or two files.
    """
    for word in words:
        if not word.startswith(OUTPUT) or word == OUTPUT:
            raise TraceError(f"{word}: write output=FILE, or an option; --help has them")
    named = [Path(word.removeprefix(OUTPUT)) for word in words]
    named += [option for option in options if option is not None]
    if len(named) > 1:
        raise TraceError(f"output={named[1]}: {named[0]} is named already; name one file")
    return named[0] if named else None


def file_text(path: Path, document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """What a file holds: of a `.csv` the rows, else the document.

    Args:
        path: the file.
        document: everything.
        rows: its main list.
    """
    if path.suffix.lower() == CSV:
        text = csv_text(rows)
    else:
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    # The name of a file need not be text: what is none has the same form in JSON.
    return text.encode(errors="backslashreplace").decode()


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV with a header; what is within a field is `field.part`, but for lists of rows."""
    flat = [dict(_flat(row)) for row in rows]
    columns = dict.fromkeys(key for row in flat for key in row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document for programs."""
    click.echo(json.dumps(document, indent=1))


def _flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, list | tuple):
            if any(isinstance(one, Mapping) for one in value):
                continue
            value = {str(at): one for at, one in enumerate(value)}
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
