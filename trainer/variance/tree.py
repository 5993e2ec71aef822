"""The variance tree: the variance of a sum by the variances and covariances of its parts.

Source: Huang 2019, §2.3.2.1, equation 2.2. Variances are those of the population, so that the
identity is exact: the variance of a node is the sum of the variances of its children and twice
their covariances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TAIL = 0.99
"""The slowest transactions: those at this quantile of latency or above."""


@dataclass(frozen=True)
class Label:
    """The name of a node.

    Attributes:
        name: its name among its siblings.
        factor: the factor that it is an instance of. Nodes at several places of a tree may be
            instances of one factor, as calls of one function are.
    """

    name: str
    factor: str


Path = tuple[Label, ...]
"""The labels from the child of the root to a leaf."""


@dataclass(frozen=True)
class Covariance:
    """The covariance of two children of a node.

    Attributes:
        first: one child.
        second: the other one.
        value: twice their covariance in µs², as in equation 2.2.
    """

    first: Node
    second: Node
    value: float


@dataclass
class Node:
    """A step, or several steps together.

    Attributes:
        label: its name and factor.
        mean_us: mean time per transaction in µs.
        tail_us: the same over the slowest transactions.
        variance: variance of the time in µs².
        children: its parts; their times add up to its own.
        covariances: those of its children.
    """

    label: Label
    mean_us: float = 0.0
    tail_us: float = 0.0
    variance: float = 0.0
    children: list[Node] = field(default_factory=list)
    covariances: list[Covariance] = field(default_factory=list)

    @property
    def height(self) -> int:
        """The number of levels below it."""
        return 1 + max(child.height for child in self.children) if self.children else 0

    def nodes(self) -> Iterator[Node]:
        """Return the node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def as_dict(self) -> dict[str, Any]:
        """Return the tree as JSON values."""
        document: dict[str, Any] = {
            "name": self.label.name,
            "factor": self.label.factor,
            "mean_us": self.mean_us,
            "tail_us": self.tail_us,
            "variance_us2": self.variance,
        }
        if self.children:
            document["children"] = [child.as_dict() for child in self.children]
            document["covariances"] = [
                {
                    "between": [pair.first.label.name, pair.second.label.name],
                    "twice_us2": pair.value,
                }
                for pair in self.covariances
            ]
        return document


def variance_tree(root: Label, paths: Sequence[Path], times: Any) -> Node:
    """Return the variance tree of transactions.

    Args:
        root: the label of the root.
        paths: the path of each leaf, all different, none the beginning of another.
        times: time of each leaf in µs, a matrix (sparse by columns, or dense) with a row for each
            transaction and a column for each path. The times of a row add up to the transaction's
            latency.
    """
    latency = np.asarray(times.sum(axis=1), dtype=float).ravel()
    slow = latency >= np.quantile(latency, TAIL) if latency.size else np.zeros(0, dtype=bool)
    node, _ = _built(root, list(enumerate(paths)), 0, _Columns(times, slow))
    return node


@dataclass(frozen=True)
class _Columns:
    times: Any
    slow: NDArray[np.bool_]

    def column(self, number: int) -> Floats:
        column = self.times[:, [number]]
        dense = column.toarray() if hasattr(column, "toarray") else column
        return np.asarray(dense, dtype=float).ravel()


def _built(
    label: Label, leaves: list[tuple[int, Path]], depth: int, columns: _Columns
) -> tuple[Node, Floats]:
    """Return a node and its time in each transaction."""
    if len(leaves) == 1 and len(leaves[0][1]) == depth:
        time = columns.column(leaves[0][0])
        return _measured(label, time, columns), time
    by_child: dict[Label, list[tuple[int, Path]]] = {}
    for number, path in leaves:
        by_child.setdefault(path[depth], []).append((number, path))
    built = [_built(child, below, depth + 1, columns) for child, below in by_child.items()]
    stacked = np.vstack([time for _, time in built]) if built else np.zeros((0, columns.slow.size))
    total = stacked.sum(axis=0)
    node = _measured(label, total, columns)
    node.children = [child for child, _ in built]
    if len(built) > 1:
        covariances = np.atleast_2d(np.cov(stacked, ddof=0))
        node.covariances = [
            Covariance(node.children[i], node.children[j], float(2 * covariances[i, j]))
            for i in range(len(built))
            for j in range(i + 1, len(built))
        ]
    return node, total


def _measured(label: Label, time: Floats, columns: _Columns) -> Node:
    if not time.size:
        return Node(label)
    return Node(label, float(time.mean()), float(time[columns.slow].mean()), float(np.var(time)))
