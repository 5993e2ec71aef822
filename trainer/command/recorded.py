"""Reads and checks histories for the commands that take one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.history import History, HistoryFileError
from policies.protocol import SERIALIZABLE
from trainer.command.errors import UsageError

CONTRADICTION = "contradiction"
"""The checker's name of an anomaly that no run can have produced."""


def checked_history(
    path: Path, key: str = "", isolation: str = SERIALIZABLE
) -> tuple[History, Mapping[str, Any]]:
    """Read a history and check it.

    Args:
        path: the file.
        key: the text before its name in messages, such as `history=`.
        isolation: level at which it is checked.

    Returns:
        The history, and the checker's report (`History.check`).

    Raises:
        UsageError: it is not a history, is damaged, or has nothing to check.
    """
    try:
        history = History.load(path)
        report = history.check(isolation)
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
            f"{key}{path}: there is nothing to check: it holds {held}; record a longer run"
        )
    return history, report


def contradictions(report: Mapping[str, Any]) -> list[str]:
    """Return the texts of a report's anomalies that no run can have produced."""
    anomalies = report["anomalies"]
    return [anomaly["text"] for anomaly in anomalies if anomaly["name"] == CONTRADICTION]
