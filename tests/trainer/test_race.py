from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import pytest

from envs import NATIVE, Evaluation, Subject
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


class Flattering:
    """A backend in which a short warm-up flatters one candidate, by its name."""

    waited_s = 0.0

    def __init__(self, flattered: str) -> None:
        self._flattered = flattered
        self.calls: list[tuple[int, float | None]] = []

    def evaluate(
        self, subjects: Sequence[Subject], *goals: object, slices: int, warmup: float, seed: int
    ) -> list[list[Evaluation]]:
        """Return 1 for all others."""
        self.calls.append((len(subjects), warmup))
        settled = 0.5 if warmup >= 0.01 else 9.0
        return [
            [Evaluation([settled if subject.name == self._flattered else 1.0], slices=slices)]
            for subject in subjects
        ]


def test_a_first_rung_with_a_shorter_warm_up_only_decides_who_stays(encoding: Encoding) -> None:
    config = in_process(rungs=[1, 4], keep=0.5, warmup_seconds=0.002, later_warmup_seconds=0.03)
    sound, *left, flattered = warm_start(encoding, [4.0])[:4]
    candidates = [sound, *left, flattered]
    backend, samples = Flattering(flattered.key), Samples()
    race = Race(backend, encoding, config)  # type: ignore[arg-type]
    race.run(candidates, [NATIVE["silo"]], samples, 1)
    assert backend.calls == [(4, 0.002), (2, 0.03)]
    assert [samples.is_settled(c) for c in candidates] == [True, False, False, True]
    # Both that stayed count by what they reached after the longer warm-up only.
    fitness = [measured.fitness for measured in samples.measured(candidates)]
    assert (fitness[0], fitness[-1]) == (1.0, 0.5)
    assert max(fitness[1:3]) < 0.5
    assert samples.best(1) == [sound]
    # A settled candidate skips the first rung, and stays.
    race.run([sound, *left], [NATIVE["silo"]], samples, 2)
    assert backend.calls[2:] == [(2, 0.002), (2, 0.03)]
    assert samples.slices(sound) == 8


def test_all_rungs_warm_up_alike_unless_set(encoding: Encoding) -> None:
    config = in_process(rungs=[1, 4], keep=0.5, warmup_seconds=0.002)
    backend, samples = Flattering("none"), Samples()
    race = Race(backend, encoding, config)  # type: ignore[arg-type]
    race.run(warm_start(encoding, [4.0])[:4], [NATIVE["silo"]], samples, 1)
    assert backend.calls == [(4, 0.002), (2, 0.002)]
