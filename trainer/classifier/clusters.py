"""Clusters of one type's transactions by their vectors, and the hot keys of each cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from policies import Signature
from trainer.classifier.observations import Rows

CAPACITY = 2048
"""Maximum of a type's rows times their length plus one (engine/schedule/classifier/)."""

MOST_OPERATIONS = 24
"""Maximum number of operations of a cluster (engine/schedule/admission/operation.h)."""

Operations = tuple[tuple[int, int], ...]
"""Operations on hot rows: (state, key), in the order of the keys."""


@dataclass(frozen=True)
class Known:
    """The vectors and operations of a type's transactions.

    Attributes:
        vectors: the metadata vectors, one row per transaction.
        operations: the index in `kinds` for each transaction.
        kinds: the distinct sets of operations.
        places: the average position of each operation of a kind in its transaction, 0 to 1.
    """

    vectors: np.ndarray
    operations: np.ndarray
    kinds: tuple[Operations, ...]
    places: tuple[tuple[float, ...], ...]


def known_of(vectors: np.ndarray, rows: Rows, transactions: np.ndarray) -> Known:
    """Number the distinct sets of operations on hot rows.

    Args:
        vectors: a row for each of `transactions`.
        rows: the accessed hot rows, grouped by transaction.
        transactions: those of the type, ascending.
    """
    order = np.lexsort((rows.keys, rows.states, rows.transactions))
    rows = rows.filtered(order)
    begins = np.searchsorted(rows.transactions, transactions)
    ends = np.searchsorted(rows.transactions, transactions, side="right")
    numbers: dict[Operations, int] = {}
    sums: list[np.ndarray] = []
    counts: list[int] = []
    operations = np.empty(len(transactions), np.int64)
    states, keys = rows.states.tolist(), rows.keys.tolist()
    for at, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        kind = tuple(zip(states[begin:end], keys[begin:end], strict=True))
        number = numbers.setdefault(kind, len(numbers))
        if number == len(sums):
            sums.append(np.zeros(end - begin))
            counts.append(0)
        sums[number] += rows.places[begin:end]
        counts[number] += 1
        operations[at] = number
    places = tuple(
        tuple((total / count).tolist()) for total, count in zip(sums, counts, strict=True)
    )
    return Known(vectors, operations, tuple(numbers), places)


@dataclass(frozen=True)
class Clusters:
    """The classifier of one type.

    Attributes:
        rows: distinct vectors.
        labels: the cluster of each row.
        kinds: for each cluster, the most frequent of the `Known.kinds` among its transactions.
    """

    rows: np.ndarray
    labels: np.ndarray
    kinds: np.ndarray

    def as_dict(self, name: str, known: Known, signature: Signature) -> dict[str, Any]:
        """Return it as in a policy's file."""
        return {
            "type": name,
            "rows": self.rows.tolist(),
            "labels": self.labels.tolist(),
            "clusters": [_cluster(known, int(kind), signature) for kind in self.kinds],
        }


def _cluster(known: Known, kind: int, signature: Signature) -> list[list[Any]]:
    operations = sorted(zip(known.places[kind], known.kinds[kind], strict=True))
    return [
        [signature.accesses[state].name, key, round(place, 3)]
        for place, (state, key) in operations[:MOST_OPERATIONS]
    ]


def numbers_of_clusters(known: Known, most: int | None) -> list[int]:
    """Return the numbers of clusters to try: powers of two, and the number of vectors.

    Args:
        known: of the type.
        most: the maximum; None for as many as fit into `CAPACITY`.
    """
    distinct = len(np.unique(known.vectors, axis=0))
    ceiling = min(distinct, capacity(known.vectors.shape[1]), distinct if most is None else most)
    powers = (2**power for power in range(ceiling.bit_length()))
    return sorted({*(power for power in powers if power < ceiling), ceiling})


def capacity(columns: int) -> int:
    """Return the number of rows with these columns that fit into `CAPACITY`."""
    return CAPACITY // (columns + 1)


def find_clusters(known: Known, number: int, seed: int) -> Clusters:
    """Cluster the vectors by Euclidean distance, and assign each cluster its most frequent kind.

    Clusters of the same kind are merged. If not all vectors fit into `CAPACITY`, the most frequent
    ones become rows.

    Args:
        known: of the type.
        number: the number of clusters, at most that of the vectors.
        seed: of the clustering.
    """
    vectors, of, counts = np.unique(known.vectors, axis=0, return_inverse=True, return_counts=True)
    of = of.reshape(-1)
    labels = _labels(vectors, counts, number, seed)
    kinds = _most_common(labels[of], known.operations)
    merged = sorted(set(kinds.values()))
    places = {kind: place for place, kind in enumerate(merged)}
    labels = np.array([places[kinds[label]] for label in labels.tolist()])
    kept = np.sort(np.argsort(-counts, kind="stable")[: capacity(vectors.shape[1])])
    used, labels = np.unique(labels[kept], return_inverse=True)
    return Clusters(vectors[kept], labels, np.array(merged)[used])


def _labels(vectors: np.ndarray, counts: np.ndarray, number: int, seed: int) -> np.ndarray:
    if number >= len(vectors):
        return np.arange(len(vectors))
    if number == 1:
        return np.zeros(len(vectors), np.int64)
    from sklearn.cluster import KMeans

    means = KMeans(number, n_init=1, random_state=seed % 2**32)
    found: np.ndarray = means.fit(vectors, sample_weight=counts).labels_
    return found


def _most_common(labels: np.ndarray, kinds: np.ndarray) -> dict[int, int]:
    """Return the most frequent kind of each label; of several the first."""
    counts: Iterable[tuple[tuple[int, int], int]] = Counter(
        zip(labels.tolist(), kinds.tolist(), strict=True)
    ).items()
    best: dict[int, tuple[int, int]] = {}
    for (label, kind), count in counts:
        if label not in best or (count, -kind) > best[label]:
            best[label] = (count, -kind)
    return {label: -kind for label, (_, kind) in best.items()}
