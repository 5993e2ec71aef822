"""`heddle check --export`: a recorded history for an external checker."""

from __future__ import annotations

from pathlib import Path

import click

from envs.history_formats import FORMATS, FormatError
from trainer.checkpoint import write_atomically
from trainer.command.errors import FAILED, UsageError
from trainer.command.output import refuse_bad_output
from trainer.command.recorded import checked_history, contradictions


def export_history(file: Path, name: str, output: Path) -> None:
    """Write a recorded history in the format of an external checker.

    Ranges and misses are left out, because none of the formats can express them.

    Args:
        file: a Parquet file of `heddle check`.
        name: one of `FORMATS`.
        output: the file to write.

    Raises:
        UsageError: the history is damaged, empty or does not fit the format, or the output can't
            be written.
        SystemExit: the history contradicts itself.
    """
    refuse_bad_output(str(output))
    recorded, report = checked_history(file, "history=")
    if found := contradictions(report):
        click.echo(f"error: {file}: contradicts itself: {found[0].strip()}", err=True)
        raise SystemExit(FAILED)
    try:
        text = FORMATS[name](recorded)
    except FormatError as error:
        raise UsageError(f"{file}: can't be written as {name}: {error}") from None
    write_atomically(output, text)
    click.echo(f"{name}: {output}")
