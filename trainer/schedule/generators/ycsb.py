"""YCSB as the SMF paper runs it (VLDB 2024, §5.1): workload B in groups of 16."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import Zipf, read, setting, write


@dataclass(frozen=True)
class Ycsb:
    """Transactions of single reads and writes."""

    records: int = setting(1_000_000, 1, 100_000_000, "number of keys")
    theta: float = setting(0.9, 0, 10, "skew of the Zipfian distribution")
    operations: int = setting(16, 1, 10_000, "operations per transaction")
    writes: float = setting(0.05, 0, 1, "share of operations that are writes")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        ranks = Zipf(self.records, self.theta, random)
        while True:
            yield [
                (write if random.random() < self.writes else read)("record", ranks.draw())
                for _ in range(self.operations)
            ]
