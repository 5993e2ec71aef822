from __future__ import annotations

import pytest

from envs.history import History
from tests.envs.history_mutations import MUTATIONS, WORKLOADS, Detected, detect, record
from tests.scale import scaled

COUNT = scaled(12)
MOST_MISSED = {
    "read of another version of the row": 0.1,
    "content of a read": 0.5,
    "content of a write": 0.6,
    "read turned into a miss": 0.35,
    "row of a range dropped, and counted less": 0.5,
    "write dropped": 0.6,
    "delete dropped": 0.4,
    "insert turned into a write": 0.8,
    "writer aborted": 0.2,
    "uncommitted read of another writer": 0.35,
}
"""The maximum share of changes that the checker misses, by kind. Kinds that no other order can
explain are always reported. A change is undetectable if no other transaction saw the changed value.
"""


@pytest.fixture(scope="module")
def detected() -> dict[str, Detected]:
    histories: list[History] = [
        record(workload, protocol, 1) for workload in WORKLOADS for protocol in ("silo", "mvto")
    ]
    return detect(histories, COUNT)


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_changed_history_is_reported(kind: str, detected: dict[str, Detected]) -> None:
    assert detected[kind].changed >= COUNT
    assert detected[kind].missed <= MOST_MISSED.get(kind, 0)
