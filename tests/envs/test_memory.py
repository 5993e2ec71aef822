"""Databases are refused and runs end before memory is exhausted."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import engine
from envs import NATIVE, ComparisonPlan, Evaluator, MeasuringError, compare
from envs import memory as memory_module
from envs.memory import available_bytes, estimated_bytes, gib, guard, reserve_bytes

TPCC = {"name": "tpcc", "warehouses": "500"}
ALL = 1 << 62
"""A reserve larger than any memory, so that memory is short at once."""


@pytest.fixture
def guarded() -> Iterator[None]:
    yield
    guard(engine)


class Small:
    """A session of the stand-in with one gibibyte per warehouse, and one more."""

    def __init__(self, workload: dict[str, str], *rest: Any) -> None:
        self.memory_bytes = (1 + int(workload["warehouses"])) << 30


class Declared:
    name, default = "warehouses", 1


def test_a_database_is_estimated_from_two_small_ones(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "Session", Small)
    machine = {"kind": "threads"}
    assert estimated_bytes(fake_engine, TPCC, machine) == 501 << 30
    assert estimated_bytes(fake_engine, TPCC | {"warehouses": "4"}, machine) is None
    assert estimated_bytes(fake_engine, {"name": "replay", "program": "x"}, machine) is None


def test_a_database_that_does_not_fit_is_refused_with_a_remedy(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "Session", Small)
    monkeypatch.setattr(fake_engine, "memory_left", lambda: (50 << 30) + reserve_bytes())
    evaluator = Evaluator(TPCC, 2)
    with pytest.raises(MeasuringError) as refused:
        evaluator.run(NATIVE["silo"], 0.1, warmup=0.0, seed=1)
    assert "tpcc needs about 501.0 GiB, but only 50.0 GiB of" in str(refused.value)
    assert "use workload.warehouses=39," in str(refused.value)


def test_runs_after_one_ended_by_memory_are_shorter(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison keeps all runs and adds a warning."""
    run = fake_engine.Session.run

    def bounded(session: Any, options: Any, **named: Any) -> Any:
        short = options.seconds > 10.0
        options.seconds = min(options.seconds, 10.0)
        raw = run(session, options, **named)
        return raw | {"memory": {"grown_bytes": int(options.seconds * 2**30), "short": short}}

    monkeypatch.setattr(fake_engine.Session, "run", bounded)
    evaluator = Evaluator({"name": "tpcc"}, 2, machine={"kind": "virtual"})
    subjects = [NATIVE["silo"], NATIVE["two_phase_locking"]]
    found = compare(evaluator.run_round, subjects, ComparisonPlan(30.0, 3, 0.0), seed=1)
    lengths = [one.duration_s for row in found.rows for one in row.repeats]
    assert sorted(lengths) == [8.0] * 5 + [10.0]
    (warning,) = found.warnings
    assert "6 of 6 runs were shortened, the shortest to 8 s" in warning
    assert "1.0 GiB a second; use run.seconds=8" in warning


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("kind", ["threads", "virtual"])
@pytest.mark.slow
def test_the_engine_ends_a_run_before_memory_is_exhausted(kind: str, tmp_path: Path) -> None:
    usage, statistics = tmp_path / "usage", tmp_path / "statistics"
    usage.write_text("0")
    evaluator = Evaluator({"name": "tpcc"}, 1, machine={"kind": kind})
    engine.guard_memory(1 << 20, [(str(usage), str(statistics), 1 << 30)])
    seconds = 0.3 if kind == "threads" else 0.002
    whole = evaluator.run(NATIVE["silo"], seconds, warmup=0.0, seed=1)
    assert not whole.short_of_memory
    assert whole.grown_bytes is not None
    assert whole.grown_bytes > 0
    fill = threading.Timer(0.5, usage.write_text, [str(1 << 30)])
    fill.start()
    short = evaluator.run(NATIVE["silo"], 600.0, warmup=0.0, seed=1)
    fill.join()
    assert short.short_of_memory
    assert short.commits > 0
    with pytest.raises(MeasuringError, match="not enough memory"):
        evaluator.run(NATIVE["silo"], 600.0, warmup=0.0, seed=1)
    evaluator.close()


@pytest.mark.usefixtures("guarded")
def test_the_engine_refuses_a_database_that_does_not_fit() -> None:
    evaluator = Evaluator({"name": "micro", "records": "1000"}, 1)
    engine.guard_memory(ALL)
    with pytest.raises(MeasuringError, match=r"not enough memory: .* are available"):
        evaluator.run(NATIVE["silo"], 0.01, warmup=0.0, seed=1)


@pytest.mark.usefixtures("guarded")
def test_a_control_group_bounds_memory(tmp_path: Any) -> None:
    (tmp_path / "memory.current").write_text(f"{900 << 20}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {300 << 20}\n")
    files = (str(tmp_path / "memory.current"), str(tmp_path / "memory.stat"), 1000 << 20)
    engine.guard_memory(1, [files])
    assert engine.memory_left() == 400 << 20


def test_the_address_space_limit_bounds_memory() -> None:
    """It runs in its own process because the limit cannot be raised again."""
    program = (
        "import resource, engine\n"
        "free = engine.memory_left()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)\n"
        "assert engine.memory_left() <= min(free, 64 << 20), engine.memory_left()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_available_memory_excludes_the_reserve(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "total_memory", lambda: 4 << 30)
    monkeypatch.setattr(fake_engine, "memory_left", lambda: 1 << 30)
    assert gib(available_bytes(fake_engine)) == "614 MiB"
    monkeypatch.setattr(fake_engine, "memory_left", lambda: 1 << 20)
    assert available_bytes(fake_engine) == 0
