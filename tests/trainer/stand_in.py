"""Puts the stand-in in the place of the compiled engine."""

from __future__ import annotations

import math
import sys
from types import ModuleType

import pytest

from envs import Evaluator
from tests.trainer import fake_engine
from tests.trainer.fake_trials import FakeTrialPool


def use_stand_in(patch: pytest.MonkeyPatch) -> ModuleType:
    """Replace the engine, without noise, wherever `engine` is imported, until the patch ends."""
    patch.setitem(sys.modules, "engine", fake_engine)
    patch.setattr(fake_engine, "NOISE", 0.0)
    patch.setattr(fake_engine, "NOISE_BY_RUN", True)
    patch.setattr(fake_engine, "SECONDS_PER_RUN", 0.0)
    patch.setattr(fake_engine, "STARVED_ABOVE_US", math.inf)
    patch.setattr(fake_engine, "BEST_BY_WAREHOUSES", {})
    patch.setattr(fake_engine, "VIOLATIONS", [])
    # A run takes no time, unless the process is held up: then the load of the machine would be part
    # of its result, and equal runs would differ.
    patch.setattr("envs.host.SHORTEST_S", math.inf)
    patch.setattr("trainer.table_check.TrialPool", FakeTrialPool)
    patch.setattr(Evaluator, "run_trial", FakeTrialPool.on_loaded_database)
    patch.setattr(FakeTrialPool, "fails", staticmethod(lambda trial: False))
    patch.setattr(FakeTrialPool, "checked", [])
    return fake_engine
