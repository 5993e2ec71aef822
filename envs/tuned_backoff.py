"""The backoff of `silo_tuned`, which is the best one for Silo on a workload and machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.subject import NATIVE, Subject

TUNED = "silo_tuned"
"""The name of Silo with the best constant backoff or exponential backoff, whichever is faster."""


@dataclass(frozen=True)
class TunedBackoff:
    """The best backoff for Silo.

    Attributes:
        constant_us: best constant backoff in µs.
        exponential: whether exponential backoff is faster than the constant.
    """

    constant_us: float
    exponential: bool = False

    @property
    def name(self) -> str:
        """The name of Silo with this backoff."""
        return TUNED

    @property
    def words(self) -> str:
        """The backoff as text."""
        if self.exponential:
            return "exponential backoff"
        return f"a constant backoff of {self.constant_us:g} µs"

    def subject(self) -> Subject:
        """Return Silo with this backoff, as a reference."""
        return self.silo()

    def silo(self, name: str = TUNED) -> Subject:
        """Return Silo with this backoff."""
        if self.exponential:
            return Subject(name, NATIVE["silo"].protocol)
        return Subject(name, "silo", backoff="static", backoff_us=self.constant_us)

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON values."""
        return {"constant_us": self.constant_us, "exponential": self.exponential}

    @classmethod
    def from_json(cls, source: Mapping[str, Any] | float) -> TunedBackoff:
        """Read the JSON values that `as_dict` returns, or a number, as earlier versions wrote.

        Raises:
            KeyError, TypeError, ValueError: the value has another form.
        """
        if isinstance(source, Mapping):
            return cls(float(source["constant_us"]), bool(source["exponential"]))
        return cls(float(source))


def untuned() -> TunedBackoff:
    """Return an arbitrary backoff, for callers of `subject_of` that do not measure it."""
    return TunedBackoff(1.0)
