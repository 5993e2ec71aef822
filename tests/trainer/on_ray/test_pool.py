"""The Ray pool. The file shares a runtime and pools, because starting them takes seconds."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from envs import MeasuringError, finished, of_policy, static_silo
from envs.trial import Trial
from policies import Encoding, to_json
from tests.processes import descendants
from tests.trainer.fake_run import MODULE
from tests.waiting import PATIENCE_S
from trainer.config import EvaluationConfig
from trainer.evaluation import Backend, MachineSpec, build_backend, ray_workers
from trainer.evaluation.ray_pool import RayPool

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[3]
SPEC = MachineSpec({"name": "tpcc"}, 2, 1, 1 << 30, engine_module=MODULE)
VIRTUAL = replace(SPEC, cores=48, machine={"kind": "virtual"})
CORES = len(os.sched_getaffinity(0))
REFERENCE = static_silo(4.0)


ENDED: list[int] = []
"""Termination signals that this process received."""


@pytest.fixture(scope="module", autouse=True)
def ray_runtime() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, lambda number, frame: ENDED.append(number))
    with pytest.MonkeyPatch.context() as patch:
        # Workers import the stand-in engine from here.
        patch.setenv("PYTHONPATH", str(ROOT))
        # A busy machine exceeds Ray's default time limit.
        for limit in ("START_SECONDS", "LATE_SECONDS"):
            patch.setattr(ray_workers, limit, PATIENCE_S)
        yield
        import ray

        ray.shutdown()
    signal.signal(signal.SIGTERM, before)


def workers_of(pool: Backend) -> int:
    """Return the current number of workers; a lost worker may not be replaced in time."""
    assert isinstance(pool, RayPool)
    return pool.workers


class Pools:
    """At most one pool of each kind of core, because a pool reserves all cores of its kind."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[tuple[MachineSpec, ...], Backend]] = {}

    def of(self, *scenarios: MachineSpec) -> Backend:
        """Return the pool of these scenarios; starts it unless it is complete already."""
        kind = scenarios[0].machine["kind"]
        if kind in self._open:
            known, pool = self._open.pop(kind)
            if known == scenarios and workers_of(pool) == (1 if kind == "threads" else CORES):
                self._open[kind] = known, pool
                return pool
            pool.close()
        pool = build_backend(EvaluationConfig(), *scenarios)
        self._open[kind] = scenarios, pool
        return pool

    def close(self) -> None:
        for _, pool in self._open.values():
            pool.close()


@pytest.fixture(scope="module")
def pools(ray_runtime: None) -> Iterator[Pools]:
    pools = Pools()
    yield pools
    pools.close()


@pytest.fixture
def pool(pools: Pools) -> Backend:
    return pools.of(SPEC)


@pytest.fixture
def virtual_pool(pools: Pools) -> Backend:
    return pools.of(VIRTUAL)


def table(name: str, encoding: Encoding) -> str:
    return to_json(encoding.decode([cell.default for cell in encoding.cells], name))


@pytest.mark.usefixtures("pool")
@pytest.mark.slow
def test_termination_signals_are_handled_by_the_command() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    assert ENDED == [signal.SIGTERM]
    # Ray's own handler would abort the process in three seconds; pytest's time-out is longer.
    seconds, _ = signal.getitimer(signal.ITIMER_REAL)
    assert not 0 < seconds <= 3


@pytest.mark.usefixtures("pool")
def test_workers_have_the_priority_of_the_command() -> None:
    workers = [
        one
        for one in descendants(os.getpid())
        if b"RayWorker" in Path(f"/proc/{one}/cmdline").read_bytes()
    ]
    assert workers
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert {os.getpriority(os.PRIO_PROCESS, one) for one in workers} == {own}


def test_a_trial_is_run_by_a_worker(virtual_pool: Backend, encoding: Encoding) -> None:
    machine = {"kind": "virtual"}

    def trial(name: str) -> Trial:
        subject = of_policy(name, table(name, encoding))
        return Trial({"name": "tpcc"}, 48, 1, machine, subject, 0.001)

    verdict = virtual_pool.run_trial(trial("occ"), patience_s=PATIENCE_S)
    assert (verdict.findings, verdict.transactions) == ((), 10)
    with pytest.raises(MeasuringError, match="die: its worker was lost twice"):
        virtual_pool.run_trial(trial("die"), patience_s=PATIENCE_S)


def test_the_pool_measures_like_the_backend_in_process(pool: Backend, encoding: Encoding) -> None:
    candidates = [of_policy("occ", table("occ", encoding)), static_silo(4.0), static_silo(64.0)]
    here = build_backend(EvaluationConfig(backend="in_process"), SPEC)
    found = pool.evaluate(candidates, [REFERENCE], slices=2, seed=1)
    wanted = here.evaluate(candidates, [REFERENCE], slices=2, seed=1)
    assert [one.ratios for (one,) in found] == [one.ratios for (one,) in wanted]
    round_ = pool.run_round([REFERENCE, candidates[2]], 0.1, warmup=0.0, seed=1, check=True)
    outcomes = [(index, finished(outcome).throughput) for index, outcome in round_]
    assert [index for index, _ in outcomes] == [0, 1]  # sequentially
    assert outcomes[0][1] == pytest.approx(120_000)


def test_a_lost_worker_costs_its_candidate_one_retry(pool: Backend, encoding: Encoding) -> None:
    candidates = [
        static_silo(4.0),
        of_policy("die", table("die", encoding)),
        of_policy("explode", table("explode", encoding)),
        static_silo(4.0),
    ]
    found = [one for (one,) in pool.evaluate(candidates, [REFERENCE], slices=1, seed=1)]
    assert [len(one.ratios) for one in found] == [1, 0, 0, 1]
    assert found[1].error == "die: its worker was lost twice"
    assert found[2].error == "explode: worker 0 is stuck"
    # The pool continues with a new worker.
    assert pool.evaluate(candidates[:1], [REFERENCE], slices=1, seed=1)[0][0].ratios == [1.0]


def test_a_lost_worker_does_not_change_a_round(pool: Backend, encoding: Encoding) -> None:
    """Runs on real cores keep their order, and the last one is checked, if any worker is lost."""
    lost = of_policy("die", table("die", encoding))
    for subjects in ([lost, static_silo(4.0)], [static_silo(4.0), lost]):
        outcomes = list(pool.run_round(subjects, 0.1, warmup=0.0, seed=1, check=True))
        assert [index for index, _ in outcomes] == [0, 1]
        failures = [outcome for _, outcome in outcomes if isinstance(outcome, MeasuringError)]
        assert [str(failure) for failure in failures] == ["die: its worker was lost twice"]


def test_a_failing_reference_reports_the_cause(
    pool: Backend, virtual_pool: Backend, encoding: Encoding
) -> None:
    reference = of_policy("explode", table("explode", encoding))
    for one in (pool, virtual_pool):
        with pytest.raises(MeasuringError, match="explode: worker 0 is stuck"):
            one.evaluate([static_silo(4.0)] * 3, [reference], slices=1, seed=1)


def test_errors_of_workers_are_raised_unchanged(pool: Backend, encoding: Encoding) -> None:
    names = ("explode", "die", "occ")
    subjects = [of_policy(name, table(name, encoding)) for name in names]
    outcomes = dict(pool.run_round(subjects, 0.1, warmup=0.0, seed=1))
    for index, message in enumerate(("explode: worker 0 is stuck", "die: its worker was lost")):
        with pytest.raises(MeasuringError, match=message) as caught:
            finished(outcomes[index])
        assert type(caught.value) is MeasuringError
    assert finished(outcomes[2]).commits > 0


def test_real_cores_are_reserved_and_virtual_ones_shared(
    pool: Backend, virtual_pool: Backend
) -> None:
    """Neither pool waits for the other, because load does not change results on virtual cores."""
    for one, actors in ((pool, 1), (virtual_pool, CORES)):
        assert workers_of(one) == actors
    ((found,),) = virtual_pool.evaluate([static_silo(4.0)], [REFERENCE], slices=1, seed=1)
    assert (found.results[0].machine.kind, found.results[0].machine.cores) == ("virtual", 48)


def test_virtual_cores_measure_more_candidates_than_there_are_workers(
    virtual_pool: Backend, encoding: Encoding
) -> None:
    candidates = [static_silo(4.0 * 2**number) for number in range(2 * CORES + 1)]
    candidates += [of_policy("occ", table("occ", encoding))]
    here = build_backend(EvaluationConfig(backend="in_process"), VIRTUAL)
    found = virtual_pool.evaluate(candidates, [REFERENCE], slices=2, seed=1)
    wanted = here.evaluate(candidates, [REFERENCE], slices=2, seed=1)
    assert [one.ratios for (one,) in found] == [one.ratios for (one,) in wanted]
    assert len({one.ratios[0] for (one,) in found}) == len(candidates)
    assert virtual_pool.evaluate([], [REFERENCE], slices=2, seed=1) == []
    for check in (False, True):
        how = {"warmup": 0.0, "seed": 1, "check": check}
        assert dict(virtual_pool.run_round(candidates, 0.1, **how)) == dict(
            here.run_round(candidates, 0.1, **how)
        )


def test_a_lost_worker_does_not_affect_others_on_virtual_cores(
    virtual_pool: Backend, encoding: Encoding
) -> None:
    lost = of_policy("die", table("die", encoding))
    broken = of_policy("explode", table("explode", encoding))
    good = [static_silo(4.0 * 2**number) for number in range(2 * CORES)]
    measured = virtual_pool.evaluate([lost, *good, broken], [REFERENCE], slices=1, seed=1)
    found = [one for (one,) in measured]
    twice, stuck = "die: its worker was lost twice", "explode: worker 0 is stuck"
    assert [one.error for one in found] == [twice, *[None] * len(good), stuck]
    assert found[1].ratios == [1.0]
    again = virtual_pool.evaluate(good, [REFERENCE], slices=1, seed=1)
    assert [one.ratios for (one,) in again] == [one.ratios for one in found[1:-1]]


@pytest.mark.parametrize(
    "spec", [pytest.param(SPEC, marks=pytest.mark.full), VIRTUAL], ids=["real", "virtual"]
)
@pytest.mark.slow
def test_several_scenarios_are_measured_as_in_process(
    pools: Pools, spec: MachineSpec, encoding: Encoding
) -> None:
    """Each scenario has its unit; a loss in one scenario leaves the measurements of the others."""
    more = replace(spec, cores=3)
    pool = pools.of(spec, more)
    here = build_backend(EvaluationConfig(backend="in_process"), spec, more)
    references = [REFERENCE, static_silo(64.0, "another")]
    candidates = [static_silo(4.0 * 2**number) for number in range(2 * CORES)]
    found = pool.evaluate(candidates, references, slices=2, seed=1)
    wanted = here.evaluate(candidates, references, slices=2, seed=1)
    assert [[one.ratios for one in each] for each in found] == [
        [one.ratios for one in each] for each in wanted
    ]
    for first, second in found:
        cores = (first.results[0].machine.cores, second.results[0].machine.cores)
        assert cores == (spec.cores, 3)
        assert second.ratios[0] > first.ratios[0]  # relative to a worse reference
    lost = of_policy("die", table("die", encoding))
    ((one, other), _) = pool.evaluate([lost, candidates[0]], references, slices=1, seed=1)
    assert one.error == other.error == "die: its worker was lost twice"
    for scenario, cores in enumerate((spec.cores, 3)):
        round_ = pool.run_round(candidates[:1], 0.1, warmup=0.0, seed=1, scenario=scenario)
        ((_, outcome),) = list(round_)
        assert finished(outcome).machine.cores == cores
