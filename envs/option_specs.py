"""The options that the engine declares, each with its default, range and description."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from envs.engine_interface import load_engine

Number = int | float
Value = Number | str | list[str] | None


@dataclass(frozen=True)
class OptionSpec:
    """The declaration of one option.

    Attributes:
        name: name of the option within its group.
        kind: `integer`, `real`, `flag`, `choice`, `text` or `names`.
        default: default value; None if the sentence describes the default.
        least: smallest value of a number with a range, else None.
        most: largest value of a number with a range, else None.
        choices: allowed values; empty if the kind and the range decide.
        sentence: description of the option.
    """

    name: str
    kind: str
    sentence: str
    default: Value = None
    least: Number | None = None
    most: Number | None = None
    choices: tuple[str | int, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values as text; "" if the kind says all."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        if self.least is None or self.most is None:
            return ""
        return f"{shown_number(self.least)} to {shown_number(self.most)}"

    @property
    def words(self) -> str:
        """The sentence, followed by the allowed values if it does not name them."""
        named = all(str(choice) in self.sentence for choice in self.choices) and self.choices
        return self.sentence if named or not self.allowed else f"{self.sentence} ({self.allowed})"


TRACE_PART = (
    OptionSpec("trace", "text", "folder of a trace; heddle trace import makes one"),
    OptionSpec(
        "day",
        "text",
        "day of the trace (UTC), such as 2026-03-01, or all; null: the last, or all of a small "
        "trace without hours",
    ),
    OptionSpec(
        "hours",
        "text",
        "hours of the day (UTC): 9, 9-12, 9:20-9:40, or peak, the hour with most transactions; "
        "null: all of a day that is named, else the peak",
    ),
    OptionSpec(
        "exclude",
        "names",
        "transaction types of the trace that are not replayed, such as [report]",
        default=[],
    ),
)
"""The options that choose the part of a trace to replay. They become a program for the engine."""


@functools.cache
def engine_specs(group: str, name: str = "") -> tuple[OptionSpec, ...]:
    """Return the options that the engine declares.

    Args:
        group: `workload`, `machine`, `machine/costs` or `schedule`.
        name: name of the workload or the machine.

    Raises:
        ImportError: the engine is not built.
        ValueError: the group, workload or machine is unknown.
    """
    return tuple(_spec_of(declared) for declared in load_engine().option_specs(group, name))


def shown_number(number: Number) -> str:
    """Return a number as text, without a fraction if it is whole."""
    return str(int(number)) if float(number).is_integer() else repr(number)


def _spec_of(declared: Any) -> OptionSpec:
    """Convert a declaration of the engine."""
    return OptionSpec(
        name=declared.name,
        kind=declared.kind,
        sentence=declared.sentence,
        default=declared.default,
        least=declared.least,
        most=declared.most,
        choices=tuple(declared.choices),
    )
