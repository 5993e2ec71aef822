"""A social graph's transactions, as the SMF paper describes TAOBench's workload T.

TAOBench (Cheng et al., VLDB 2022) draws from distributions measured in production. The SMF paper
(VLDB 2024, §5.1.1) summarises them: many short reads, some read-write transactions below ten
operations, and a few longer ones of up to sixty, with skewed hot keys in no fixed order. The shares
are Heddle's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import Zipf, read, setting, write
from trainer.schedule.generators.engine_workload import number, share

NAME = "taobench"
READ_MAX = 4
SHORT = (2, 9)
LONG = (10, 60)


@dataclass(frozen=True)
class TaoBench:
    """Reads, short read-write transactions and long ones."""

    objects: int = setting(10_000_000, 1, 100_000_000, "number of objects")
    theta: float = setting(number(NAME, "theta"), 0, 10, "skew of the Zipfian distribution")
    reads: float = setting(
        share(NAME, "read") + share(NAME, "read_txn"), 0, 1, "share of transactions that only read"
    )
    long: float = setting(share(NAME, "long"), 0, 1, "share of the others that are long")
    writes: float = setting(
        share(NAME, "writes"), 0, 1, "share of the operations of the others that writes"
    )

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        ranks = Zipf(self.objects, self.theta, random)
        while True:
            reads = random.random() < self.reads
            writes = 0.0 if reads else self.writes
            least, most = (1, READ_MAX) if reads else LONG if random.random() < self.long else SHORT
            yield [
                (write if random.random() < writes else read)("object", ranks.draw())
                for _ in range(random.integers(least, most + 1))
            ]
