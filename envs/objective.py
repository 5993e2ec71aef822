"""Objectives: what a policy is trained for, and what it must not exceed.

An objective is one metric. Limits are bounds on any metric, of a type or of the whole workload. A
policy beyond a limit loses to any policy within all of them; of two beyond, the one that exceeds
them less is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envs.metrics import METRICS, Metric, metric_named
from envs.result import Result

BEYOND = 1e-3
"""The fitness of a policy just beyond a limit. A policy within its limits has more, unless its
score is below a thousandth of the reference's, and then it is of no use."""

_LEAST = 1e-9
"""The least figure that has an inverse."""

BALANCED = "balanced"
"""The metric of an objective that weighs all metrics of its front alike."""

UNKNOWN = 1e3
"""The ratio to a limit of a figure that is unknown, because a type has no commit."""


@dataclass(frozen=True)
class Limit:
    """A bound on a metric.

    Attributes:
        metric: name of the metric.
        type_name: the transaction type; None for the whole workload.
        value: the most that is allowed; for `throughput` the least.
    """

    metric: str
    type_name: str | None
    value: float

    @property
    def name(self) -> str:
        """Return its name, such as `delivery.p99`."""
        return self.metric if self.type_name is None else f"{self.type_name}.{self.metric}"

    @property
    def text(self) -> str:
        """Return the limit, such as `delivery.p99 ≤ 2,000 µs`."""
        metric = METRICS[self.metric]
        return f"{self.name} {'≥' if metric.higher_is_better else '≤'} {metric.text(self.value)}"

    def measured(self, result: Result) -> float | None:
        """Return the figure of a run; None if it is unknown."""
        metric = METRICS[self.metric]
        if self.type_name is None:
            return metric.of_result(result)
        return metric.of_type(result.types[self.type_name])

    def ratio(self, result: Result) -> float:
        """Return the figure divided by the limit, or the inverse for `throughput`.

        Above 1 the run is beyond the limit.
        """
        figure = self.measured(result)
        if figure is None:
            return UNKNOWN
        if METRICS[self.metric].higher_is_better:
            figure, bound = self.value, figure
        else:
            bound = self.value
        return min(UNKNOWN, figure / bound) if bound > 0.0 else UNKNOWN


@dataclass(frozen=True)
class Objective:
    """The goal of a training in one scenario.

    Attributes:
        metric: name of the metric to improve, or `BALANCED`: the geometric mean of the figures of
            merit of `front`.
        type_names: types whose metric counts, the worst of them; none = the whole workload.
        limits: bounds on other metrics.
        front: metrics of the whole workload between which non-dominated policies are kept.
    """

    metric: str = "throughput"
    type_names: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    front: tuple[str, ...] = ()

    @property
    def measure(self) -> Metric:
        """Return the metric to improve. Not for `BALANCED`."""
        return METRICS[self.metric]

    @property
    def is_throughput(self) -> bool:
        """Return whether the objective is the default, the throughput of all types."""
        return self.metric == "throughput" and not self.type_names

    @property
    def words(self) -> str:
        """Return the objective in words, such as `p99 latency of delivery`."""
        if self.metric == BALANCED:
            return f"the balance of {' and '.join(METRICS[name].words for name in self.front)}"
        of = f" of {', '.join(self.type_names)}" if self.type_names else ""
        return f"{self.measure.words}{of}"

    @property
    def text(self) -> str:
        """Return the objective with its limits, such as `throughput; delivery.p99 ≤ 2,000 µs`."""
        return "; ".join([self.words, *(limit.text for limit in self.limits)])

    def figure(self, result: Result) -> float | None:
        """Return the metric of a run in its own unit; None if it is unknown."""
        if not self.type_names:
            return self.measure.of_result(result)
        found = [self.measure.of_type(result.types[name]) for name in self.type_names]
        known = [figure for figure in found if figure is not None]
        if len(known) < len(found):
            return None
        return min(known) if self.measure.higher_is_better else max(known)

    def value(self, result: Result) -> float:
        """Return the figure of merit of a run, limits aside: more is better, 0 is the worst.

        It is the metric itself, or its inverse if less is better, so that the ratio of two runs
        says by which factor one is better.
        """
        if self.metric == BALANCED:
            return math.prod(self.front_values(result)) ** (1.0 / len(self.front))
        figure = self.figure(result)
        if figure is None:
            return 0.0
        if self.measure.higher_is_better:
            return figure
        return 1.0 / max(figure, _LEAST)

    def front_values(self, result: Result) -> list[float]:
        """Return the figure of merit of a run for each metric of the front."""
        return [Objective(name).value(result) for name in self.front]

    def as_dict(self) -> dict[str, Any]:
        """Return the objective as JSON values."""
        found: dict[str, Any] = {
            "metric": self.metric,
            "types": list(self.type_names),
            "limits": [asdict(limit) for limit in self.limits],
        }
        return found | ({"front": list(self.front)} if self.front else {})

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Objective:
        """Read the JSON values that `as_dict` returns.

        Raises:
            KeyError, TypeError, ValueError: the values have another form.
        """
        limits = [Limit(**entry) for entry in source["limits"]]
        front = tuple(source.get("front", ()))
        own = [] if source["metric"] == BALANCED and front else [source["metric"]]
        for metric in (*own, *(limit.metric for limit in limits), *front):
            metric_named(metric)
        return cls(str(source["metric"]), tuple(source["types"]), tuple(limits), front)

    def limit_ratios(self, result: Result) -> list[float]:
        """Return `Limit.ratio` for each limit."""
        return [limit.ratio(result) for limit in self.limits]


THROUGHPUT = Objective()
"""The default objective."""


def excess(limit_ratios: Sequence[float]) -> float:
    """Return by which factor limits are exceeded, all together; 1 within all of them."""
    return math.prod(max(1.0, ratio) for ratio in limit_ratios)


def limited(fitness: float, beyond: float) -> float:
    """Return the fitness of a policy under limits.

    Args:
        fitness: its fitness, limits aside.
        beyond: by which factor it exceeds the limits (`excess`); 1 = not at all.
    """
    return fitness if beyond <= 1.0 else min(fitness, BEYOND / beyond)
