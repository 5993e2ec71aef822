"""Ranks the factors of a variance tree: specificity × contribution.

Source: Huang 2019, §2.3.2.2, algorithm 1 and equations 2.3 and 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trainer.variance.tree import Node

FactorName = tuple[str, ...]
"""The name of a variance, or the two names of a covariance in alphabetical order."""


@dataclass
class Factor:
    """A variance, or a covariance of two siblings, over all its places in the tree.

    Attributes:
        name: the factor's name; two names for a covariance.
        height: the greatest number of levels below its nodes.
        contribution: its variances, or twice its covariances, in µs².
        mean_us: mean time per transaction in µs; 0 for a covariance.
        tail_us: the same over the slowest transactions.
        share: contribution ÷ variance of the latency.
        specificity: square of the difference of the tree's height and its own.
        score: specificity × share.
    """

    name: FactorName
    height: int = 0
    contribution: float = 0.0
    mean_us: float = 0.0
    tail_us: float = 0.0
    share: float = 0.0
    specificity: float = 0.0
    score: float = 0.0

    @property
    def words(self) -> str:
        """The name for people."""
        return " × ".join(self.name)

    @property
    def is_variance(self) -> bool:
        """Whether it is a variance, not a covariance."""
        return len(self.name) == 1

    def as_dict(self) -> dict[str, Any]:
        """Return the factor as JSON values."""
        return {
            "factor": list(self.name),
            "share": self.share,
            "contribution_us2": self.contribution,
            "specificity": self.specificity,
            "score": self.score,
            "mean_us": self.mean_us,
            "tail_us": self.tail_us,
        }


def factors_of(root: Node, *, single: bool = False) -> list[Factor]:
    """Return all factors of a tree, by decreasing score.

    Args:
        root: the variance tree.
        single: whether a node with one child is a factor. It is the same as the child, and less
            specific.
    """
    found: dict[FactorName, Factor] = {}
    for name, height, node, contribution in _instances(root, single):
        factor = found.setdefault(name, Factor(name))
        factor.height = max(factor.height, height)
        factor.contribution += contribution
        if node is not None:
            factor.mean_us += node.mean_us
            factor.tail_us += node.tail_us
    top = root.height
    for factor in found.values():
        factor.share = factor.contribution / root.variance if root.variance > 0 else 0.0
        factor.specificity = float((top - factor.height) ** 2)
        factor.score = factor.specificity * factor.share
    return sorted(found.values(), key=lambda factor: (-factor.score, factor.name))


def top_factors(root: Node, k: int, d: float) -> list[Factor]:
    """Return the most responsible factors (algorithm 1).

    Args:
        root: the variance tree.
        k: the maximum number of factors.
        d: the least share of the latency's variance, 0 to 1, that a factor must have.
    """
    return [factor for factor in factors_of(root)[:k] if factor.share >= d]


def _instances(root: Node, single: bool) -> Iterator[tuple[FactorName, int, Node | None, float]]:
    for node in root.nodes():
        if single or len(node.children) != 1:
            yield (node.label.factor,), node.height, node, node.variance
        for pair in node.covariances:
            names = sorted((pair.first.label.factor, pair.second.label.factor))
            yield tuple(names), max(pair.first.height, pair.second.height), None, pair.value
