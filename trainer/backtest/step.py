"""Steps of a backtest: a night and the day after it, as stored."""

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
"""The file in a night's folder with the measurement of the next day."""

OLD_REASON = "why_not_measured"
"""The name of `reason` in files of earlier versions."""


@dataclass(frozen=True)
class Step:
    """A night and the day after it.

    Attributes:
        night: the record of the night.
        next_day: the measurement of the next day; None if that failed.
        reason: why it failed; empty otherwise.
    """

    night: Night
    next_day: NextDay | None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, the night by its day: the rest is in its own record."""
        return {
            "night": f"{self.night.day}",
            "outcome": self.night.outcome.value,
            "next_day": self.next_day.as_dict() if self.next_day else None,
            "reason": self.reason,
        }

    def save(self, folder: NightFolder) -> None:
        """Write it to the night's folder.

        A stored step is final, whatever its result: if its night ran again after later ones, its
        policy would replace theirs.

        Raises:
            WritingError: it can't be written.
        """
        write_atomically(folder.path / NEXT_DAY, json.dumps(self.as_dict(), indent=1) + "\n")

    @classmethod
    def load(cls, folder: NightFolder) -> Step | None:
        """Load the step of a night; None if none is stored.

        Raises:
            StateError: the file is damaged. A new measurement would be of later nights' policy.
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
                f"{path}: is damaged ({error}); restore a copy, or start over in another folder "
                "with state="
            ) from error
