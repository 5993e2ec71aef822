from __future__ import annotations

import pytest

from policies import Signature, workload_signature

WORKLOADS = ("micro", "tpcc", "ycsb")


@pytest.fixture(scope="session", params=WORKLOADS)
def signature(request: pytest.FixtureRequest) -> Signature:
    """Return the signature of each workload in turn."""
    return workload_signature(request.param)


@pytest.fixture(scope="session")
def tpcc() -> Signature:
    """Return TPC-C's signature, with three types and 26 states."""
    return workload_signature("tpcc")
