"""The workers of a Ray pool, on a stand-in for Ray: lost calls and remaining workers."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.trainer.fake_ray import FakeActor, FakeMemoryError, FakeRay
from trainer.evaluation import MachineSpec, ray_nodes, ray_workers
from trainer.evaluation.quiet_signals import signals_ignored
from trainer.evaluation.ray_log import LOG, take_output
from trainer.evaluation.ray_machines import compare_machines
from trainer.evaluation.ray_pool import RayPool
from trainer.evaluation.ray_runtime import RayError
from trainer.evaluation.ray_worker import Identity
from trainer.evaluation.ray_workers import Lost, Workers


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe machines whenever the pool is idle, and do not wait for late actors."""
    monkeypatch.setattr(ray_nodes, "PROBE_EVERY_S", 0.0)
    monkeypatch.setattr(ray_workers, "LATE_SECONDS", 0.01)


@pytest.fixture
def ray() -> Iterator[FakeRay]:
    with closing(FakeRay(one=1, two=1)) as cluster:
        yield cluster


def workers(ray: FakeRay, count: int = 2) -> tuple[Workers, list[str]]:
    said: list[str] = []
    made: Any = ray
    return Workers(made, ray.new_actor, count, said.append, start_seconds=60.0), said


def where(actor: FakeActor) -> Any:
    return actor.ask(lambda name: name)


def test_a_lost_machine_fails_only_its_own_calls_before_ray_notices(ray: FakeRay) -> None:
    pool, said = workers(ray)
    ray.before_wait = [lambda: None, ray.machines["two"].kill]
    assert dict(pool.run([where] * 6)) == dict.fromkeys(range(6), "one")
    assert len(pool) == 1
    assert len(said) == 1
    assert said[0].startswith("Ray lost the machine host-two: ")
    assert "1 worker left" in said[0]
    ray.notice("two")
    assert dict(pool.run([where] * 3)) == dict.fromkeys(range(3), "one")
    # Its worker stays requested, so that it measures again if the machine joins again.
    ray.add("three", 1)
    assert {found for _, found in pool.run([where] * 6)} == {"one", "three"}
    assert (len(pool), len(said), pool.waited_s) == (2, 1, 0.0)


def test_a_loss_that_ray_notices_first_does_not_count_against_calls(ray: FakeRay) -> None:
    pool, said = workers(ray)

    def lose() -> None:
        ray.machines["two"].kill()
        ray.notice("two")

    ray.before_wait = [lambda: None, lose]
    assert dict(pool.run([where] * 5, attempts=1)) == dict.fromkeys(range(5), "one")
    assert len(said) == 1


def test_without_a_machine_the_pool_reports_that_it_waits(ray: FakeRay) -> None:
    with closing(FakeRay(here=0, two=1)) as ray:
        pool, said = workers(ray, 1)
        ray.before_wait = [
            ray.machines["two"].kill,
            *[lambda: None] * 3,
            lambda: ray.add("three", 1),
        ]
        assert dict(pool.run([where] * 2)) == {0: "three", 1: "three"}
        assert pool.waited_s > 0.0
        assert ["no workers left" in said[0], "waiting up to 60 s" in said[1]] == [True, True]
        pool._start_seconds = 0.02
        ray.machines["three"].kill()
        with pytest.raises(RayError, match=r"no machine became free within 0\.02 s"):
            list(pool.run([where]))


@pytest.mark.parametrize("lost", ["own machine", "head"])
def test_a_lost_ray_runtime_ends_the_run_with_one_sentence(ray: FakeRay, lost: str) -> None:
    pool, _ = workers(ray)
    machine = ray.head if lost == "head" else ray.machines["one"]
    ray.before_wait = [lambda: None, machine.kill, *[lambda: None] * 9]
    with pytest.raises(RayError, match="Ray on this machine, or the cluster's head, was stopped"):
        list(pool.run([where] * 9999))


def test_only_a_call_that_ends_its_worker_twice_is_lost(ray: FakeRay) -> None:
    pool, said = workers(ray)

    def dies(actor: FakeActor) -> Any:
        actor.killed = True
        return where(actor)

    found = dict(pool.run([where, dies, where], attempts=2))
    assert found.pop(1) == Lost("its worker was lost twice")
    assert set(found.values()) <= {"one", "two"}
    assert dict(pool.run([where])) != {}
    assert said == []


def test_a_worker_ended_by_memory_is_not_restarted_while_others_continue(ray: FakeRay) -> None:
    pool, said = workers(ray)
    left = [1]

    def greedy(actor: FakeActor) -> Any:
        def make(name: str) -> str:
            left[0] -= 1
            if left[0] >= 0:
                raise FakeMemoryError
            return name

        return actor.ask(make)

    assert len(dict(pool.run([greedy] * 4))) == 4
    assert len(pool) == 1
    assert "ran out of memory; the other 1 repeat" in said[0]
    left[0] = 9
    with pytest.raises(
        RayError, match=r"stopped the only worker twice because host-\w+ ran out of"
    ):
        list(pool.run([greedy]))


def test_an_abandoned_loop_does_not_block_workers(ray: FakeRay) -> None:
    """Its unfinished calls do not delay those of the next loop."""
    pool, _ = workers(ray)

    def explodes(actor: FakeActor) -> Any:
        return actor.ask(lambda name: [][1])

    with pytest.raises(IndexError):
        list(pool.run([explodes] * 2))
    ray.machines["two"].kill()  # with the other call, whose result is not awaited
    assert dict(pool.run([where] * 3)) == dict.fromkeys(range(3), "one")


def test_errors_of_an_abandoned_loop_do_not_affect_later_calls(ray: FakeRay) -> None:
    pool, _ = workers(ray)

    def explodes(actor: FakeActor) -> Any:
        return actor.ask(lambda name: [][1])

    with pytest.raises(IndexError):
        list(pool.run([explodes] * 2))  # one of them raises; the other is still running
    assert set(dict(pool.run([where] * 3))) == {0, 1, 2}


def test_an_actor_that_dies_before_it_is_ready_is_started_again(ray: FakeRay) -> None:
    ray.machines["two"].room = 0

    def place() -> None:
        ray.actors[0].machine = ray.machines["one"]
        ray.actors[0].killed = True

    ray.before_wait = [place]
    pool, _ = workers(ray, 1)
    assert dict(pool.run([where])) == {0: "one"}
    assert len(ray.actors) == 2


def test_a_worker_that_cannot_be_created_reports_the_cause(ray: FakeRay) -> None:
    def broken() -> FakeActor:
        actor = FakeActor(ray)
        ray.actors.append(actor)
        actor.identity = SimpleNamespace(
            remote=lambda: actor.ask(lambda name: _raise(ImportError("the engine can't be loaded")))
        )
        return actor

    made: Any = ray
    with pytest.raises(RayError, match="a worker can't be started: the engine can't be loaded"):
        Workers(made, broken, 1, lambda text: None)


def test_an_unusable_machine_that_joins_later_is_left_out(ray: FakeRay) -> None:
    """At the start such a machine ends the run, to be corrected; later the run continues."""

    def check(identities: Any) -> None:
        if any(one.node == "three" for one in identities):
            raise RayError("host-three has another version")

    made: Any = ray
    said: list[str] = []
    pool = Workers(made, ray.new_actor, 3, said.append, check, start_seconds=60.0)
    ray.add("three", 1)
    assert {found for _, found in pool.run([where] * 6)} == {"one", "two"}
    assert said == ["a machine that joined is not used: host-three has another version"]
    with pytest.raises(RayError, match=r"^host-three has another version$"):
        Workers(made, ray.new_actor, 1, said.append, check, start_seconds=60.0)


def _raise(error: Exception) -> None:
    raise error


def test_a_round_on_real_cores_restarts_if_its_machine_is_lost(ray: FakeRay) -> None:
    """All subjects of a comparison must be measured on one machine."""
    with closing(FakeRay(here=0, two=1, three=1)) as ray:
        pool = RayPool.__new__(RayPool)
        pool._workers, _ = workers(ray)
        done: list[str] = []

        def note(actor: FakeActor) -> Any:
            def make(name: str) -> str:
                done.append(name)
                if len(done) == 2:
                    ray.machines["two"].kill()
                return name

            return actor.ask(make)

        found = list(pool._run_on_one([note] * 3, attempts=2))
        assert found == [(0, "three"), (1, "three"), (2, "three")]
        assert done[:2] == ["two", "two"]


OWN = Identity("", "desk", 4, "1.0", "a" * 64)
REAL = MachineSpec({"name": "tpcc"}, None, 1, 1 << 30)
VIRTUAL = MachineSpec({"name": "tpcc"}, 8, 1, 1 << 30, {"kind": "virtual"})


def test_different_machines_are_refused_or_reported() -> None:
    def of(**changed: Any) -> Identity:
        return Identity(**{**vars(OWN), "node": "n", "host": "far", **changed})

    assert compare_machines(OWN, [of()], [REAL]) is None
    with pytest.raises(RayError, match=r"than this one, 1\.0: far has 0\.9; install the same"):
        compare_machines(OWN, [of(version="0.9")], [REAL])
    unlike = [of(cores=8), Identity("m", "near", 4, "1.0", "a" * 64)]
    with pytest.raises(RayError, match=r"far has 8, near has 4; set machine\.cores"):
        compare_machines(OWN, unlike, [REAL])
    assert compare_machines(OWN, unlike, [VIRTUAL]) is None
    notice = compare_machines(OWN, [of(build="b" * 64)], [VIRTUAL])
    assert notice is not None
    assert "far has bbbbbbbbbbbb" in notice


def test_output_of_ray_goes_to_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LOG, "path", None)
    connection = SimpleNamespace(print_to_stdstream=lambda data, ignore_prefix: print(data))
    ray: Any = SimpleNamespace(_private=SimpleNamespace(worker=connection))
    of_ray = logging.getLogger("ray")
    monkeypatch.setattr(of_ray, "handlers", [])
    monkeypatch.setattr(of_ray, "propagate", of_ray.propagate)
    assert take_output(ray)
    batch = {"lines": ["a raylet's dump,", "of two lines \ud800"], "pid": "raylet", "is_err": False}
    connection.print_to_stdstream(batch, ignore_prefix=False)  # no run has set the file yet
    assert LOG.words == ""
    LOG.path = tmp_path / "ray.log"
    connection.print_to_stdstream(batch, ignore_prefix=False)
    status = {"lines": ["a status", "an :event_summary:"], "pid": "autoscaler"}
    connection.print_to_stdstream(status, ignore_prefix=False)
    of_ray.error("lost a %s", "connection")
    lines = LOG.path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        "(raylet) a raylet's dump,",
        "(raylet) of two lines ?",
        "(autoscaler) an :event_summary:",
        "(ray) lost a connection",
    ]
    assert str(LOG.path) in LOG.words
    LOG.path = tmp_path / "removed" / "ray.log"
    of_ray.error("a lost line")
    assert capfd.readouterr() == ("", "")
    assert not take_output(SimpleNamespace())  # type: ignore[arg-type]  # another version of Ray


def test_signals_do_not_interrupt_the_shutdown() -> None:
    came: list[int] = []
    before = {
        one: signal.signal(one, lambda number, frame: came.append(number))
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        with signals_ignored():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGHUP)
        assert came == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert came == [signal.SIGTERM]
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
