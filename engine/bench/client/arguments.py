"""Types of the benchmarks' arguments: a wrong one ends the command with a message, not a trace."""

from __future__ import annotations

import argparse
import math
from pathlib import Path


def count(text: str) -> int:
    """Return a number of at least 1.

    Raises:
        ArgumentTypeError: the text is none.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    """Return a length of time above 0, in seconds.

    Raises:
        ArgumentTypeError: the text is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of seconds above 0, such as 2")
    return value


def existing_folder(text: str) -> Path:
    """Return the path of a folder that is there.

    Raises:
        ArgumentTypeError: it is none.
    """
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r}: is no folder; name one on a disk")
    return path
