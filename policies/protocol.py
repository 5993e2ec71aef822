"""The protocol of a policy as cells.

A policy is a table, or another protocol of the engine with its options. The section `protocol` of
the file names the latter; a file without one holds a table. The backoff and the schedule apply in
both cases.

The engine decides which options are valid. A search uses those of `OPTIONS`, and a rank for each
transaction type.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

TABLE = "policy_table"
"""The protocol that executes the table."""

LOCKING = "two_phase_locking"
"""The protocol that has options."""

PROTOCOLS = (TABLE, LOCKING, "mvto", "mvschedo")
"""The protocols that a search may choose, the default first."""

RANK = "rank"
"""The option of `two_phase_locking` with a digit for each transaction type."""

RANKS = (0, 1, 2)
"""The ranks of a type that a search may use; a lock goes to the highest rank first."""


UNSEARCHED = ("partitions", "span")
"""The options of `two_phase_locking` that no search uses."""


@dataclass(frozen=True)
class Option:
    """An option of `two_phase_locking`.

    Attributes:
        name: name of the option.
        choices: values that a search may use; the first one is the engine's default.
        needs: values of other options, one of which each must have for the option to have effect.
        grants: whether the option belongs to the grant policy (action group `grant`).
    """

    name: str
    choices: tuple[str, ...]
    needs: Mapping[str, Collection[str]] = field(default_factory=lambda: MappingProxyType({}))
    grants: bool = False

    def has_effect(self, options: Mapping[str, str]) -> bool:
        """Return whether the option has an effect with the values of the others."""
        return all(options[other] in values for other, values in self.needs.items())


_DETECTS = MappingProxyType({"conflict": ("detect",)})

OPTIONS = (
    Option("conflict", ("wait_die", "no_wait", "detect")),
    Option(
        "grant",
        ("fifo", "vats", "mlf", "mblf", "ddf", "ldsf", "bldsf", "hldsf", "cats"),
        _DETECTS,
        grants=True,
    ),
    Option(
        "dependency",
        ("approximate", "exact"),
        {**_DETECTS, "grant": ("ldsf", "bldsf", "hldsf")},
        grants=True,
    ),
    Option(
        "delay",
        ("log2", "sqrt", "sqrt_log2", "one", "linear"),
        {**_DETECTS, "grant": ("bldsf",)},
        grants=True,
    ),
)
"""The options in the order of their cells; an option needs only those before it."""


def protocol_name(protocol: Mapping[str, Any] | None) -> str:
    """Return the name of the protocol of a policy's section `protocol`."""
    return TABLE if protocol is None else str(protocol["name"])


def protocol_values(protocol: Mapping[str, Any] | None, types: int) -> list[str | int]:
    """Return the values of the cells: protocol, options, and a rank for each of several types.

    An option that is missing, or has no effect, has its default.

    Args:
        protocol: valid section `protocol` of a policy file, or None.
        types: number of the workload's transaction types.
    """
    name = protocol_name(protocol)
    given = dict(protocol["options"]) if protocol is not None and name == LOCKING else {}
    options: dict[str, str] = {}
    for option in OPTIONS:
        effective = name == LOCKING and option.has_effect(options)
        default = option.choices[0]
        options[option.name] = given.get(option.name, default) if effective else default
    ranks = [0] * types
    if given.get(RANK) and options["conflict"] == "detect":
        ranks = _dense([int(digit) for digit in given[RANK]])
    return [name, *options.values(), *(ranks if types > 1 else [])]


def protocol_of(values: Sequence[str | int]) -> dict[str, Any] | None:
    """Return the section `protocol` for the values of the cells; None for a table.

    Options that have their default or no effect are left out.
    """
    name, settings, ranks = values[0], values[1 : 1 + len(OPTIONS)], values[1 + len(OPTIONS) :]
    if name == TABLE:
        return None
    found: dict[str, str] = {}
    if name == LOCKING:
        options: dict[str, str] = {}
        for option, value in zip(OPTIONS, settings, strict=True):
            options[option.name] = str(value)
            if not option.has_effect(options):
                options[option.name] = option.choices[0]
            if options[option.name] != option.choices[0]:
                found[option.name] = options[option.name]
        dense = _dense([int(rank) for rank in ranks])
        if any(dense) and options["conflict"] == "detect":
            found[RANK] = "".join(map(str, dense))
    return {"name": name, "options": found}


def protocol_words(protocol: Mapping[str, Any] | None, types: Sequence[str]) -> str:
    """Return the protocol of a policy as one line, with its ranks by the names of the types."""
    if protocol is None:
        return "the table"
    parts = [str(protocol["name"])]
    for key, value in protocol["options"].items():
        if key == RANK:
            ranks = (f"{name} {digit}" for name, digit in zip(types, value, strict=False))
            value = ", ".join(ranks)
        parts.append(f"{key} {value}")
    return "; ".join(parts)


def _dense(ranks: Sequence[int]) -> list[int]:
    """Return ranks of the same order without gaps, from 0."""
    known = sorted(set(ranks))
    return [known.index(rank) for rank in ranks]
