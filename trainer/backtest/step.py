"""A night and the day after it, as they are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from trainer.backtest.next_day import NextDay
from trainer.checkpoint import write_atomically
from trainer.nightly.errors import StateError
from trainer.nightly.nights import Night, read_night
from trainer.nightly.state import NightFolder

NEXT_DAY = "next_day.json"
"""The file in a night's folder with the result of the day after it."""

OLD_REASON = "why_not_measured"
"""The name of `reason` in files of earlier versions."""


@dataclass(frozen=True)
class Step:
    """A night and the day after it.

    Attributes:
        night: how it ended.
        next_day: how what was served then did; None where that could not be measured …
        reason: why it could not be measured; empty if it was.
    """

    night: Night
    next_day: NextDay | None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it, the night by its day: the rest is in its own record."""
        return {
            "night": f"{self.night.day}",
            "outcome": self.night.outcome.value,
            "next_day": self.next_day.as_dict() if self.next_day else None,
            "reason": self.reason,
        }

    def save(self, folder: NightFolder) -> None:
        """Write it beside the night's record.

        A step that is kept is over, however it ended: had its night again, after later ones, its
        policy would replace theirs.

        Raises:
            WritingError: it can't be written.
        """
        write_atomically(folder.path / NEXT_DAY, json.dumps(self.as_dict(), indent=1) + "\n")

    @classmethod
    def load(cls, folder: NightFolder) -> Step | None:
        """What was kept of a night; None if nothing.

        Raises:
            StateError: it can't be read. Measured anew, it would be of what later nights left.
        """
        night = read_night(folder)
        if night is None:
            return None
        path = folder.path / NEXT_DAY
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            day = found["next_day"]
            reason = found[OLD_REASON] if OLD_REASON in found else found["reason"]
            return cls(night, NextDay.from_dict(day) if day else None, reason)
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise StateError(
                f"{path}: is damaged ({error}); put a copy in its place, or begin anew in another "
                "folder, with state="
            ) from error
