"""Training a classifier: hot keys, number of clusters, and accuracy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.classifier.accuracy import Accuracy, measure_accuracy
from trainer.classifier.clusters import Known, find_clusters, known_of, numbers_of_clusters
from trainer.classifier.hot_keys import HotKeys, find_hot_keys
from trainer.classifier.observations import Observations
from trainer.classifier.vectors import vectors_of

Progress = Callable[[int, int, str], None]
"""Called with the number of finished types, the number of all, and the next type."""


@dataclass(frozen=True)
class Plan:
    """The parameters of a training.

    Attributes:
        hot: the share of transactions from which a key that they access is hot.
        clusters: maximum number of clusters of a type; None for as many as fit.
        neighbours: the number of neighbours that vote.
        validation: the share of the transactions, after the training part, that selects the number
            of clusters. The last transactions, the same number, measure the accuracy.
        hinted: whether to use the hints; False to use only the type of a transaction.
        seed: of the clustering.
    """

    hot: float
    clusters: int | None
    neighbours: int
    validation: float
    hinted: bool
    seed: int


@dataclass(frozen=True)
class Trained:
    """A trained classifier.

    Attributes:
        classifier: as in a policy's file.
        clusters: by type, the number of clusters.
        hot_keys: the number of hot keys.
        accuracy: by type, and for "all", on transactions that were not used in the training.
    """

    classifier: Mapping[str, Any]
    clusters: Mapping[str, int]
    hot_keys: int
    accuracy: Mapping[str, Accuracy]


def train(
    observed: Observations, workload: Mapping[str, str], plan: Plan, progress: Progress
) -> Trained:
    """Train a classifier; for each type, with the number of clusters of the lowest error.

    Args:
        observed: of the workload, in the order of time.
        workload: its name and options.
        plan: the parameters.
        progress: called for each type.
    """
    signature = observed.signature
    end = int(len(observed) * (1 - 2 * plan.validation))
    middle = int(len(observed) * (1 - plan.validation))
    trained_on, chosen_by = observed.part(0, end), observed.part(end, middle)
    hot_keys = find_hot_keys(trained_on, plan.hot)
    types: list[dict[str, Any]] = []
    for place, name in enumerate(signature.type_names):
        progress(place, len(signature.types), name)
        known = _known(trained_on, hot_keys, place, plan.hinted)
        if len(known.operations):
            ours = chosen_by.filtered(chosen_by.types == place)
            types.append(_best(known, name, _Trial(workload, ours, hot_keys, plan)))
    progress(len(signature.types), len(signature.types), "")
    document = _document(types, hot_keys, plan, chosen_by)
    rest = observed.part(middle, len(observed))
    return Trained(
        classifier=document,
        clusters={entry["type"]: len(entry["clusters"]) for entry in types},
        hot_keys=len(hot_keys),
        accuracy=measure_accuracy(json.dumps(document), workload, rest, hot_keys),
    )


@dataclass(frozen=True)
class _Trial:
    """Evaluates numbers of clusters on the validation part."""

    workload: Mapping[str, str]
    observed: Observations
    hot_keys: HotKeys
    plan: Plan

    def error(self, entry: dict[str, Any]) -> float:
        """Return the share of a type's transactions that is predicted wrongly."""
        document = _document([entry], self.hot_keys, self.plan, self.observed)
        found = measure_accuracy(json.dumps(document), self.workload, self.observed, self.hot_keys)
        return 1 - found[entry["type"]].exact if entry["type"] in found else 0.0


def _known(observed: Observations, hot_keys: HotKeys, place: int, hinted: bool) -> Known:
    transactions = np.flatnonzero(observed.types == place)
    vectors = vectors_of(observed, hot_keys, place)
    rows = hot_keys.among(observed.rows)
    return known_of(vectors if hinted else vectors[:, :0], rows, transactions)


def _best(known: Known, name: str, trial: _Trial) -> dict[str, Any]:
    """Return the entry with the lowest error; of equal ones, that with the fewest clusters."""
    signature = trial.observed.signature
    best: tuple[float, dict[str, Any]] | None = None
    for number in numbers_of_clusters(known, trial.plan.clusters):
        entry = find_clusters(known, number, trial.plan.seed).as_dict(name, known, signature)
        error = trial.error(entry)
        if best is None or error < best[0]:
            best = (error, entry)
        if error == 0:
            break
    assert best is not None
    return best[1]


def _document(
    types: list[dict[str, Any]], hot_keys: HotKeys, plan: Plan, observed: Observations
) -> dict[str, Any]:
    return {
        "neighbours": plan.neighbours,
        "hot_keys": hot_keys.as_dict(observed.signature),
        "types": types,
    }
