"""For all tests; how `make test-python` spreads them over processes (`pytest` alone has one)."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.scale import ScaleError, scaled, suite_scale

# Under nohup it is ignored, and the commands that the tests start would ignore it, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # A process of tests runs on every core. Threads of their own make small matrices far slower.
    os.environ.setdefault(variable, "1")

EXAMPLES = 30
"""That Hypothesis tries in a test that asks for no number of its own."""

RAY = "tests/trainer/on_ray/"
"""All tests that start a Ray runtime, which takes all cores for its own: one at a time."""


class ByFile(LoadFileScheduling):
    """A file's tests share a process, and what is slow to set up; those with Ray do, too."""

    def _split_scope(self, nodeid: str) -> str:
        return RAY if nodeid.startswith(RAY) else super()._split_scope(nodeid)


def pytest_configure() -> None:
    try:
        suite_scale()
    except ScaleError as error:
        raise pytest.UsageError(str(error)) from error
    # Machines are shared and slow at times; a time limit an example would fail tests for no fault.
    settings.register_profile("heddle", deadline=None, max_examples=scaled(EXAMPLES))
    settings.load_profile("heddle")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("ray") and not item.nodeid.startswith(RAY):
            raise pytest.UsageError(f"{item.nodeid}: tests marked ray belong in {RAY}")
