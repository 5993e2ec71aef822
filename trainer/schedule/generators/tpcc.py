"""TPC-C's NewOrder and Payment, which cause most of its conflicts (SMF paper, §3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import FILLER, read, setting, write

DISTRICTS = 10
CUSTOMERS = 3000
ITEMS = 100_000
LINES = (5, 15)
CUSTOMER_A, ITEM_A = 1023, 8191
"""NURand's A (TPC-C, clause 2.1.6)."""
REMOTE_LINE, REMOTE_PAYMENT = 0.01, 0.15
"""Clauses 2.4.1.5 and 2.5.1.2."""


@dataclass(frozen=True)
class Tpcc:
    """Half and half by default. Inserts do not conflict: they are fillers."""

    warehouses: int = setting(10, 1, 100_000, "number of warehouses")
    payments: float = setting(0.5, 0, 1, "share of transactions that are Payment")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        while True:
            home = int(random.integers(self.warehouses))
            district = int(random.integers(DISTRICTS))
            if random.random() < self.payments:
                yield self._payment(home, district, random)
            else:
                yield self._new_order(home, district, random)

    def _payment(self, home: int, district: int, random: np.random.Generator) -> list[Operation]:
        customer = _nurand(CUSTOMER_A, CUSTOMERS, random)
        of, of_district = home, district
        if self.warehouses > 1 and random.random() < REMOTE_PAYMENT:
            of, of_district = self._other(home, random), int(random.integers(DISTRICTS))
        keys = [("warehouse", home), ("district", home, district)]
        keys.append(("customer", of, of_district, customer))
        return [*(access(*key) for key in keys for access in (read, write)), FILLER]

    def _new_order(self, home: int, district: int, random: np.random.Generator) -> list[Operation]:
        lines = int(random.integers(LINES[0], LINES[1] + 1))
        customer = _nurand(CUSTOMER_A, CUSTOMERS, random)
        made = [
            read("warehouse", home),
            read("district", home, district),
            write("district", home, district),
            read("customer", home, district, customer),
            FILLER,  # into orders
            FILLER,  # into new orders
        ]
        items = {_nurand(ITEM_A, ITEMS, random) for _ in range(lines)}
        for item in sorted(items):
            remote = self.warehouses > 1 and random.random() < REMOTE_LINE
            supply = self._other(home, random) if remote else home
            made += [read("item", item), read("stock", supply, item), write("stock", supply, item)]
            made.append(FILLER)  # into order lines
        return made

    def _other(self, home: int, random: np.random.Generator) -> int:
        return (home + 1 + int(random.integers(self.warehouses - 1))) % self.warehouses


def _nurand(spread: int, count: int, random: np.random.Generator) -> int:
    return (int(random.integers(spread + 1)) | int(random.integers(count))) % count
