"""Histories that commands are given: read, checked, and refused for the same reasons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.history import History, HistoryFileError
from trainer.command.errors import UsageError

CONTRADICTION = "contradiction"
"""The name of what no run can have written, as the checker has it."""


def checked_history(path: Path, key: str = "") -> tuple[History, Mapping[str, Any]]:
    """Read a history and check it.

    Args:
        path: the file.
        key: what is in front of its name in a message, such as `history=`.

    Returns:
        The history, and the checker's report (`History.check`).

    Raises:
        UsageError: it is no history, a damaged one, or has nothing to judge.
    """
    try:
        history = History.load(path)
        report = history.check()
    except HistoryFileError as error:
        raise UsageError(f"{key}{error}") from None
    except ValueError as error:
        raise UsageError(f"{key}{path}: contradicts itself: {error}") from None
    if not report["transactions"] and not report["anomalies"]:
        attempts = len(history.attempts)
        held = "no attempt at a transaction"
        if attempts:
            held = f"{attempts:,} attempts, of which none committed or rolled back"
        raise UsageError(
            f"{key}{path}: there is nothing to judge: it holds {held}; record a longer run"
        )
    return history, report


def contradictions(report: Mapping[str, Any]) -> list[str]:
    """What a report says that no run can have written."""
    return [one["text"] for one in report["anomalies"] if one["name"] == CONTRADICTION]
