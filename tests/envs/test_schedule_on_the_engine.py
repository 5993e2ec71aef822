"""Integration: a policy's own schedule reaches the compiled engine from every caller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from envs import Evaluator, Subject, of_policy, scheduled
from envs.engine_interface import load_engine
from envs.trial import Trial
from policies import build_seed, to_json
from tests.waiting import PATIENCE_S

SCHEDULE = {"policy": "smf", "window": 4, "rules": "occ", "unscheduled": ["balance"]}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    workload = {"name": "smallbank", "accounts": "1000", "hot_accounts": "10"}
    evaluator = Evaluator(workload, 4, machine={"kind": "virtual"})
    yield evaluator
    evaluator.close()


def policy(evaluator: Evaluator) -> Subject:
    types = evaluator.signature.type_names
    schedule = {**SCHEDULE, "unscheduled": [types[0]]}
    document = replace(build_seed("occ", evaluator.signature), schedule=schedule)
    return of_policy("occ", to_json(document))


def test_a_policy_runs_under_its_own_schedule(evaluator: Evaluator) -> None:
    own = policy(evaluator)
    result = evaluator.run(own, 0.001, warmup=0.0, seed=1)
    assert result.schedule is not None
    assert result.schedule.options["policy"] == "smf"
    assert result.schedule.options["window"] == "4"
    assert result.schedule.options["unscheduled"] == evaluator.signature.type_names[0]
    assert result.schedule.hot > 0


def test_a_policy_can_run_without_its_schedule(evaluator: Evaluator) -> None:
    own = policy(evaluator)
    without = scheduled(replace(own, schedule={"policy": "fifo"}), {"policy": "smf"})
    assert evaluator.run(without, 0.001, warmup=0.0, seed=1).schedule is None


def test_a_policy_passed_to_the_engine_brings_its_schedule(evaluator: Evaluator) -> None:
    own = policy(evaluator)
    engine = load_engine()
    session = engine.Session(evaluator.workload, 4, machine=evaluator.machine)
    compiled = engine.Policy(own.policy, evaluator.signature.to_dict())
    result = session.run(
        engine.RunOptions(protocol="policy_table", policy=compiled, backoff="policy", seconds=0.001)
    )
    assert result["schedule"]["options"]["window"] == "4"


def test_a_policy_is_checked_under_its_schedule(evaluator: Evaluator) -> None:
    trial = Trial(evaluator.workload, 4, 1, evaluator.machine, policy(evaluator), 0.001)
    verdict = evaluator.run_trial(trial, patience_s=PATIENCE_S)
    assert verdict.findings == ()
    plain = replace(trial, subject=replace(trial.subject, schedule={"policy": "fifo"}))
    assert evaluator.run_trial(plain, patience_s=PATIENCE_S).report != verdict.report
