"""How a night ends."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a night ended, or where it stands."""

    SKIPPED = "skipped"
    """The peak did not move, or was trained for in vain not long ago: nothing was trained."""
    PROMOTED = "promoted"
    """The candidate is served."""
    KEPT = "kept"
    """The candidate is not better for sure: the champion is served on."""
    PROMOTING = "promoting"
    """Judged better, and not served yet: what a process that was killed just then leaves."""
    BAD_DAY = "bad day"
    """The day can't be used."""
    NOTHING_TO_JUDGE = "nothing to judge"
    """The peak hour has too little in it."""
    FAILED = "failed"
    """Something could not be measured."""

    @property
    def decided(self) -> bool:
        """Whether the night is over; after any other outcome the next run begins it again."""
        return self in (Outcome.SKIPPED, Outcome.PROMOTED, Outcome.KEPT)
