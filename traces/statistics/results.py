"""Writes statistics to files and prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from traces.errors import TraceError
from traces.output import print_table
from traces.output_file import refuse_bad_output, write_results
from traces.result_file import JSON, named_output, print_json
from traces.statistics.pictures.figure import ENDINGS, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Results:
    """Results in the forms for people and programs.

    Attributes:
        what: the name of the results.
        document: all results.
        rows: their main list.
        table: the table; None if it would have no rows.
        below: the text below the table.
        draw: draws the picture, if there is one.
    """

    what: str
    document: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    table: Table | None
    below: str
    draw: Callable[[], Figure] | None = None


@dataclass(frozen=True)
class Destination:
    """The destination of results.

    Attributes:
        file: file for the results, or None.
        plot: file for the picture, or None.
        as_json: whether the results are printed as JSON.
    """

    file: Path | None
    plot: Path | None
    as_json: bool

    @classmethod
    def of(
        cls, words: Sequence[str], *options: Path | None, form: str, plot: Path | None = None
    ) -> Destination:
        """Return the destination that the arguments name.

        Args:
            words: the arguments that are no options.
            options: the options that name the file.
            form: the value of `--format`.
            plot: the value of `--plot`.

        Raises:
            TraceError: a file can't be written.
        """
        file = named_output(words, *options)
        refuse_bad_output(file, "output")
        refuse_bad_output(plot, "--plot")
        if plot is not None and plot.suffix not in ENDINGS:
            raise TraceError(f"--plot {plot}: must end in one of {', '.join(ENDINGS)}")
        if plot is not None and file is not None and plot.resolve() == file.resolve():
            raise TraceError(f"--plot {plot}: is also output=; name another file")
        return cls(file, plot, form == JSON)

    def put(self, results: Results) -> None:
        """Write the files, then print the results, even if a file can't be written.

        Raises:
            TraceError: a file can't be written.
        """
        written: list[str] = []
        try:
            self._write(results, written)
        finally:
            if self.as_json:
                print_json(results.document)
            else:
                if results.table is not None:
                    print_table(results.table)
                click.echo(results.below)
            for line in written:
                click.echo(line, err=self.as_json)

    def _write(self, results: Results, written: list[str]) -> None:
        if self.file is not None:
            write_results(self.file, results.document, results.rows)
            written.append(f"{results.what}: {self.file}")
        if self.plot is not None and results.draw is not None:
            write_figure(results.draw(), self.plot)
            written.append(f"picture: {self.plot}")
