"""The outcomes of a night."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a night, or its current step."""

    SKIPPED = "skipped"
    """The peak has not shifted, or a recent training for it was rejected: nothing was trained."""
    PROMOTED = "promoted"
    """The candidate is published."""
    KEPT = "kept"
    """The candidate is not significantly better: the champion stays published."""
    PROMOTING = "promoting"
    """The candidate is better but not published yet; a killed process leaves this outcome."""
    BAD_DAY = "bad day"
    """The day can't be used."""
    NOTHING_TO_JUDGE = "nothing to judge"
    """The peak hour is too small."""
    FAILED = "failed"
    """A measurement failed."""

    @property
    def decided(self) -> bool:
        """Whether the night is final; after any other outcome the next run starts it over."""
        return self in (Outcome.SKIPPED, Outcome.PROMOTED, Outcome.KEPT)
