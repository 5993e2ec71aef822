"""The cells of the protocols that a search may choose: a name, options, and ranks of types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from policies.protocol import (
    DEFAULT_STORE,
    DEFAULTS,
    EXTERNAL,
    LOCKING,
    RANK,
    SEARCHED,
    STORE,
    TABLE,
    Option,
    parse_typed,
    protocol_name,
)

Value = str | int
"""The value of a cell: a name, the value of an option, or a rank."""


@dataclass(frozen=True)
class ProtocolCells:
    """The cells of several protocols.

    Attributes:
        protocols: the protocols other than the table. Options may follow a name, as in
            `external:store=postgresql`; they are fixed, and have no cells.
        types: number of the workload's transaction types.
    """

    protocols: tuple[str, ...]
    types: int

    @property
    def names(self) -> tuple[str, ...]:
        """The choices of the first cell."""
        return (TABLE, *self.protocols)

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """The options that have a cell, in order."""
        found: list[Option] = []
        for name, fixed in map(_parsed, self.protocols):
            store = fixed.get(STORE, DEFAULT_STORE)
            found += [
                option
                for option in SEARCHED.get(name, ())
                if option.name not in fixed
                and (not option.stores or store in option.stores)
                and all(fixed.get(need, values[0]) in values for need, values in _needs(option))
            ]
        return tuple(found)

    @property
    def ranked(self) -> int:
        """The number of types that have a rank."""
        return self.types if LOCKING in self.protocols and self.types > 1 else 0

    @property
    def size(self) -> int:
        """The number of cells."""
        return 1 + len(self.options) + self.ranked if self.protocols else 0

    def owner(self, option: Option) -> str:
        """Return the protocol that has an option, as the first cell names it."""
        return next(
            typed for typed in self.protocols if option in SEARCHED.get(_parsed(typed)[0], ())
        )

    def values(self, protocol: Mapping[str, Any] | None) -> list[Value]:
        """Return the values of the cells.

        An option that is missing, or has no effect, has its default. The first value is no choice
        of its cell if none of the protocols has the name and the options that are fixed.

        Args:
            protocol: valid section `protocol` of a policy file, or None.
        """
        name = self._typed(protocol)
        given = {} if protocol is None else dict(protocol["options"])
        settled = self._settled(name, given)
        ranks = [0] * self.ranked
        if self.ranked and given.get(RANK) and settled.get("conflict") == "detect":
            ranks = _dense([int(digit) for digit in given[RANK]])
        return [name, *settled.values(), *ranks]

    def section(self, values: Sequence[Value]) -> dict[str, Any] | None:
        """Return the section `protocol` for the values of the cells; None for a table.

        Options that have their default or no effect are left out.
        """
        typed = str(values[0])
        if typed == TABLE:
            return None
        name, found = _parsed(typed)
        chosen = map(str, values[1 : 1 + len(self.options)])
        given = dict(zip((option.name for option in self.options), chosen, strict=True))
        settled = self._settled(typed, given)
        for option in self.options:
            if settled[option.name] != option.choices[0]:
                found[option.name] = settled[option.name]
        ranks = _dense([int(rank) for rank in values[1 + len(self.options) :]])
        if name == LOCKING and any(ranks) and settled["conflict"] == "detect":
            found[RANK] = "".join(map(str, ranks))
        return {"name": name, "options": found}

    def _settled(self, typed: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return all options with the given values, and with the default where there is no effect.

        Args:
            typed: the choice of the first cell.
            given: values by option.
        """
        name, fixed = _parsed(typed)
        own = SEARCHED.get(name, ())
        settled: dict[str, str] = {}
        for option in self.options:
            default = option.choices[0]
            effective = option in own and option.has_effect({**fixed, **settled})
            settled[option.name] = given.get(option.name, default) if effective else default
        return settled

    def _typed(self, protocol: Mapping[str, Any] | None) -> str:
        """Return the choice of the first cell for a section; its name if there is none."""
        name = protocol_name(protocol)
        if protocol is None or name != EXTERNAL:
            return name
        free = {option.name for option in self.options}
        fixed = {key: value for key, value in protocol["options"].items() if key not in free}
        for typed in self.protocols:
            own, options = _parsed(typed)
            if own == name and _with_defaults(options) == _with_defaults(fixed):
                return typed
        return name


def _parsed(typed: str) -> tuple[str, dict[str, str]]:
    found = parse_typed(typed)
    return (typed, {}) if found is None else found


def _needs(option: Option) -> list[tuple[str, Sequence[str]]]:
    """Return the values that an option needs of others."""
    return [(name, tuple(values)) for name, values in option.needs.items()]


def _with_defaults(options: Mapping[str, str]) -> dict[str, str]:
    return {**DEFAULTS, **options}


def _dense(ranks: Sequence[int]) -> list[int]:
    """Return ranks of the same order without gaps, from 0."""
    known = sorted(set(ranks))
    return [known.index(rank) for rank in ranks]
