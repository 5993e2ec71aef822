"""Ranges of settings that several searches share."""

from __future__ import annotations

DISTANCE_MAX = 10_000
"""More than the number of values of any cell."""

PROPOSALS_MAX = 10_000


def check_proposals(proposals: int, least: int = 1, name: str = "proposals") -> None:
    """Check the number of candidates per generation.

    Args:
        proposals: the number.
        least: the minimum.
        name: the name of the setting.

    Raises:
        ValueError: the number is out of range; the message names the setting.
    """
    if not least <= proposals <= PROPOSALS_MAX:
        words = f"at least {least}" if proposals < least else f"at most {PROPOSALS_MAX}"
        raise ValueError(f"search.{name}={str(proposals)[:40]}: must be {words}")


def check_shares(**shares: float) -> None:
    """Check shares and probabilities.

    Args:
        shares: the values by the settings' names.

    Raises:
        ValueError: a value is not from 0 to 1; the message names the setting.
    """
    for name, value in shares.items():
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"search.{name}={value}: must be from 0 to 1")


def check_distances(**distances: float) -> None:
    """Check distances by which cells move.

    Args:
        distances: the values by the settings' names.

    Raises:
        ValueError: a value is not from 1 to `DISTANCE_MAX`; the message names the setting.
    """
    for name, value in distances.items():
        if not 1.0 <= value <= DISTANCE_MAX:
            raise ValueError(f"search.{name}={value}: must be from 1 to {DISTANCE_MAX}")
