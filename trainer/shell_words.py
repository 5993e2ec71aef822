"""Formats commands to be copied into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path


def heddle_command(*words: object) -> str:
    """Return a command line of `heddle`, quoted for a shell.

    Args:
        words: the arguments; a path must be a `Path`, so that it is not read as an option.
    """
    return shlex.join(["heddle", *map(_word, words)])


def _word(word: object) -> str:
    text = str(word)
    return f"./{text}" if isinstance(word, Path) and text.startswith("-") else text
