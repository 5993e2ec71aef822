"""User-defined tags of runs: a file in the run's folder, and tags of its MLflow record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from trainer.checkpoint import write_atomically
from trainer.run_folder import RunFolder

FILE_NAME = "tags.json"
PREFIX = "tag."
"""Prefix of the tags in MLflow, which separates them from Heddle's and MLflow's own."""

_KEY = re.compile(r"[\w.\- /:]{1,200}")


class TagError(ValueError):
    """An invalid tag; the message has the reason."""


def parse_tags(typed: Sequence[str]) -> dict[str, str]:
    """Parse tags from a command line: `key`, or `key=value`.

    Raises:
        TagError: a key has characters that MLflow does not accept.
    """
    found = {}
    for text in typed:
        key, _, value = text.partition("=")
        if not _KEY.fullmatch(key) or not key.strip():
            raise TagError(
                f"{text[:60]}: a tag is KEY or KEY=VALUE; the key consists of letters, digits, "
                "spaces and _ - . / :, such as baseline or ticket=42"
            )
        found[key] = value
    return found


def read_tags(run: RunFolder) -> dict[str, str]:
    """Read the tags of a run; none if unreadable."""
    try:
        found = json.loads((run.path / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(key): str(value) for key, value in found.items()}


def write_tags(run: RunFolder, tags: Mapping[str, str]) -> None:
    """Replace the tags of a run.

    Raises:
        WritingError: they can't be written; the old tags stay.
    """
    write_atomically(run.path / FILE_NAME, json.dumps(dict(tags), ensure_ascii=False) + "\n")


def tag_words(tags: Mapping[str, str]) -> str:
    """Format tags as on a command line."""
    return ", ".join(f"{key}={value}" if value else key for key, value in tags.items())
