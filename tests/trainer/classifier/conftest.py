from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from envs import Evaluator, subject_of, untuned
from policies.signature import workload_signature
from traces.manifest import Manifest, Source
from traces.reader import open_trace
from traces.writer import TraceWriter
from trainer.classifier.observations import Observations, observe

WAREHOUSES = 2
WORKLOAD = {"name": "tpcc", "warehouses": str(WAREHOUSES)}


def record(folder: Path, workload: dict[str, str], transactions: int) -> Path:
    """Record `transactions` transactions, on more workers than warehouses.

    They are spread over the run: the first ones may all be of a worker that had a core to itself.
    """
    evaluator = Evaluator(workload, 4)
    try:
        subject = subject_of("silo", evaluator.signature, untuned)
        _, trace = evaluator.record_trace(subject, 0.5, seed=1, bytes_max=1 << 30)
    finally:
        evaluator.close()
    with TraceWriter(folder, Manifest("trace", Source("test"), trace.types)) as writer:
        table = next(trace.tables(16))
        chosen = np.linspace(
            0, table.num_rows - 1, min(transactions, table.num_rows), dtype=np.int64
        )
        writer.write(table.take(chosen))
    return folder


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("tpcc") / "trace", WORKLOAD, 6000)


@pytest.fixture(scope="session")
def observed(trace: Path) -> Observations:
    return observe(open_trace(trace), workload_signature("tpcc", {}), 100_000)
