"""`heddle history`: a recorded history for an outside checker."""

from __future__ import annotations

from pathlib import Path

import click

from envs.history_formats import FORMATS, FormatError
from traces.result_file import named_output
from trainer.checkpoint import write_atomically
from trainer.command.errors import FAILED, UsageError, one_message
from trainer.command.output import refuse_bad_output
from trainer.command.recorded import checked_history, contradictions


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--to", "name", type=click.Choice(sorted(FORMATS)), required=True, help="The format.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The same as output=.")
@click.argument("words", nargs=-1, metavar="output=FILE")
@one_message
def history(file: Path, name: str, output: Path | None, words: tuple[str, ...]) -> None:
    r"""Write a recorded history as an outside checker reads it.

    FILE is a Parquet file of `heddle check`. dbcop: the JSON of `dbcop verify`. elle_register and
    elle_append: EDN for Elle's rw-register and list-append. Ranges and misses are left out: none of
    them can express those. A history that `heddle check` refuses as damaged, as contradicting
    itself or as empty is refused here too.

    \b
    Example:
      heddle history counterexample/history.parquet --to dbcop output=history.json
    """
    output = named_output(words, output)
    if output is None:
        raise UsageError("output= names no file; such as output=history.json")
    refuse_bad_output(str(output))
    recorded, report = checked_history(file)
    if found := contradictions(report):
        click.echo(f"error: {file}: contradicts itself: {found[0].strip()}", err=True)
        raise SystemExit(FAILED)
    try:
        text = FORMATS[name](recorded)
    except FormatError as error:
        raise UsageError(f"{file}: can't be written as {name}: {error}") from None
    write_atomically(output, text)
    click.echo(f"{name}: {output}")
