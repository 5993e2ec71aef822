"""What a transaction costs that does not wait, compared with an empty context manager."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heddle_client import Scheduler

ALLOWED = 60
"""The ratio is about 10. An empty one takes above 0.3 µs, and the bound of the product is 20 µs."""


@contextmanager
def empty() -> Iterator[None]:
    yield


@pytest.mark.parametrize("enabled", [True, False])
def test_a_transaction_that_does_not_wait_is_cheap(enabled: bool) -> None:
    scheduler = Scheduler(concurrency=8, enabled=enabled)

    def pass_through() -> None:
        with scheduler.transaction("pay", keys=[("account", 1), ("account", 2)]):
            pass

    def without() -> None:
        with empty():
            pass

    times, baseline = (
        min(timeit.repeat(function, number=500, repeat=9)) for function in (pass_through, without)
    )
    assert times / baseline < ALLOWED
    metrics = scheduler.metrics()
    assert (metrics.started + metrics.passed_through, metrics.waited) == (4_500, 0)
