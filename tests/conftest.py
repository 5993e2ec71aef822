"""Settings of all tests, and their distribution over the processes of `make test-python`."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.scale import ScaleError, scaled, suite_scale

# nohup ignores the signal, and commands started by the tests would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # Tests already run on every core. More threads make operations on small matrices far slower.
    os.environ.setdefault(variable, "1")

EXAMPLES = 30
"""The examples of a Hypothesis test without a number of its own."""

RAY = "tests/trainer/on_ray/"
"""Tests that start a Ray runtime, which occupies all cores; they run one at a time."""


class ByFile(LoadFileScheduling):
    """Runs the tests of a file in one process, so that they share fixtures; Ray's tests as well."""

    def _split_scope(self, nodeid: str) -> str:
        return RAY if nodeid.startswith(RAY) else super()._split_scope(nodeid)


def pytest_configure() -> None:
    try:
        suite_scale()
    except ScaleError as error:
        raise pytest.UsageError(str(error)) from error
    # On a shared machine, a time limit for each example would fail correct tests.
    settings.register_profile("heddle", deadline=None, max_examples=scaled(EXAMPLES))
    settings.load_profile("heddle")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("ray") and not item.nodeid.startswith(RAY):
            raise pytest.UsageError(f"{item.nodeid}: tests marked ray belong in {RAY}")
