"""What can be set, as the engine declares it: each option's default, range and sentence."""

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
        name: of the option, within its group.
        kind: `integer`, `real`, `flag`, `choice`, `text` or `names`.
        default: its value where none is given; None: the sentence says what holds.
        least: the smallest value of a number with a range, else None.
        most: the largest.
        choices: the only values; empty: the kind and the range decide.
        sentence: what the option does.
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
        """The values it may have, in words; "" where its kind says all."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        if self.least is None or self.most is None:
            return ""
        return f"{shown_number(self.least)} to {shown_number(self.most)}"

    @property
    def words(self) -> str:
        """The sentence, and in brackets the values it may have that it does not name."""
        named = all(str(one) in self.sentence for one in self.choices) and self.choices
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
)
"""Which part of a trace a workload follows. The engine takes the program that is made of it."""


@functools.cache
def engine_specs(group: str, name: str = "") -> tuple[OptionSpec, ...]:
    """What the engine declares.

    Args:
        group: `workload`, `machine`, `machine/costs` or `schedule`.
        name: of the workload or the machine.

    Raises:
        ImportError: the engine is not built.
        ValueError: there is no such group, workload or machine.
    """
    return tuple(_spec_of(one) for one in load_engine().option_specs(group, name))


def shown_number(number: Number) -> str:
    """As people write it: without a fraction where it has none."""
    return str(int(number)) if float(number).is_integer() else repr(number)


def _spec_of(declared: Any) -> OptionSpec:
    """A declaration of the engine's, as a value of Python's."""
    return OptionSpec(
        name=declared.name,
        kind=declared.kind,
        sentence=declared.sentence,
        default=declared.default,
        least=declared.least,
        most=declared.most,
        choices=tuple(declared.choices),
    )
