"""Commands that are printed to be copied into a shell."""

from __future__ import annotations

import shlex


def heddle_command(*words: object) -> str:
    """A command line of `heddle`, quoted where a shell needs it."""
    return shlex.join(["heddle", *map(str, words)])
