"""Lengths of time in settings and messages."""

from __future__ import annotations

import math
import re

UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
"""Seconds of each unit."""

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def parse_duration(typed: str) -> float:
    """Read a length of time, in seconds: `90`, `90s`, `5min`, `1h30min`, `1.5 hours`.

    Raises:
        ValueError: it is not a length of time; the message has examples.
    """
    text = typed.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        text += "s"
    parts = _PART.findall(text)
    known = all(unit in UNITS for _, unit in parts)
    if not parts or not known or _PART.sub("", text):
        raise ValueError(
            f"{typed[:40]}: is not a length of time; write it such as 90s, 5min or 1h30min"
        )
    seconds = math.fsum(float(number) * UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise ValueError(f"{typed[:40]}: must be above 0, such as 5min")
    return seconds


def duration_words(seconds: float) -> str:
    """Return a length of time for people: `12 s`, `5 min 12 s`, `1 h 30 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
