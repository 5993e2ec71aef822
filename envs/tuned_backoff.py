"""The backoff that suits Silo best on a workload and machine: what `silo_tuned` runs under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envs.subject import NATIVE, Subject

TUNED = "silo_tuned"
"""Silo under the better of the best constant and the exponential backoff, by a sweep in the run."""


@dataclass(frozen=True)
class TunedBackoff:
    """A backoff for Silo.

    Attributes:
        constant_us: the best constant, µs.
        exponential: whether Silo's own exponential backoff is faster than that.
    """

    constant_us: float
    exponential: bool = False

    @property
    def words(self) -> str:
        """The backoff, for people."""
        if self.exponential:
            return "exponential backoff"
        return f"a constant backoff of {self.constant_us:g} µs"

    def silo(self, name: str = TUNED) -> Subject:
        """Silo under this backoff."""
        if self.exponential:
            return Subject(name, NATIVE["silo"].protocol)
        return Subject(name, "silo", backoff="static", backoff_us=self.constant_us)

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"constant_us": self.constant_us, "exponential": self.exponential}

    @classmethod
    def from_json(cls, source: Mapping[str, Any] | float) -> TunedBackoff:
        """Read what `as_dict` gives, or a constant alone, which earlier versions wrote.

        Raises:
            KeyError, TypeError, ValueError: it is neither.
        """
        if isinstance(source, Mapping):
            return cls(float(source["constant_us"]), bool(source["exponential"]))
        return cls(float(source))


def untuned() -> TunedBackoff:
    """Stands in where only what a name stands for is asked, and nothing is measured."""
    return TunedBackoff(1.0)
