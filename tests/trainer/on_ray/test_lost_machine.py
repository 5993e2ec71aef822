"""Trainings on two simulated machines; Ray is killed on one of them."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import descendants
from tests.trainer.tiny_training import TINY, found, generations, run_of, start_training
from tests.waiting import PATIENCE_S, wait_until

# On a busy machine, Ray takes minutes to start.
pytestmark = [pytest.mark.ray, pytest.mark.full, pytest.mark.timeout(3600)]

LONG = [*TINY, "search.generations=40"]
RAY = [setting for setting in LONG if not setting.startswith("evaluation.backend")]
PATIENT = f"""
from trainer.evaluation import ray_workers
ray_workers.START_SECONDS = ray_workers.LATE_SECONDS = {PATIENCE_S}
"""
MACHINE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an undisturbed run without Ray."""
    folder = tmp_path_factory.mktemp("undisturbed")
    output, _ = (process := start_training(folder, *LONG)).communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    return run_of(folder)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start a head and another machine, each with one core for Ray."""
    # By default Ray's processes have seconds to start, and its workers have a low priority.
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", str(int(PATIENCE_S)))
    monkeypatch.setenv("RAY_agent_register_timeout_ms", str(int(PATIENCE_S * 1000)))
    monkeypatch.setenv("RAY_worker_niceness", "0")
    from ray.cluster_utils import Cluster

    patient = functools.partialmethod(Cluster._wait_for_node, timeout=PATIENCE_S)
    monkeypatch.setattr(Cluster, "_wait_for_node", patient)
    started = Cluster(initialize_head=True, head_node_args={**MACHINE, "include_dashboard": False})
    started.add_node(**MACHINE)
    yield started
    started.shutdown()


def raylet(node: Any) -> int:
    ((one,),) = (node.all_processes["raylet"],)
    return int(one.process.pid)


def measuring(node: Any) -> bool:
    """Whether a machine has a worker of the pool."""
    lines = (Path(f"/proc/{one}/cmdline") for one in descendants(raylet(node)))
    return any(b"RayWorker" in line.read_bytes() for line in lines if line.exists())


def test_a_lost_machine_affects_only_its_own_candidates(
    undisturbed: Path, cluster: Any, tmp_path: Path
) -> None:
    (node,) = cluster.worker_nodes
    process = start_training(tmp_path, *RAY, f"evaluation.address={cluster.address}", first=PATIENT)
    try:
        wait_until(lambda: generations(tmp_path) >= 1 and measuring(node))
        os.kill(raylet(node), signal.SIGKILL)
        output, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "Ray lost the machine" in output
    assert "[state-dump]" not in output
    log = run_of(tmp_path) / "ray.log"
    assert str(log.name) in output
    assert "Raylet is terminated" in log.read_text()
    assert found(run_of(tmp_path)) == found(undisturbed)


def test_a_lost_head_ends_the_run_and_shows_how_to_resume(
    undisturbed: Path, cluster: Any, tmp_path: Path
) -> None:
    process = start_training(tmp_path, *RAY, f"evaluation.address={cluster.address}", first=PATIENT)
    try:
        wait_until(lambda: generations(tmp_path) >= 1)
        os.kill(raylet(cluster.head_node), signal.SIGKILL)
        output, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 1, output
    assert "error: Ray on this machine, or the cluster's head, was stopped" in output
    assert f"Then resume with: heddle train resume=runs/{run_of(tmp_path).name}" in output
    assert "Traceback" not in output
    again = start_training(tmp_path, f"resume={run_of(tmp_path)}", "evaluation.backend=in_process")
    output, _ = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, output
    assert found(run_of(tmp_path)) == found(undisturbed)
