"""The accuracy of a classifier, measured with the engine's own prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import engine
from trainer.classifier.hot_keys import HotKeys
from trainer.classifier.observations import Observations, table_names


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of predictions.

    Attributes:
        transactions: the number of transactions.
        exact: the share of them with exactly the right hot rows.
        precision: the share of the predicted rows that were accessed; 1 if none was predicted.
        recall: the share of the accessed hot rows that were predicted; 1 if none was accessed.
    """

    transactions: int
    exact: float
    precision: float
    recall: float


def measure_accuracy(
    classifier: str, workload: Mapping[str, str], observed: Observations, hot_keys: HotKeys
) -> dict[str, Accuracy]:
    """Compare predictions with the transactions' accesses.

    Args:
        classifier: its JSON.
        workload: its name and options.
        observed: transactions that were not used in the training.
        hot_keys: the hot keys of the training.

    Returns:
        By the type's name, and for all types together by "all".
    """
    hits, wrong, missed = _outcomes(classifier, workload, observed, hot_keys)
    names = observed.signature.type_names
    found = {
        name: _accuracy(hits[of], wrong[of], missed[of])
        for place, name in enumerate(names)
        if len(of := np.flatnonzero(observed.types == place))
    }
    return {**found, "all": _accuracy(hits, wrong, missed)}


def _outcomes(
    classifier: str, workload: Mapping[str, str], observed: Observations, hot_keys: HotKeys
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each transaction the rows predicted and accessed, predicted, and accessed."""
    hints = observed.hints
    counts, states, keys = engine.HotKeyPredictor(dict(workload), classifier).predict(
        observed.types, hints.counts, hints.states, hints.keys
    )
    names = table_names(observed.signature)
    tables = np.array([names.index(access.table) for access in observed.signature.accesses])
    rows = hot_keys.among(observed.rows)
    predicted = _rows(np.repeat(np.arange(len(observed)), counts), tables[states], keys)
    touched = _rows(rows.transactions, rows.tables, rows.keys)

    def each(some: np.ndarray) -> np.ndarray:
        return np.bincount(some["transaction"], minlength=len(observed))

    return (
        each(np.intersect1d(predicted, touched)),
        each(np.setdiff1d(predicted, touched)),
        each(np.setdiff1d(touched, predicted)),
    )


def _rows(transactions: np.ndarray, tables: np.ndarray, keys: np.ndarray) -> np.ndarray:
    kind = [("transaction", np.int64), ("table", np.int64), ("key", np.uint64)]
    rows = np.empty(len(keys), kind)
    rows["transaction"], rows["table"], rows["key"] = transactions, tables, keys
    return np.unique(rows)


def _accuracy(hits: np.ndarray, wrong: np.ndarray, missed: np.ndarray) -> Accuracy:
    right = int(hits.sum())
    return Accuracy(
        transactions=len(hits),
        exact=float(np.mean((wrong == 0) & (missed == 0))) if len(hits) else 1.0,
        precision=right / (right + int(wrong.sum())) if right or wrong.any() else 1.0,
        recall=right / (right + int(missed.sum())) if right or missed.any() else 1.0,
    )
