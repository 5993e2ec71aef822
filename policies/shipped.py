"""The bundled policy library: tables with their provenance and scores.

A table is named without path and extension. `heddle policy add` adds one; docs/library.md
describes what is stored.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "library"
"""The folder of the bundled library."""

ENDING = ".json"


def library_names(folder: Path | None = None) -> list[str]:
    """Return the sorted names of the tables in a folder; None for the bundled library."""
    return sorted(path.stem for path in (folder or FOLDER).glob(f"*{ENDING}"))


def in_library(name: str) -> bool:
    """Return whether the bundled library has a table with a name."""
    return name in library_names()


def library_path(name: str, folder: Path | None = None) -> Path:
    """Return the path of a table in a folder; None for the bundled library."""
    return (folder or FOLDER) / f"{name}{ENDING}"
