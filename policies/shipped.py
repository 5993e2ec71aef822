"""The library: tables that are shipped, each with where it came from and how it scored.

A table of the library is named wherever a policy is, without path or ending. To add one, use
`heddle library add`; docs/library.md says what is kept of it.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "library"
"""Where the files are."""

ENDING = ".json"


def library_names() -> list[str]:
    """The names of all tables, in order."""
    return sorted(path.stem for path in FOLDER.glob(f"*{ENDING}"))


def in_library(name: str) -> bool:
    """Whether the library has a table of that name."""
    return name in library_names()


def library_path(name: str) -> Path:
    """The file of a table."""
    return FOLDER / f"{name}{ENDING}"
