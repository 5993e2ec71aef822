"""Metrics of a run: what an objective and its limits are about.

A metric is a figure of one transaction type or of the whole workload. Percentiles and maxima of the
whole workload are those of the worst type. Means, norms and variation are those of all
transactions in the workload's mix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from envs.result import Result
from envs.type_result import POWERS, Latency, TypeResult


@dataclass(frozen=True)
class Metric:
    """A figure of a run.

    Attributes:
        name: its name in settings, such as `p99`.
        words: its name in messages, such as `p99 latency`.
        unit: `µs`, `commits/s` or "".
        of_result: returns the figure of the whole workload; None if it is unknown.
        of_type: returns the figure of one type; None if it is unknown, or not defined for a type.
        higher_is_better: whether more is better.
        quantile: for a percentile its share, such as 0.99; None for other metrics.
        by_type: whether a type has the figure.
    """

    name: str
    words: str
    unit: str
    of_result: Callable[[Result], float | None]
    of_type: Callable[[TypeResult], float | None] = lambda kind: None
    higher_is_better: bool = False
    quantile: float | None = None
    by_type: bool = True

    def text(self, value: float) -> str:
        """Return a value with its unit, such as `1,500 µs`."""
        if not self.unit:
            return f"{value:.3g}"
        return f"{value:,.0f} {self.unit}" if value >= 100 else f"{value:.3g} {self.unit}"


def metric_named(name: str) -> Metric:
    """Return the metric of a name; a latency may have the suffix `_us`.

    Raises:
        ValueError: there is none; the message lists all.
    """
    metric = METRICS.get(name.removesuffix("_us"))
    if metric is None or (name.endswith("_us") and metric.unit != "µs"):
        raise ValueError(f"no metric {name}; there are {', '.join(METRICS)}")
    return metric


def mean_latency(result: Result) -> float | None:
    """Return the mean latency of all transactions in µs; None without a commit."""
    return _norm(result, 1)


def variation(mean: float | None, square: float | None) -> float | None:
    """Return the coefficient of variation: the standard deviation divided by the mean.

    Args:
        mean: the mean.
        square: the square root of the mean square.
    """
    if not mean or square is None:
        return None
    return math.sqrt(max(0.0, (square / mean) ** 2 - 1.0))


def _weights(result: Result) -> list[tuple[TypeResult, float]]:
    """Return the types that were begun, with their shares of the mix (not summing to 1)."""
    kinds = [kind for kind in result.types.values() if kind.begun]
    return [(kind, float(kind.begun) if kind.share is None else kind.share) for kind in kinds]


def _norm(result: Result, power: int) -> float | None:
    """Return the L_p norm of all latencies, as `Latency.norm`; None if it is unknown."""
    total = sum(weight for _, weight in _weights(result))
    mean = 0.0
    for kind, weight in _weights(result):
        norm = None if kind.latency_us is None else kind.latency_us.norm(power)
        if norm is None:
            return None
        mean += weight / total * norm**power
    return mean ** (1.0 / power) if total else None


def _worst(result: Result, figure: Callable[[Latency], float]) -> float | None:
    kinds = [kind.latency_us for kind, _ in _weights(result)]
    if not kinds or any(latency is None for latency in kinds):
        return None
    return max(figure(latency) for latency in kinds if latency is not None)


def _latency(name: str, words: str, quantile: float | None = None) -> Metric:
    def figure(latency: Latency) -> float:
        return float(getattr(latency, name))

    return Metric(
        name,
        words,
        "µs",
        lambda result: _worst(result, figure),
        lambda kind: None if kind.latency_us is None else figure(kind.latency_us),
        quantile=quantile,
    )


def _norm_metric(power: int) -> Metric:
    return Metric(
        f"l{power}",
        f"L{power} norm of latency",
        "µs",
        lambda result: _norm(result, power),
        lambda kind: None if kind.latency_us is None else kind.latency_us.norm(power),
    )


def _cv_of_type(kind: TypeResult) -> float | None:
    latency = kind.latency_us
    return None if latency is None else variation(latency.mean, latency.norm(2))


def _all() -> Iterable[Metric]:
    yield Metric(
        "throughput",
        "throughput",
        "commits/s",
        lambda result: result.fitness,
        lambda kind: kind.throughput,
        higher_is_better=True,
    )
    yield Metric("abort_rate", "abort rate", "", lambda result: result.abort_rate, by_type=False)
    yield Metric(
        "mean",
        "mean latency",
        "µs",
        mean_latency,
        lambda kind: None if kind.latency_us is None else kind.latency_us.mean,
    )
    yield _latency("p50", "median latency", 0.5)
    yield _latency("p90", "p90 latency", 0.9)
    yield _latency("p99", "p99 latency", 0.99)
    yield _latency("p999", "p999 latency", 0.999)
    yield _latency("max", "maximum latency")
    yield from (_norm_metric(power) for power in POWERS)
    yield Metric(
        "cv",
        "coefficient of variation",
        "",
        lambda result: variation(mean_latency(result), _norm(result, 2)),
        _cv_of_type,
    )


METRICS: dict[str, Metric] = {metric.name: metric for metric in _all()}
"""All metrics by name."""
