"""The anomalies that isolation levels permit, and the level at which a history is checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from envs.subject import Subject
from policies.protocol import EXTERNAL, SERIALIZABLE

PERMITTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        SERIALIZABLE: (),
        "snapshot": ("write_skew",),
        "read_committed": ("write_skew", "read_skew", "lost_update"),
    }
)
"""The anomalies that each level of `engine.History.check` permits, from the strongest level on."""


def level_of(allow: Collection[str]) -> str:
    """Return the level that permits exactly these anomalies.

    Raises:
        ValueError: there is none.
    """
    for level, permitted in PERMITTED.items():
        if set(permitted) == set(allow):
            return level
    valid = ", ".join(f"{as_list(permitted)} ({level})" for level, permitted in PERMITTED.items())
    raise ValueError(f"{as_list(allow)}: must be one of {valid}")


def as_list(anomalies: Collection[str]) -> str:
    """Return anomalies as a setting's value: `[write_skew]`."""
    return f"[{','.join(anomalies)}]"


def missing(subject: Subject, allow: Collection[str]) -> tuple[str, ...]:
    """Return the anomalies that a protocol of the engine permits and `allow` lacks, if any.

    What a store permits is not known beforehand: its histories show it.
    """
    level = subject.weaker_isolation
    if level is None or subject.protocol == EXTERNAL:
        return ()
    return tuple(one for one in PERMITTED[level] if one not in allow)


def is_checkable(subject: Subject, allow: Collection[str]) -> bool:
    """Return whether the histories of a subject can be checked with these anomalies allowed.

    Those of a store can't if updates may be lost. The numbers of its versions are drawn before the
    store locks the row, so they have the store's order only if the first updater wins.
    """
    store = subject.protocol == EXTERNAL and subject.weaker_isolation is not None
    return not (store and "lost_update" in allow)


def checked_level(subject: Subject, allow: Collection[str]) -> str:
    """Return the level at which the histories of a subject are checked.

    That is its own level if `allow` has all that this permits, and for a store the level that
    `allow` names. All others are serializable.

    Raises:
        ValueError: no level permits exactly these anomalies.
    """
    level = subject.weaker_isolation
    if level is None:
        return SERIALIZABLE
    known = subject.protocol != EXTERNAL and not missing(subject, allow)
    return level if known else level_of(allow)
