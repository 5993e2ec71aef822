"""What a machine can be asked to run: a native protocol, or a policy table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from policies.schedule import FIFO, schedule_options


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
        schedule: which transaction starts next, as the engine takes it (`policy`, `window` …);
            empty: as they are drawn.
    """

    name: str
    protocol: str
    policy: str | None = None
    backoff: str = "exponential"
    backoff_us: float = 0.0
    options: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, str] = field(default_factory=dict)


def scheduled(subject: Subject, schedule: Mapping[str, str]) -> Subject:
    """A subject whose transactions are scheduled so, but for what it says itself.

    Its name tells the admission policy: `silo+smf`.

    Args:
        subject: whose own `schedule` goes first.
        schedule: options of the engine's; without a `policy` they change nothing alone.
    """
    options = {**schedule, **subject.schedule}
    policy = options.get("policy", FIFO)
    if policy == FIFO:
        # Of a table that is to run without its own schedule, the engine has to be told so.
        own = {"policy": FIFO} if subject.policy is not None and subject.schedule else {}
        return replace(subject, schedule=own)
    named = "policy" in subject.schedule
    name = subject.name if named else f"{subject.name}+{policy}"
    return replace(subject, name=name, schedule=options)


def of_policy(name: str, policy_json: str) -> Subject:
    """A policy table under its own backoff, and its own schedule if it has one."""
    options = schedule_options(json.loads(policy_json).get("schedule"))
    return Subject(name, "policy_table", policy=policy_json, backoff="policy", schedule=options)


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
