"""Writes pictures to files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from traces.figure_texts import names_as_they_are
from trainer.checkpoint import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figure(figure: Figure, path: Path) -> None:
    """Draw a figure into a file, atomically; the file's ending gives the format.

    Raises:
        WritingError: it can't be written.
    """
    drawn = io.BytesIO()
    with names_as_they_are(figure):
        figure.savefig(drawn, dpi=150, format=path.name.rpartition(".")[2])
    write_atomically(path, drawn.getvalue())
