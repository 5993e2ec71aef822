"""Converts requests into transactions of the form that the importer of a shop's log produces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from traces.importers.columns import (
    fixed_access_lists,
    parameters_column,
    transaction_table,
    words_column,
)
from traces.importers.ecommerce import CART, PURCHASE
from traces.schema import TRANSACTION
from traces.synthesis.popularity import FIRST_PRODUCT
from traces.synthesis.requests import Requests

TYPES = (CART, PURCHASE)


def table_of(
    requests: Requests, prices: pa.Array, midnight_us: int, first_transaction: int
) -> pa.Table:
    """Convert a day's requests into a table of the trace schema.

    Args:
        requests: ordered requests.
        prices: the price of each product as text, by number.
        midnight_us: start of the day, microseconds since 1970.
        first_transaction: the id of the first transaction; the others follow.
    """
    ids = first_transaction + np.arange(len(requests))
    numbers = requests.purchase.astype(np.int64)
    return transaction_table(
        {
            "transaction": ids,
            "begin": pa.array(midnight_us + requests.begin).cast(TRANSACTION.field("begin").type),
            "session": requests.session,
            "user": requests.customer,
            "type": words_column(numbers, [type_.name for type_ in TYPES], "type"),
            "parameters": parameters_column(
                {
                    "product_id": pa.array(requests.product).cast(pa.string()),
                    "price": prices.take(pa.array(requests.product - FIRST_PRODUCT)),
                }
            ),
            "accesses": fixed_access_lists(
                TYPES,
                numbers,
                {"product": requests.product, "cart": requests.customer, "orders": ids},
            ),
        }
    )
