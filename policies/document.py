"""The policy document as typed values: what the JSON file holds, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from policies import declared
from policies.signature import Signature

SCHEMA_VERSION = 1
DOCUMENT_KIND = "heddle.policy"

WaitAction = int | Literal["NO_WAIT", "COMMIT"]
"""Until when to wait for the dependencies of one type: not at all, until they finished the access
of this state number, or until they committed or aborted (paper §4.3)."""

ReadVersion = Literal["CLEAN", "DIRTY"]
WriteVisibility = Literal["PRIVATE", "PUBLIC"]

ALPHAS = declared.ALPHAS
"""What a backoff cell may be: abort multiplies the backoff by 1 + alpha, commit divides it."""

INITIAL_US = declared.INITIAL_US
"""What the backoff of a type may start from, in microseconds."""

PRIOR_ABORTS = 3
"""Backoff cells a type and outcome: after 0, 1, and 2 or more aborted attempts (paper §4.5)."""


@dataclass(frozen=True)
class CcRow:
    """The CC actions of one state (paper §4.3).

    Attributes:
        state: the state number; the row's position in the table.
        type: the transaction type's name.
        access: the access's name.
        wait: per type, in the signature's order, until when to wait before the access. The row's
            waits also come before an early validation at the end of the access just before it.
        read_version: `CLEAN` or `DIRTY` where the access reads one row, else None.
        write_visibility: `PRIVATE` or `PUBLIC` where the access writes, else None.
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
    """How one type backs off after an abort (paper §4.5).

    Attributes:
        initial_us: the backoff a worker starts with, in microseconds; one of `INITIAL_US`.
        abort: alpha by prior aborted attempts 0, 1, ≥ 2, applied when an attempt aborts.
        commit: alpha by prior aborted attempts, applied when an attempt commits.
    """

    initial_us: float
    abort: tuple[float, float, float]
    commit: tuple[float, float, float]


BINARY_EXPONENTIAL = BackoffRow(initial_us=1.0, abort=(1.0, 1.0, 1.0), commit=(1.0, 1.0, 1.0))
"""Doubles on every abort and halves on every commit: what the seeds start from, as Silo does."""


@dataclass(frozen=True)
class PolicyDocument:
    """One policy: a CC table and a backoff table for the workload of one signature.

    Attributes:
        name: a short name for people.
        signature: the workload it is for; a policy for another one is refused.
        cc: one row a state, in order.
        backoff: one row a type, in the signature's order.
        schedule: parameters of the admission schedule, if the policy carries any.
        provenance: where it came from (search, seed, machine, evaluations, scores, version, date).
    """

    name: str
    signature: Signature
    cc: tuple[CcRow, ...]
    backoff: Mapping[str, BackoffRow]
    schedule: Mapping[str, Any] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON values, keys in the file's order."""
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
            "schedule": None if self.schedule is None else dict(self.schedule),
            "provenance": dict(self.provenance),
        }
