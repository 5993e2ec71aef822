"""The library: tables that are shipped, each with where it came from and how it scored.

A table of the library is named wherever a policy is, without path or ending. To add one, use
`heddle policy add`; docs/library.md says what is kept of it.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "library"
"""Where the files are."""

ENDING = ".json"


def library_names(folder: Path | None = None) -> list[str]:
    """The names of all tables of a folder, in order; None: of the library's own."""
    return sorted(path.stem for path in (folder or FOLDER).glob(f"*{ENDING}"))


def in_library(name: str) -> bool:
    """Whether the library has a table of that name."""
    return name in library_names()


def library_path(name: str, folder: Path | None = None) -> Path:
    """The file of a table in a folder; None: in the library's own."""
    return (folder or FOLDER) / f"{name}{ENDING}"
