"""The classifier of hot keys, from observations to predictions."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

import engine
from envs.trace_hints import Hints
from policies import Signature
from trainer.classifier.accuracy import measure_accuracy
from trainer.classifier.clusters import (
    CAPACITY,
    Known,
    find_clusters,
    known_of,
    numbers_of_clusters,
)
from trainer.classifier.hot_keys import HotKeys, find_hot_keys
from trainer.classifier.observations import Observations, Rows, table_names
from trainer.classifier.training import Plan, train
from trainer.classifier.vectors import LONGEST, vectors_of

from .conftest import WAREHOUSES, WORKLOAD

PLAN = Plan(hot=0.01, clusters=None, neighbours=1, validation=0.2, hinted=True, seed=1)
SIGNATURE = Signature.from_dict(
    {
        "workload": "made_up",
        "types": [
            {
                "name": "pay",
                "accesses": [
                    {"id": 0, "name": "look", "table": "SHOP", "kind": "read"},
                    {"id": 1, "name": "book", "table": "TILL", "kind": "update"},
                    {"id": 2, "name": "item", "table": "ITEM", "kind": "read", "loop": True},
                ],
            }
        ],
    }
)
ITEM, SHOP, TILL = range(3)


def hot(items: list[int], shops: list[int], tills: list[int]) -> HotKeys:
    return HotKeys(tuple(np.array(keys, np.uint64) for keys in (items, shops, tills)))


def quiet(done: int, total: int, name: str) -> None: ...


def made_up(
    transactions: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]],
) -> Observations:
    """Build observations from each transaction's hints and rows, as (state, key)."""
    tables = [SHOP, TILL, ITEM]
    of = [number for number, (_, rows) in enumerate(transactions) for _ in rows]
    touched = [row for _, rows in transactions for row in rows]
    passed = [hint for hints, _ in transactions for hint in hints]
    return Observations(
        SIGNATURE,
        np.zeros(len(transactions), np.int64),
        Hints(
            np.array([len(hints) for hints, _ in transactions], np.uint32),
            np.array([state for state, _ in passed], np.uint32),
            np.array([key for _, key in passed], np.uint64),
        ),
        Rows(
            np.array(of, np.int64),
            np.array([tables[state] for state, _ in touched], np.int64),
            np.array([key for _, key in touched], np.uint64),
            np.array([state for state, _ in touched], np.int64),
            np.linspace(0, 1, len(touched), endpoint=False),
        ),
    )


@pytest.mark.slow
def test_a_trace_has_hints_and_accessed_rows(observed: Observations) -> None:
    assert 5000 < len(observed) <= 6000  # without transactions that read a snapshot
    signature = observed.signature
    assert set(np.unique(observed.types)) == {0, 1, 2}
    counts = np.bincount(observed.rows.transactions, minlength=len(observed))
    assert counts.min() >= 1
    pairs = Counter(
        zip(
            observed.rows.transactions.tolist(),
            observed.rows.tables.tolist(),
            observed.rows.keys.tolist(),
            strict=True,
        )
    )
    assert max(pairs.values()) == 1  # each row once
    assert 0 <= observed.rows.places.min() < observed.rows.places.max() < 1
    # A read that NewOrder follows with an update counts as the update.
    names = [signature.accesses[state].name for state in observed.rows.states.tolist()]
    assert "update_district" in names
    assert "read_district" not in names
    # It accesses every warehouse and district that its hints name.
    tables = np.array([table_names(signature).index(one.table) for one in signature.accesses])
    touched = {(number, table, key) for number, table, key in pairs}
    hints = observed.hints
    warehouses = table_names(signature).index("WAREHOUSE")
    for number, state, key in zip(
        observed.hint_transactions.tolist(), hints.states.tolist(), hints.keys.tolist(), strict=True
    ):
        if tables[state] == warehouses:
            assert (number, warehouses, key) in touched


def test_parts_have_the_observations_of_the_whole(observed: Observations) -> None:
    middle = len(observed) // 3
    first, rest = observed.part(0, middle), observed.part(middle, len(observed))
    assert len(first) + len(rest) == len(observed)
    assert (
        np.concatenate([first.hints.keys, rest.hints.keys]).tolist() == observed.hints.keys.tolist()
    )
    moved = np.concatenate([first.rows.transactions, rest.rows.transactions + middle])
    assert moved.tolist() == observed.rows.transactions.tolist()


def test_hot_keys_have_many_accesses_and_some_writes() -> None:
    pay = ([], [(0, 1), (1, 7), (2, 5)])
    look = ([], [(0, 2)])
    found = find_hot_keys(made_up([pay] * 5 + [look] * 5), 0.5)
    # All read shop 1 and item 5, which are never written.
    assert found.as_dict(SIGNATURE) == {"TILL": [7]}
    assert len(find_hot_keys(made_up([pay] * 4 + [look] * 6), 0.5)) == 0


def test_the_hottest_of_a_table_comes_first_and_counts_most() -> None:
    rows = [(1, 7)] * 2 + [(1, 9)] * 5 + [(1, 8)] * 3
    found = find_hot_keys(made_up([([], [row]) for row in rows]), 0.1)
    assert found.as_dict(SIGNATURE) == {"TILL": [9, 8, 7]}
    keys = np.array([7, 8, 9, 10, 0], np.uint64)
    assert found.heats(np.full(5, TILL), keys).tolist() == [1, 2, 3, 0, 0]
    assert found.heats(np.full(5, SHOP), keys).tolist() == [0] * 5


def test_vectors_have_hints_in_order_and_loop_hints_by_heat() -> None:
    hot_keys = HotKeys(
        (np.array([5, 6], np.uint64), np.array([1], np.uint64), np.array([7, 8], np.uint64))
    )
    observed = made_up(
        [
            ([(2, 6), (0, 1), (2, 99), (1, 8), (2, 5)], []),
            ([(0, 2), (1, 7)], []),
            ([], []),
        ]
    )
    assert vectors_of(observed, hot_keys, 0).tolist() == [[1, 1, 2, 1], [0, 2, 0, 0], [0, 0, 0, 0]]
    many = made_up([([(2, key) for key in range(40)], [])])
    items = HotKeys(
        (np.arange(40, dtype=np.uint64), np.array([], np.uint64), np.array([], np.uint64))
    )
    assert vectors_of(many, items, 0).tolist() == [list(range(40, 40 - LONGEST, -1))]


def known(vectors: list[list[int]], rows: list[list[tuple[int, int]]]) -> Known:
    observed = made_up([([], one) for one in rows])
    return known_of(np.array(vectors), observed.rows, np.arange(len(rows)))


def test_a_cluster_predicts_the_keys_of_most_of_its_transactions() -> None:
    made = known([[1]] * 3 + [[2]] * 2, [[(1, 7)], [(1, 7), (0, 1)], [(1, 7)], [(1, 8)], [(1, 8)]])
    one, both = (find_clusters(made, number, 1) for number in (1, 2))
    assert one.labels.tolist() == [0, 0]
    assert [made.kinds[kind] for kind in one.kinds] == [((1, 7),)]
    assert [made.kinds[kind] for kind in both.kinds] == [((1, 7),), ((1, 8),)]


def test_equal_clusters_are_merged() -> None:
    made = known([[1], [2], [3]], [[(1, 7)], [(1, 7)], []])
    found = find_clusters(made, 3, 1)
    assert found.labels.tolist() == [0, 0, 1]
    assert len(found.kinds) == 2


def test_with_limited_rows_the_most_frequent_are_kept() -> None:
    most = CAPACITY // 2
    vectors = [[number] for number in range(most + 50)] + [[most + 49]] * 3
    made = known(vectors, [[] for _ in vectors])
    assert numbers_of_clusters(made, None)[-1] == most
    assert numbers_of_clusters(made, 6) == [1, 2, 4, 6]
    found = find_clusters(made, 1, 1)
    assert len(found.rows) == most
    assert [most + 49] in found.rows.tolist()


@pytest.mark.slow
def test_keys_implied_by_hints_are_predicted(observed: Observations) -> None:
    trained = train(observed, WORKLOAD, PLAN, quiet)
    assert trained.clusters["payment"] == 10 * WAREHOUSES
    assert trained.accuracy["payment"].exact > 0.99
    assert trained.accuracy["all"].precision > 0.99
    predictor = engine.HotKeyPredictor(WORKLOAD, json.dumps(trained.classifier))
    assert json.loads(predictor.json) == trained.classifier  # as the engine would write it


def test_types_alone_predict_poorly(observed: Observations) -> None:
    blind = train(observed, WORKLOAD, dataclasses.replace(PLAN, hinted=False), quiet)
    assert set(blind.clusters.values()) == {1}
    assert blind.accuracy["payment"].exact < 0.5


def test_few_clusters_predict_less(observed: Observations) -> None:
    few = train(observed, WORKLOAD, dataclasses.replace(PLAN, clusters=2), quiet)
    assert max(few.clusters.values()) <= 2
    assert few.accuracy["all"].exact < 0.9


def test_wrong_predictions_are_counted(observed: Observations) -> None:
    trained = train(observed, WORKLOAD, PLAN, quiet)
    hot_keys = find_hot_keys(observed, PLAN.hot)
    payments = observed.filtered(observed.types == 1)
    cold = {**trained.classifier, "types": []}
    nothing = measure_accuracy(json.dumps(cold), WORKLOAD, payments, hot_keys)["payment"]
    assert (nothing.precision, nothing.recall) == (1.0, 0.0)
    assert nothing.exact < 0.01
    # Each transaction gets the hints of another one.
    swapped = dataclasses.replace(
        payments, hints=dataclasses.replace(payments.hints, keys=np.roll(payments.hints.keys, 2))
    )
    wrong = measure_accuracy(json.dumps(trained.classifier), WORKLOAD, swapped, hot_keys)["payment"]
    assert wrong.exact < 0.3
    assert 0.1 < wrong.precision < 0.9


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (([0], [1], [0], [1, 2]), "states and keys must have the same length"),
        (([0, 1], [1], [0], [1]), "types and counts must have the same length"),
        (([0], [2], [0], [1]), "more hints than given"),
        (([0], [0], [0], [1]), "fewer hints than given"),
        (([0], [1], [1000], [1]), "no state 1000"),
        (([0], [200], [0] * 200, [1] * 200), "too many hints"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    columns: tuple[list[int], ...], error: str, observed: Observations
) -> None:
    predictor = engine.HotKeyPredictor(WORKLOAD, '{"neighbours":1,"hot_keys":{},"types":[]}')
    with pytest.raises(ValueError, match=error):
        predictor.predict(*(np.array(column) for column in columns))
