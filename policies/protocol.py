"""The protocol of a policy as cells.

A policy is a table, or another protocol of the engine with its options. The section `protocol` of
the file names the latter; a file without one holds a table. The backoff and the schedule apply in
both cases, except that `external` has a backoff of its own.

The engine decides which options are valid. A search uses those of `SEARCHED`, and with
`two_phase_locking` a rank for each transaction type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

TABLE = "policy_table"
"""The protocol that executes the table."""

LOCKING = "two_phase_locking"
"""The protocol with a grant policy."""

EXTERNAL = "external"
"""The protocol whose transactions run in an external store."""

PROTOCOLS = (TABLE, LOCKING, "mvto", "mvschedo", EXTERNAL)
"""The protocols that a search may choose, the default first; `external` only by itself."""

IN_MEMORY = PROTOCOLS[:-1]
"""Those that run on the engine's own tables."""

RANK = "rank"
"""The option of `two_phase_locking` with a digit for each transaction type."""

RANKS = (0, 1, 2)
"""The ranks of a type that a search may use; a lock goes to the highest rank first."""

STORE = "store"
"""The option of `external` that names the store."""

DEFAULT_STORE = "sqlite"

MERGE = "merge"
"""The option of `external` with which there is no schedule: a group has no order."""

UNSET = "null"
"""The choice of an option that has no value unless it is given."""

UNSEARCHED = MappingProxyType(
    {
        LOCKING: ("partitions", "span"),
        EXTERNAL: (STORE, "folder", "durability", "dsn", "sync_us", "prefetch"),
    }
)
"""The options that no search changes."""

_OF_STORE = UNSEARCHED[EXTERNAL]

DURABILITY = "durability"
"""The option of `external` for what a commit waits for."""

PLACES = ("folder", "dsn")
"""The options of `external` that name a place of one machine or network."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {STORE: DEFAULT_STORE, DURABILITY: "full", "sync_us": "0"}
)
"""The values that options of `external` have if they are not given."""

ISOLATION = "isolation"
"""The option of `external` with the isolation level."""

SERIALIZABLE = "serializable"
"""The isolation level of everything that has no option `isolation`."""


@dataclass(frozen=True)
class Option:
    """An option of a protocol.

    Attributes:
        name: name of the option.
        choices: values that a search may use; the first one is the engine's default.
        needs: values of other options, one of which each must have for the option to have effect.
        grants: whether the option belongs to the grant policy (action group `grant`).
        stores: the stores of `external` that have the option; empty for all of them.
    """

    name: str
    choices: tuple[str, ...]
    needs: Mapping[str, Collection[str]] = field(default_factory=lambda: MappingProxyType({}))
    grants: bool = False
    stores: frozenset[str] = frozenset()

    def has_effect(self, options: Mapping[str, str]) -> bool:
        """Return whether the option has an effect with the values of the others."""
        return all(options.get(other) in values for other, values in self.needs.items())


_DETECTS = MappingProxyType({"conflict": ("detect",)})

LOCKING_OPTIONS = (
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
"""The options of `two_phase_locking` in the order of their cells."""

_MERGED = ("2", "4", "8", "16", "32")

EXTERNAL_OPTIONS = (
    Option("concurrency", (UNSET, "2", "4", "8", "16", "32", "64", "128", "256")),
    Option("backoff_first_us", ("500", "0", "1000", "2000")),
    Option(
        "backoff_longest_us",
        ("32000", "4000", "64000", "128000"),
        {"backoff_first_us": ("500", "1000", "2000")},
    ),
    Option("locks", ("off", "hints")),
    # Below serializable only the locks in front of the store make histories serializable.
    Option(
        "isolation",
        ("serializable", "read_committed"),
        {"locks": ("hints",)},
        stores=frozenset({"postgresql", "rocksdb", "mariadb"}),
    ),
    Option("begin", ("immediate", "deferred"), stores=frozenset({"sqlite"})),
    Option("conflicts", ("optimistic", "locking"), stores=frozenset({"rocksdb"})),
    Option(MERGE, ("1", *_MERGED)),
    Option("reads", ("together", "alone"), {MERGE: _MERGED}),
)
"""The options of `external` in the order of their cells."""

SEARCHED: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {LOCKING: LOCKING_OPTIONS, EXTERNAL: EXTERNAL_OPTIONS}
)
"""The options that a search may change, by protocol; an option needs only those before it."""

_TYPED = re.compile(
    r"(?P<name>[a-z_]+)(?P<options>(:(?!dsn=)[a-z_]+=[\w./~-]+)*)(:dsn=(?P<dsn>.+))?"
)
"""Matches a protocol with options: `two_phase_locking:conflict=detect:grant=vats`.

The text after `:dsn=` is the value of that option, with its colons.
"""


def parse_typed(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name and the options of a protocol as typed; None if the text has another form.

    Raises:
        ValueError: an option occurs twice; the message names the protocol and the option.
    """
    found = _TYPED.fullmatch(text)
    if found is None:
        return None
    options: dict[str, str] = {}
    for part in found["options"].split(":")[1:]:
        key, value = part.split("=")
        if key in options:
            raise ValueError(f"{found['name']}: the option {key} occurs twice; keep one of them")
        options[key] = value
    if found["dsn"]:
        options["dsn"] = found["dsn"]
    return found["name"], options


def shown_name(typed_name: str) -> str:
    """Return a protocol as typed for a message: a `dsn=` may have a password, which is left out."""
    before, found, _ = typed_name.partition(":dsn=")
    return f"{before}{found}..." if found else typed_name


def typed(name: str, options: Mapping[str, str]) -> str:
    """Return a protocol with options as `parse_typed` reads it."""
    last = [key for key in options if key == "dsn"]
    order = [*(key for key in options if key != "dsn"), *last]
    return "".join([name, *(f":{key}={options[key]}" for key in order)])


def store_name(options: Mapping[str, str]) -> str:
    """Return the store that options of `external` name."""
    return options.get(STORE, DEFAULT_STORE)


def fixed_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of `external` that no search changes, and a level below serializable.

    Args:
        options: all options of a policy, whose level is left out if its locks make up for it.
    """
    level = weaker_isolation(options)
    fixed = {key: options[key] for key in _OF_STORE if key in options}
    return {STORE: store_name(options), **fixed, **({} if level is None else {ISOLATION: level})}


def without_places(options: Mapping[str, str]) -> dict[str, str]:
    """Return options of `external` without those that name a place of one machine."""
    return {key: text for key, text in options.items() if key not in PLACES}


def weaker_isolation(options: Mapping[str, str]) -> str | None:
    """Return the isolation level of a protocol if that permits anomalies, else None.

    Locks on the rows of all hints make up for a weaker level of a store.

    Args:
        options: of the protocol.
    """
    level = options.get(ISOLATION, SERIALIZABLE)
    locked = options.get("locks", "off") != "off"
    return None if level == SERIALIZABLE or locked else level


def in_front_of(protocol: Mapping[str, Any], fixed: Mapping[str, str]) -> dict[str, Any]:
    """Return a section `protocol` of `external` in front of another store.

    Args:
        protocol: the section, whose options of the store are left out.
        fixed: the options of the other store, which take precedence.
    """
    own = {key: text for key, text in protocol["options"].items() if key not in _OF_STORE}
    return {"name": EXTERNAL, "options": {**fixed, **{k: own[k] for k in own if k not in fixed}}}


def runs_in_store(text: str) -> bool:
    """Return whether a protocol as typed is `external`."""
    found = parse_typed(text)
    return found is not None and found[0] == EXTERNAL


def protocol_name(protocol: Mapping[str, Any] | None) -> str:
    """Return the name of the protocol of a policy's section `protocol`."""
    return TABLE if protocol is None else str(protocol["name"])


def smallest_typed(protocol: Mapping[str, Any]) -> str:
    """Return a section `protocol` as typed, without what the cells of its options can say."""
    name = protocol_name(protocol)
    if name != EXTERNAL:
        return name
    known = {option.name: option.choices for option in EXTERNAL_OPTIONS}
    given = protocol["options"]
    return typed(name, {key: given[key] for key in given if given[key] not in known.get(key, ())})


def values_by_name(protocol: Mapping[str, Any] | None, types: Sequence[str]) -> dict[str, str]:
    """Return the name of a protocol and its options; ranks by the names of the types."""
    found = {"name": protocol_name(protocol)}
    for key, value in (protocol or {}).get("options", {}).items():
        if key != RANK:
            found[key] = value
            continue
        ranks = zip(types, value, strict=False)
        found |= {f"{RANK} {name}": digit for name, digit in ranks if int(digit)}
    return found


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
