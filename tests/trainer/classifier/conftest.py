from __future__ import annotations

from pathlib import Path

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
    """Record a trace of `transactions` transactions, on more workers than warehouses."""
    evaluator = Evaluator(workload, 4)
    try:
        subject = subject_of("silo", evaluator.signature, untuned)
        _, trace = evaluator.record_trace(subject, 0.5, seed=1, bytes_max=1 << 30)
    finally:
        evaluator.close()
    with TraceWriter(folder, Manifest("trace", Source("test"), trace.types)) as writer:
        for table in trace.tables(16):
            writer.write(table.slice(0, transactions))
            break
    return folder


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("tpcc") / "trace", WORKLOAD, 6000)


@pytest.fixture(scope="session")
def observed(trace: Path) -> Observations:
    return observe(open_trace(trace), workload_signature("tpcc", {}), 100_000)
