"""The policy document, which has the contents of a policy file as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from policies import declared
from policies.signature import Signature

SCHEMA_VERSION = 1
DOCUMENT_KIND = "heddle.policy"

WaitAction = int | Literal["NO_WAIT", "COMMIT"]
"""How long to wait for the dependencies of one type (paper §4.3). `NO_WAIT` does not wait, a state
number waits until they have finished that access, `COMMIT` until they have committed or aborted."""

ReadVersion = Literal["CLEAN", "DIRTY"]
WriteVisibility = Literal["PRIVATE", "PUBLIC"]

ALPHAS = declared.ALPHAS
"""The values of a backoff cell. An abort multiplies the backoff by 1 + alpha; a commit divides."""

INITIAL_US = declared.INITIAL_US
"""The values of a type's initial backoff, in µs."""

PRIOR_ABORTS = 3
"""Backoff cells per type and outcome, for 0, 1, and 2 or more prior aborts (paper §4.5)."""


@dataclass(frozen=True)
class CcRow:
    """The concurrency control actions of one state (paper §4.3).

    Attributes:
        state: state number, which is the position of the row in the table.
        type: name of the transaction type.
        access: name of the access.
        wait: wait action before the access, by type in the signature's order. The waits also apply
            before an early validation at the end of the previous access.
        read_version: `CLEAN` or `DIRTY` if the access reads one row, else None.
        write_visibility: `PRIVATE` or `PUBLIC` if the access writes, else None.
        early_validation: whether to validate after the access.
    """

    state: int
    type: str
    access: str
    wait: Mapping[str, WaitAction]
    read_version: ReadVersion | None
    write_visibility: WriteVisibility | None
    early_validation: bool


@dataclass(frozen=True)
class BackoffRow:
    """The backoff of one type (paper §4.5).

    Attributes:
        initial_us: initial backoff of a worker in µs, one of `INITIAL_US`.
        abort: alpha for an abort, after 0, 1, and 2 or more prior aborts.
        commit: alpha for a commit, after 0, 1, and 2 or more prior aborts.
    """

    initial_us: float
    abort: tuple[float, float, float]
    commit: tuple[float, float, float]


BINARY_EXPONENTIAL = BackoffRow(initial_us=1.0, abort=(1.0, 1.0, 1.0), commit=(1.0, 1.0, 1.0))
"""Silo's backoff, which the seed policies have. It doubles on every abort and halves on every
commit."""


@dataclass(frozen=True)
class PolicyDocument:
    """A policy: a CC table and a backoff table for the workload of one signature.

    Another protocol of the engine may take the place of the CC table.

    Attributes:
        name: short name of the policy.
        signature: signature of its workload; a policy does not run on another workload.
        cc: CC table with one row per state, in order.
        backoff: backoff table with one row per type, in the signature's order.
        schedule: options of its admission policy, or None.
        provenance: origin of the policy (search, seed, machine, evaluations, scores, version,
            date).
        protocol: name and options of the protocol that runs in place of the CC table, or None.
    """

    name: str
    signature: Signature
    cc: tuple[CcRow, ...]
    backoff: Mapping[str, BackoffRow]
    schedule: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the document as JSON values, with keys in the order of the file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": DOCUMENT_KIND,
            "name": self.name,
            "signature": self.signature.to_dict(),
            "cc": [
                {
                    "state": row.state,
                    "type": row.type,
                    "access": row.access,
                    "wait": dict(row.wait),
                    "read_version": row.read_version,
                    "write_visibility": row.write_visibility,
                    "early_validation": row.early_validation,
                }
                for row in self.cc
            ],
            "backoff": {
                name: {
                    "initial_us": row.initial_us,
                    "abort": list(row.abort),
                    "commit": list(row.commit),
                }
                for name, row in self.backoff.items()
            },
            # A file without the section holds a table.
            **({} if self.protocol is None else {"protocol": dict(self.protocol)}),
            "schedule": None if self.schedule is None else dict(self.schedule),
            "provenance": dict(self.provenance),
        }
