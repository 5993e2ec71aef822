"""Integration: the workloads that the SMF paper adds, on virtual cores, with their settings."""

from __future__ import annotations

from importlib.resources import files

import pytest
from omegaconf import OmegaConf

from envs import Evaluator, subject_of, untuned
from envs.trial import Trial, run_trial

VIRTUAL = {"kind": "virtual"}
CORES = 8
FEW = {
    "smallbank": {"accounts": "200", "hot_accounts": "20"},
    "epinions": {"users": "200", "items": "100"},
    "taobench": {"objects": "200"},
}
WRITING_TYPES = {"smallbank": 5, "epinions": 4, "taobench": 2}


def settings(name: str, **changed: str) -> dict[str, str]:
    text = (files("configs") / "workload" / f"{name}.yaml").read_text(encoding="utf-8")
    return (
        {str(key): str(value) for key, value in OmegaConf.create(text).items() if value is not None}
        | FEW[name]
        | changed
    )


@pytest.mark.parametrize("name", FEW)
def test_the_mix_is_that_of_the_settings(name: str) -> None:
    options = settings(name)
    evaluator = Evaluator(options, CORES, machine=VIRTUAL)
    subject = subject_of("silo", evaluator.signature, untuned)
    result = evaluator.run(subject, 0.005, warmup=0, seed=1, check=True)
    evaluator.close()
    assert not result.violations
    ended = {key: one.commits for key, one in result.types.items()}  # including rollbacks
    shares = {key: count / sum(ended.values()) for key, count in ended.items()}
    assert shares == {key: pytest.approx(int(options[key]) / 100, abs=0.015) for key in ended}
    assert sum(int(options[key]) for key in ended) == 100


@pytest.mark.parametrize("name", FEW)
def test_the_engine_has_the_defaults_of_the_settings(name: str) -> None:
    """The same transactions have exactly the same commits."""

    def commits(options: dict[str, str]) -> list[int]:
        evaluator = Evaluator(options, 2, machine=VIRTUAL)
        subject = subject_of("silo", evaluator.signature, untuned)
        result = evaluator.run(subject, 0.001, warmup=0, seed=3, check=False)
        evaluator.close()
        return [one.commits for one in result.types.values()]

    assert commits(settings(name)) == commits({"name": name} | FEW[name])


@pytest.mark.parametrize("name", FEW)
def test_read_only_types_have_states_or_run_on_snapshots(name: str) -> None:
    latest = Evaluator(settings(name), CORES, machine=VIRTUAL)
    apart = Evaluator(settings(name, reads="snapshot"), CORES, machine=VIRTUAL)
    assert len(apart.signature.types) == WRITING_TYPES[name]
    assert latest.signature.types[: WRITING_TYPES[name]] == apart.signature.types
    assert len(latest.signature.types) > WRITING_TYPES[name]
    latest.close()
    apart.close()


@pytest.mark.parametrize("reads", ["latest", "snapshot"])
@pytest.mark.parametrize("policy", ["silo", "two_phase_locking", "occ", "ic3", "random:5"])
@pytest.mark.parametrize("name", FEW)
def test_every_history_is_serializable(name: str, policy: str, reads: str) -> None:
    options = settings(name, reads=reads)
    evaluator = Evaluator(options, CORES, machine=VIRTUAL)
    subject = subject_of(policy, evaluator.signature, untuned)
    evaluator.close()
    verdict = run_trial(Trial(options, CORES, 1, VIRTUAL, subject, seconds=0.0003))
    assert verdict.findings == ()
    assert verdict.transactions > 200
