"""Subjects: the native protocols and policy tables that a machine can run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from policies.protocol import EXTERNAL, protocol_name, weaker_isolation
from policies.schedule import FIFO, schedule_options


def is_external(name: str) -> bool:
    """Return whether a name after `policy=` is of `external`, with or without options."""
    return re.match(rf"{EXTERNAL}(_tuned)?\b", name) is not None


@dataclass(frozen=True)
class Subject:
    """A protocol or policy to measure. It has plain values only and can be sent to any process.

    Attributes:
        name: name in tables and records.
        protocol: the engine's protocol; `policy_table` requires `policy`.
        policy: JSON text of the policy file, or None. Another protocol follows only its backoff.
        backoff: `policy` (the table's own), `exponential`, `static` or `none`.
        backoff_us: constant wait of `static` in µs.
        options: further options of the protocol.
        schedule: options of the admission policy (`policy`, `window` …); empty if transactions
            start as they are drawn.
        provenance: of the policy; empty without a policy.
    """

    name: str
    protocol: str
    policy: str | None = None
    backoff: str = "exponential"
    backoff_us: float = 0.0
    options: dict[str, str] = field(default_factory=dict)
    schedule: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def weaker_isolation(self) -> str | None:
        """Its isolation level if that permits anomalies, else None.

        Locks on the rows of all hints make up for a weaker level of a store.
        """
        return weaker_isolation(self.options)


def scheduled(subject: Subject, schedule: Mapping[str, str]) -> Subject:
    """Return a subject with an admission policy, which is added to its name: `silo+smf`.

    Args:
        subject: the subject; its own `schedule` takes precedence.
        schedule: options of the admission policy; without `policy` they have no effect.
    """
    options = {**schedule, **subject.schedule}
    policy = options.get("policy", FIFO)
    if policy == FIFO:
        # The engine uses a table's own schedule unless the options say `fifo`.
        own = {"policy": FIFO} if subject.policy is not None and subject.schedule else {}
        return replace(subject, schedule=own)
    named = "policy" in subject.schedule
    name = subject.name if named else f"{subject.name}+{policy}"
    return replace(subject, name=name, schedule=options)


def of_policy(name: str, policy_json: str) -> Subject:
    """Return the subject of a policy, with its own protocol, backoff and schedule.

    One that runs in an external store has the backoff of its options: conflicts there last longer
    than the longest backoff of a table.

    Args:
        name: name in tables and records.
        policy_json: JSON text of the policy file.
    """
    document = json.loads(policy_json)
    protocol = document.get("protocol")
    in_store = protocol_name(protocol) == EXTERNAL
    return Subject(
        name,
        protocol_name(protocol),
        policy=None if in_store else policy_json,
        backoff="exponential" if in_store else "policy",
        options={} if protocol is None else dict(protocol["options"]),
        schedule=schedule_options(document.get("schedule")),
        provenance=document.get("provenance") or {},
    )


def static_silo(backoff_us: float, name: str = "silo_tuned") -> Subject:
    """Return Silo with a constant backoff.

    Args:
        backoff_us: wait after every abort in µs.
        name: name in tables and records.
    """
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
        # Rows belong to a partition by their key: in TPC-C by warehouse.
        "cormcc": Subject("cormcc", "two_phase_locking", options={"partitions": "64"}),
        # What fails runs again in the next batch, before all that begin there.
        "aria": Subject("aria", "aria", backoff="none"),
    }
)
"""The native protocols whose name after `policy=` implies options or a backoff.

Any other protocol runs under its own name with its default options.
"""
