from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from traces.importers.base import LeftOut
from traces.importers.ecommerce import EcommerceImporter
from traces.schema import TRANSACTION
from traces.synthesis.requests import HOURLY
from traces.synthesis.settings import Settings
from traces.synthesis.shop import days_of

SMALL = Settings(days=12, requests_per_day=1000, sales=1, invalid_days=3, seed=5)


def tables_of(settings: Settings) -> dict[date, pa.Table]:
    """Return the transactions of each day."""
    return {
        day: pa.concat_tables([TRANSACTION.empty_table(), *tables])
        for day, tables in days_of(settings)
    }


@pytest.fixture(scope="module")
def shop() -> dict[date, pa.Table]:
    return tables_of(SMALL)


@pytest.fixture(scope="module")
def rows(shop: dict[date, pa.Table]) -> list[dict]:
    return pa.concat_tables(shop.values()).to_pylist()


def test_transactions_are_in_order_and_on_their_day(shop: dict[date, pa.Table]) -> None:
    for day, table in shop.items():
        begins = table["begin"].to_pylist()
        assert begins == sorted(begins)
        assert {begin.date() for begin in begins} <= {day}


def test_ids_are_consecutive(rows: list[dict]) -> None:
    assert [row["transaction"] for row in rows] == list(range(len(rows)))


def test_a_session_belongs_to_one_customer(rows: list[dict]) -> None:
    customers: dict[int, set[int]] = {}
    for row in rows:
        customers.setdefault(row["session"], set()).add(row["user"])
    assert {len(users) for users in customers.values()} == {1}
    assert max(Counter(row["session"] for row in rows).values()) > 3


def test_purchases_follow_carts(rows: list[dict]) -> None:
    """Damaged logs, which lack requests, are excepted."""
    carts: Counter[tuple] = Counter()
    orphans = 0
    for row in rows:
        item = (row["session"], row["parameters"][0][1])
        if row["type"] == "cart":
            carts[item] += 1
        elif carts[item] > 0:
            carts[item] -= 1
        else:
            orphans += 1
    purchases = sum(row["type"] == "purchase" for row in rows)
    assert 0.2 * len(rows) < purchases < 0.3 * len(rows)
    assert orphans < 0.02 * purchases


def test_transactions_match_the_importer(rows: list[dict], tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "event_time,event_type,product_id,price,user_id,user_session\n"
        + "".join(
            f"{row['begin']:%Y-%m-%d %H:%M:%S} UTC,{row['type']},{row['parameters'][0][1]},"
            f"{row['parameters'][1][1]},{row['user']},{row['session']}\n"
            for row in rows[:50]
        )
    )
    importer = EcommerceImporter((log,), LeftOut(strict=True))
    imported = pa.concat_tables(importer.tables()).to_pylist()
    assert imported == [row | {"begin": row["begin"].replace(microsecond=0)} for row in rows[:50]]


def test_the_same_settings_give_the_same_transactions(shop: dict[date, pa.Table]) -> None:
    again = tables_of(SMALL)
    assert list(again) == list(shop)
    assert all(again[day].equals(shop[day]) for day in shop)


def test_another_seed_gives_other_transactions(shop: dict[date, pa.Table]) -> None:
    other = tables_of(Settings(days=12, requests_per_day=1000, sales=1, invalid_days=3, seed=6))
    for column in ("begin", "user", "parameters"):
        assert not other[SMALL.begin][column].equals(shop[SMALL.begin][column])


def test_damaged_days_are_damaged(shop: dict[date, pa.Table]) -> None:
    counts = sorted(table.num_rows for table in shop.values())
    assert counts[0] == 0
    assert counts[1] < 0.2 * counts[-1]
    hours = [len({begin.hour for begin in t["begin"].to_pylist()}) for t in shop.values()]
    assert Counter(hours)[24 - 5] == 1


def test_the_number_of_requests_and_their_hours() -> None:
    settings = Settings(
        days=7, requests_per_day=20_000, sales=0, invalid_days=0, drift=0, noise=0, weekend=1
    )
    begins = np.concatenate(
        [table["begin"].cast(pa.int64()).to_numpy() for table in tables_of(settings).values()]
    )
    assert len(begins) == pytest.approx(7 * 20_000, rel=0.02)
    by_hour = np.bincount(begins // 3_600_000_000 % 24, minlength=24)
    assert np.corrcoef(by_hour, HOURLY)[0, 1] > 0.99


def test_popularity_changes() -> None:
    settings = Settings(days=50, requests_per_day=5000, moving_share=0.05)
    busiest = [
        {product for product, _ in Counter(_products(table)).most_common(20)}
        for table in (table for table in tables_of(settings).values() if table.num_rows > 1000)
    ]
    assert len(busiest[0] & busiest[1]) > 12
    assert len(busiest[0] & busiest[-1]) < 10


def test_tables_have_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.synthesis.shop.TABLE_ROWS", 300)
    _, tables = next(days_of(SMALL))
    sizes = [table.num_rows for table in tables]
    assert set(sizes[:-1]) == {300}
    assert sum(sizes) > 600


def _products(table: pa.Table) -> list[int]:
    return table["accesses"].combine_chunks().flatten().field("key").to_pylist()[::3]
