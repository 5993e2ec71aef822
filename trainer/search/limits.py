"""What settings that several searches have may be."""

from __future__ import annotations

DISTANCE_MAX = 10_000
"""Farther than any cell has values."""

PROPOSALS_MAX = 10_000


def check_proposals(proposals: int, least: int = 1, name: str = "proposals") -> None:
    """Refuse a number of candidates at a time that makes no sense.

    Args:
        proposals: the number.
        least: the smallest that does.
        name: how the setting is called.

    Raises:
        ValueError: it makes none; the message names the setting.
    """
    if not least <= proposals <= PROPOSALS_MAX:
        words = f"at least {least}" if proposals < least else f"at most {PROPOSALS_MAX}"
        raise ValueError(f"search.{name}={str(proposals)[:40]}: must be {words}")


def check_shares(**shares: float) -> None:
    """Refuse shares and probabilities that are none.

    Args:
        shares: the values by the settings' names.

    Raises:
        ValueError: one is not from 0 to 1; the message names it.
    """
    for name, value in shares.items():
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"search.{name}={value}: must be from 0 to 1")


def check_distances(**distances: float) -> None:
    """Refuse distances by which no cell can move.

    Args:
        distances: the values by the settings' names.

    Raises:
        ValueError: one is not from 1 to `DISTANCE_MAX`; the message names it.
    """
    for name, value in distances.items():
        if not 1.0 <= value <= DISTANCE_MAX:
            raise ValueError(f"search.{name}={value}: must be from 1 to {DISTANCE_MAX}")
