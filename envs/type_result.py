"""The result of one transaction type in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

POWERS = (2, 3, 4, 6, 8)
"""The powers of the L_p norms in a result."""


@dataclass(frozen=True)
class Latency:
    """Latency of one type in µs, from the first start to the commit, with aborts and backoff.

    In an open loop it begins at the arrival, and with an admission policy when the transaction is
    drawn. Transactions that the end of the window cut off count with their age: they are censored,
    and the product-limit estimator (Kaplan and Meier, 1958) gives their weight to later ones.

    Attributes:
        mean: mean.
        p50: median.
        p90: 90th percentile.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: maximum.
        norms: the L_p norm for each p of `POWERS`; empty if an earlier version measured.
    """

    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    p999: float = 0.0
    max: float = 0.0
    norms: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Latency:
        """Read the field `latency_us` of the engine's result. Missing figures are 0."""
        figures = (name for name in cls.__dataclass_fields__ if name != "norms")
        return cls(
            **{name: float(source.get(name, 0.0)) for name in figures},
            norms={power: float(norm) for power, norm in source.get("norms", {}).items()},
        )

    def norm(self, power: int) -> float | None:
        """Return the L_p norm of the latencies in µs, divided by that of as many ones.

        It is the mean for p = 1; the larger p, the more the tail counts (predictability thesis,
        section 3.3.1, equation 3.1).

        Args:
            power: p, 1 or one of `POWERS`.

        Returns:
            None if an earlier version measured.
        """
        return self.mean if power == 1 else self.norms.get(str(power))


@dataclass(frozen=True)
class TypeResult:
    """The result of one transaction type.

    Attributes:
        commits: transactions that ended, including rollbacks.
        rollbacks: transactions that ended with the rollback that they requested.
        aborts: aborted attempts.
        unfinished: transactions drawn but not committed at the end of the run. With an admission
            policy some of them were not begun.
        oldest_us: age of the oldest unfinished transaction at the end, in µs; None if there is
            none, or an earlier version measured.
        time_s: time from the begin of each transaction (in an open loop its arrival) to its end, in
            seconds, summed over all transactions including unfinished ones.
        throughput: commits per second.
        latency_us: latency in µs; None without a commit.
        share: share of the type in the workload's mix, 0 to 1; None if draws are independent, so
            that the transactions drawn are a sample of the mix.
        weight: weight of the type in the mix by which policies are compared, if some workers run
            one type only; None otherwise.
        backoff_us: to what time the backoff has adapted by the end, in µs: the geometric mean over
            the workers whose transactions have aborted. None without any, and unless a policy's
            table adapts it.
    """

    commits: int = 0
    rollbacks: int = 0
    aborts: int = 0
    unfinished: int = 0
    time_s: float = 0.0
    throughput: float = 0.0
    latency_us: Latency | None = field(default_factory=Latency)
    share: float | None = None
    backoff_us: float | None = None
    oldest_us: float | None = None
    weight: float | None = None

    @property
    def begun(self) -> int:
        """Number of transactions drawn in the window."""
        return self.commits + self.unfinished

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> TypeResult:
        """Read one entry of the field `types` of the engine's result."""
        commits, latency = int(source.get("commits", 0)), source.get("latency_us")
        share, backoff_us = source.get("share"), source.get("backoff_us")
        oldest_us, weight = source.get("oldest_us"), source.get("weight")
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
            backoff_us=None if backoff_us is None else float(backoff_us),
            oldest_us=None if oldest_us is None else float(oldest_us),
            weight=None if weight is None else float(weight),
        )
