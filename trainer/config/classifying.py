"""The settings of `heddle lab classify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ClassifyConfig:
    """`heddle lab classify`.

    Attributes:
        workload: its name and options, as the engine takes them.
        trace: the folder of the trace.
        output: the file for the classifier, or for the policy that carries it.
        policy: a policy that is to carry it; null = it gets a file of its own.
        hot: a key is hot that this share of the transactions touches, if some write it.
        clusters: of a type, at most; null = as many as help.
        neighbours: how many rows vote.
        hints: whether what transactions pass counts; false = their type alone.
        transactions: the last so many of the trace are looked at.
        validation: the share by which the number of clusters is chosen; as many more tell how
            accurate the classifier is.
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
