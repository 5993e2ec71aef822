"""The settings of `heddle lab classify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ClassifyConfig:
    """`heddle lab classify`.

    Attributes:
        workload: its name and options, in the engine's form.
        trace: folder of the trace.
        output: file for the classifier, or for the policy with it.
        policy: policy to embed the classifier in; null = a file of its own.
        hot: share of the transactions that touch a hot key; some of them must write it.
        clusters: most clusters of a type; null = as many as help.
        neighbours: number of rows that vote.
        hints: whether to use the parameters of transactions; false = their type alone.
        transactions: number of transactions to learn from, the last of the trace.
        validation: share of them that selects the number of clusters; the same share tests the
            classifier.
        seed: of the clustering.
    """

    workload: dict[str, Any] = field(default_factory=dict)
    trace: str | None = None
    output: str | None = None
    policy: str | None = None
    hot: float = 0.01
    clusters: int | None = None
    neighbours: int = 1
    hints: bool = True
    transactions: int = 50_000
    validation: float = 0.2
    seed: int = 1
