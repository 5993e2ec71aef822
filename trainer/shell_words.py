"""Commands that are printed to be copied into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path


def heddle_command(*words: object) -> str:
    """A command line of `heddle`, quoted where a shell needs it.

    Args:
        words: what follows `heddle`; a path is a `Path`, so that none is taken for an option.
    """
    return shlex.join(["heddle", *map(_word, words)])


def _word(word: object) -> str:
    text = str(word)
    return f"./{text}" if isinstance(word, Path) and text.startswith("-") else text
