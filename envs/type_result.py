"""What one transaction type did in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Latency:
    """Latency of one type in µs, from first start to commit, aborts and backoff included.

    In an open loop it is from arrival to commit, and where transactions are scheduled from their
    drawing.
    """

    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Latency:
        """Read the engine's `latency_us`; a figure it does not give is 0."""
        return cls(**{name: float(source.get(name, 0.0)) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class TypeResult:
    """What one transaction type did.

    Attributes:
        commits: transactions that ended, rollbacks included.
        rollbacks: those that ended as they were to: without a change.
        aborts: attempts that were aborted.
        unfinished: transactions drawn, and not committed when the run ended; where they are
            scheduled, some were not begun.
        time_s: seconds of the workers' time, summed over workers, from the beginning of a
            transaction to its end: all attempts and backoffs, unfinished transactions included. In
            an open loop from its arrival.
        throughput: commits a second.
        latency_us: µs; None without a commit.
        share: of the workload's transactions in the long run, 0 to 1; None where every draw is
            independent of the others, so that the transactions drawn are a sample of the mix.
    """

    commits: int = 0
    rollbacks: int = 0
    aborts: int = 0
    unfinished: int = 0
    time_s: float = 0.0
    throughput: float = 0.0
    latency_us: Latency | None = field(default_factory=Latency)
    share: float | None = None

    @property
    def begun(self) -> int:
        """Transactions drawn in the window."""
        return self.commits + self.unfinished

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> TypeResult:
        """Read one entry of the engine's `types`."""
        commits, latency = int(source.get("commits", 0)), source.get("latency_us")
        share = source.get("share")
        return cls(
            commits=commits,
            rollbacks=int(source.get("rollbacks", 0)),
            aborts=int(source.get("aborts", 0)),
            unfinished=int(source.get("unfinished", 0)),
            time_s=float(source.get("time_s", 0.0)),
            throughput=float(source.get("throughput", 0.0)),
            # Earlier versions wrote zeros without a commit.
            latency_us=Latency.from_dict(latency or {}) if commits else None,
            share=None if share is None else float(share),
        )
