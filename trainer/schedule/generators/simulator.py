"""The two workloads of the SMF paper's simulator, for comparison with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import FILLER, read, setting, write


@dataclass(frozen=True)
class SimulatorTpcc:
    """NewOrder and Payment alternate, without items; NewOrder is 23 slots long, Payment 7."""

    warehouses: int = setting(4, 1, 100_000, "number of warehouses")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        payment = False
        while True:
            warehouse = int(random.integers(self.warehouses))
            district = read("district", warehouse, random.integers(10))[1]
            customer = read("customer", random.integers(3000))[1]
            home: list[Operation] = [read("warehouse", warehouse)]
            if payment:
                home.append(write("warehouse", warehouse))
            rows: list[Operation] = [(op, key) for key in (district, customer) for op in "rw"]
            yield home + rows + [FILLER] * (1 if payment else 18)
            payment = not payment


@dataclass(frozen=True)
class Alternating:
    """Transactions read keys of one group and later write keys of the other, and vice versa."""

    keys: int = setting(5, 1, 1_000_000, "keys of each group")
    fillers: int = setting(7, 0, 100_000, "time units between reads and writes")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        groups = ("left", "right")
        while True:
            first, second = (f"{group}-{random.integers(self.keys)}" for group in groups)
            yield [("r", first)] * 2 + [FILLER] * self.fillers + [("w", second)] * 4
            groups = (groups[1], groups[0])
