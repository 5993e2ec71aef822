"""What a machine can be asked to run: a native protocol, or a policy table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Subject:
    """One thing to measure. Plain values only, so that it travels to any worker.

    Attributes:
        name: how tables and records call it.
        protocol: the engine's protocol; `policy_table` needs `policy`.
        policy: the policy file's JSON text, or None.
        backoff: `policy` (the table's own), `exponential`, `static` or `none`.
        backoff_us: the constant wait of `static`, µs.
        options: further options of the protocol.
    """

    name: str
    protocol: str
    policy: str | None = None
    backoff: str = "exponential"
    backoff_us: float = 0.0
    options: dict[str, str] = field(default_factory=dict)


def of_policy(name: str, policy_json: str) -> Subject:
    """A policy table under its own backoff."""
    return Subject(name, "policy_table", policy=policy_json, backoff="policy")


def static_silo(backoff_us: float, name: str = "silo_tuned") -> Subject:
    """Silo that waits a constant time, in µs, after every abort."""
    return Subject(name, "silo", backoff="static", backoff_us=backoff_us)


NATIVE: Mapping[str, Subject] = MappingProxyType(
    {
        "silo": Subject("silo", "silo"),
        "two_phase_locking": Subject(
            "two_phase_locking", "two_phase_locking", options={"conflict": "wait_die"}
        ),
        "two_phase_locking_no_wait": Subject(
            "two_phase_locking_no_wait", "two_phase_locking", options={"conflict": "no_wait"}
        ),
    }
)
"""Native protocols by the name that follows `policy=`, where that settles options as well.

A protocol that is not here is run under its own name and its default options.
"""
