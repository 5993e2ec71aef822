"""Imports the log of a shop, "eCommerce behavior data from multi category store" of Kaggle.

The paper analyses this log (Wang et al., OSDI 2021, section 7.6.1). Requests view a product, put it
into the cart, or purchase it. Views only read, so the paper leaves them out. Two other requests
conflict if they are for the same product and of different users, because both write its row.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traces.importers.base import Format, LeftOut
from traces.importers.columns import (
    fixed_access_lists,
    parameters_column,
    transaction_table,
    words_column,
)
from traces.importers.csv_rows import csv_rows
from traces.importers.file_importer import FileImporter
from traces.importers.key_columns import key_column
from traces.importers.log_rows import LogRows, as_text, mask_of, not_empty
from traces.importers.overlap import SAME_TIMES, Spans
from traces.keys import keys_of
from traces.manifest import Access, TransactionType

COLUMNS = ("event_time", "event_type", "product_id", "price", "user_id", "user_session")
TIME_FORMAT = "%Y-%m-%d %H:%M:%S UTC"
PRICE = r"^[0-9]+(\.[0-9]+)?$"

CART = TransactionType(
    "cart",
    (
        Access(0, "read_product", "product", "read"),
        Access(1, "reserve_product", "product", "update"),
        Access(2, "update_cart", "cart", "update"),
    ),
)
PURCHASE = TransactionType(
    "purchase",
    (
        Access(0, "read_product", "product", "read"),
        Access(1, "sell_product", "product", "update"),
        Access(2, "insert_order", "orders", "insert"),
    ),
)
VIEW = TransactionType("view", (Access(0, "read_product", "product", "read"),))

SKIPPED = {"view": "views, which only read", "remove_from_cart": "removals from the cart"}
"""Events that are no transactions, and their reasons."""


class EcommerceImporter(FileImporter):
    """Converts the shop's events into transactions; see the module.

    Args:
        sources: CSV files, packed or not, with at least the columns `COLUMNS`.
        left_out: counts rows that do not become transactions.
        with_views: whether views become transactions too.

    Raises:
        TraceError: there is no source, or one can't be read.
    """

    def __init__(
        self, sources: tuple[Path, ...], left_out: LeftOut, with_views: bool = False
    ) -> None:
        super().__init__(sources, left_out, "the CSV files of the log")
        self._types = (CART, PURCHASE, VIEW) if with_views else (CART, PURCHASE)
        self._made = 0
        self._spans = Spans()

    def types(self) -> tuple[TransactionType, ...]:
        """The types `cart` and `purchase`, and `view` if it is included."""
        return self._types

    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield a table for some megabytes of log each; ids number the events that are kept."""
        for file in self.files():
            self._spans.next_file()
            for rows in csv_rows(file, COLUMNS, self.left_out):
                yield self._table(rows)

    def _table(self, rows: LogRows) -> pa.Table:
        rows = self._usable(self._chosen(rows))
        begins = _times(rows.batch.column("event_time"))
        rows = rows.require(
            mask_of(begins.is_valid()), "event_time", "event_time is no time", self.left_out
        )
        covered = self._spans.covered(begins.drop_null().cast(pa.int64()).to_numpy())
        rows.guess(covered, "event_time", SAME_TIMES, self.left_out)
        events = rows.batch
        names = [type_.name for type_ in self._types]
        number = pc.index_in(events["event_type"], pa.array(names, pa.binary())).to_numpy()
        ids = np.arange(self._made, self._made + len(number))
        self._made += len(number)
        product, user = (
            keys_of(key_column(events[column])) for column in ("product_id", "user_id")
        )
        keys = {"product": product.to_numpy(), "cart": user.to_numpy(), "orders": ids}
        parameters = {name: as_text(events[name]) for name in ("product_id", "price")}
        return transaction_table(
            {
                "transaction": ids,
                "begin": begins.drop_null().cast(pa.timestamp("us", "UTC")),
                "session": keys_of(events["user_session"]),
                "user": user,
                "type": words_column(number, names, "type"),
                "parameters": parameters_column(parameters),
                "accesses": fixed_access_lists(self._types, number, keys),
            }
        )

    def _chosen(self, rows: LogRows) -> LogRows:
        """Return the events of the types that become transactions."""
        names = pa.array([type_.name for type_ in self._types], pa.binary())
        chosen = mask_of(pc.is_in(rows.batch["event_type"], names))
        others = rows.where(~chosen)
        for event, reason in SKIPPED.items():
            skipped = mask_of(pc.equal(others.batch["event_type"], event.encode()))
            others = others.without(skipped, reason, self.left_out)
        nothing = np.zeros(others.batch.num_rows, dtype=bool)
        others.require(nothing, "event_type", "event_type is unknown", self.left_out)
        return rows.where(chosen)

    def _usable(self, rows: LogRows) -> LogRows:
        """Return the events that have all values they need."""
        for column in ("product_id", "user_id", "user_session"):
            there = not_empty(key_column(rows.batch[column]))
            rows = rows.require(there, column, f"no {column}", self.left_out)
        text = as_text(rows.batch["product_id"]).is_valid()
        rows = rows.require(mask_of(text), "product_id", "product_id is not UTF-8", self.left_out)
        priced = mask_of(pc.match_substring_regex(rows.batch["price"], PRICE))
        return rows.require(priced, "price", "price is no number", self.left_out)


def _times(column: pa.Array) -> pa.Array:
    """Parse times to the second; null where the text is invalid."""
    # Times repeat in a busy second, so each distinct one is parsed once.
    encoded = as_text(column).dictionary_encode()
    seconds = pc.strptime(encoded.dictionary, format=TIME_FORMAT, unit="s", error_is_null=True)
    return seconds.take(encoded.indices)


ECOMMERCE = Format(
    "the log of an online shop, with the columns of Kaggle's: event_time, event_type, …",
    EcommerceImporter,
    (
        click.Option(
            ["--with-views"],
            is_flag=True,
            help="Import views too, which only read.",
        ),
    ),
)
