"""The same options describe a run for every function that makes one."""

from __future__ import annotations

import pytest

import engine
from policies import build_seed, to_json, workload_signature

SMALL = {"name": "ycsb", "records": "1000"}
VIRTUAL = {"kind": "virtual"}
BRIEF = engine.RunOptions(seconds=0.0005, seed=3)


@pytest.fixture(scope="module")
def session() -> engine.Session:
    return engine.Session(SMALL, 2, machine=VIRTUAL)


def table(name: str) -> engine.Policy:
    signature = workload_signature("ycsb", {"records": "1000"})
    return engine.Policy(to_json(build_seed(name, signature)), signature.to_dict())


def test_omitted_options_have_the_engines_defaults() -> None:
    options = engine.RunOptions()
    assert (options.protocol, options.backoff, options.seed) == ("silo", "exponential", 1)
    assert (options.policy, options.schedule, options.switches) == (None, {}, [])
    assert options.watchdog_s > 0


def test_fields_are_given_by_name_and_can_be_changed() -> None:
    options = engine.RunOptions(seconds=2, protocol_options={"conflict": "no_wait"}, intervals=4)
    assert (options.seconds, options.intervals) == (2.0, 4)
    assert options.protocol_options == {"conflict": "no_wait"}
    options.warmup = 0.5
    assert options.warmup == 0.5


def test_a_policy_and_switches_can_be_read_back() -> None:
    occ, ic3 = table("occ"), table("ic3")
    options = engine.RunOptions(protocol="policy_table", policy=occ, switches=[(0.1, ic3)])
    assert options.policy.name == "occ"
    assert [(at_s, policy.name) for at_s, policy in options.switches] == [(0.1, "ic3")]
    options.policy = None
    assert options.policy is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"second": 1}, "RunOptions has no field 'second'; help"),
        ({"seconds": "long"}, "field 'seconds' can't be 'long'"),
        ({"seed": -1}, "field 'seed' can't be -1"),
        ({"policy": "occ"}, "field 'policy' can't be 'occ'"),
    ],
)
def test_an_invalid_value_names_the_field(fields: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        engine.RunOptions(**fields)


def test_equal_options_make_the_same_run(session: engine.Session) -> None:
    first = session.run(BRIEF, on_copy=True)
    assert session.run(BRIEF, on_copy=True) == first
    assert first["seed"] == 3
    assert "violations" not in first or first["violations"] == []


def test_equal_options_make_the_same_trial_in_any_process(session: engine.Session) -> None:
    here = session.run_trial(BRIEF)
    there = engine.run_trial(SMALL, 2, 1, VIRTUAL, BRIEF)
    assert here["findings"] == there["findings"] == []
    assert here["report"]["transactions"] > 0
    assert there["history"] is not None
