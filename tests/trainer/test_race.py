from __future__ import annotations

from types import ModuleType

import pytest

from envs import NATIVE
from policies import Encoding
from trainer.config import EvaluationConfig
from trainer.evaluation import MachineSpec, Race, Samples, build_backend
from trainer.evaluation.race import check_race
from trainer.search import warm_start


def in_process(**changed: object) -> EvaluationConfig:
    return EvaluationConfig(backend="in_process", **changed)  # type: ignore[arg-type]


SPEC = MachineSpec({"name": "tpcc"}, 2, 1, 1 << 30)


def test_promising_candidates_get_more_rungs(fake_engine: ModuleType, encoding: Encoding) -> None:
    config = in_process(rungs=[1, 2, 4], keep=0.5)
    backend = build_backend(config, SPEC)
    candidates = warm_start(encoding, [4.0])
    samples = Samples()
    rungs: list[int] = []
    Race(backend, encoding, config).run(candidates, [NATIVE["silo"]], samples, 1, rungs.append)
    slices = [samples.slices(candidate) for candidate in candidates]
    count = len(candidates)
    half = -(-count // 2)
    assert sorted(set(slices)) == [1, 3, 7]
    assert slices.count(7) == -(-half // 2)
    assert rungs == [count, 2 * half, 4 * -(-half // 2)]
    best = max(samples.measured(candidates), key=lambda measured: measured.fitness)
    assert best.slices == 7
    assert best.fitness == pytest.approx(1.2)


def test_a_race_with_noise_keeps_the_best(
    fake_engine: ModuleType, encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "NOISE", 0.03)
    config = in_process()
    backend = build_backend(config, SPEC)
    candidates = warm_start(encoding, [4.0])
    samples = Samples()
    Race(backend, encoding, config).run(candidates, [NATIVE["silo"]], samples, 1)
    assert samples.best(1)[0].origin == "occ, constant backoff 4 µs"


@pytest.mark.parametrize("changed", [{"rungs": []}, {"rungs": [0]}, {"keep": 0.0}])
def test_invalid_races_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="evaluation"):
        check_race(in_process(**changed))


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="there are ray, in_process"):
        build_backend(EvaluationConfig(backend="dask"), SPEC)
