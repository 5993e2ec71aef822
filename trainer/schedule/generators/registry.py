"""The registry of generators. To add one, write a module here and add a line below."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.epinions import Epinions
from trainer.schedule.generators.simulator import Alternating, SimulatorTpcc
from trainer.schedule.generators.small_bank import SmallBank
from trainer.schedule.generators.tao_bench import TaoBench
from trainer.schedule.generators.tpcc import Tpcc
from trainer.schedule.generators.ycsb import Ycsb


class Generator(Protocol):
    """A frozen dataclass whose fields, from `draws.setting`, are the workload's parameters."""

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""


GENERATORS: dict[str, type] = {
    "epinions": Epinions,
    "smallbank": SmallBank,
    "taobench": TaoBench,
    "tpcc": Tpcc,
    "ycsb": Ycsb,
    "simulator_tpcc": SimulatorTpcc,
    "alternating": Alternating,
}
"""The generators by name."""


def generate(generator: Generator, count: int, seed: int) -> Iterator[list[Operation]]:
    """Yield `count` transactions; the same seed gives the same sequence for every count."""
    return islice(generator.transactions(np.random.default_rng(seed)), count)
