"""Properties of any trial: serializable, no stuck worker, consistent counts, memory reclaimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import workloads
from envs.trial import run_trial
from envs.trial_plan import LOCKING, SWITCHING, TrialPlan, core_schedules
from tests.scale import scaled
from tests.traces.replay.some_programs import shop
from tests.traces.synthesis.some_shop import made_up_shop

SMALL = {
    "generic": {},
    "tpcc": {"mix": "full"},
    "tpce": {"customers": "100", "trade_days": "1", "market_orders": "30"},
    "ycsb": {"records": "500", "index": "ordered", "read": "30", "rmw": "30"}
    | {"scan": "20", "insert": "10", "delete": "10"},
    "micro": {"records": "500", "hot_records": "50", "own_records": "50"},
    "replay": {},  # of one of `small_traces`
    "shop": {"initial_stock": "2"},  # of one of `small_traces`
    "smallbank": {"accounts": "40", "hot_accounts": "4"},
    "tpcb": {"branches": "2", "accounts": "20"},
    "bomb": {"factories": "2", "products": "2", "materials": "64", "trees": "16"}
    | {"product_trees": "2", "tree_items": "3", "change_product": "50"},
    "epinions": {"users": "30", "items": "15", "reviews": "10", "trusted": "10"},
    "taobench": {"objects": "40", "writes": "50"},
}
GROWN_MAX = 1 << 20
"""Maximum growth in bytes of a database with twenty rows, after any inserts and deletes."""


def plan(workload: dict[str, str], cores: int, schedule: str, seconds: float) -> TrialPlan:
    return TrialPlan(
        workload=workload,
        machine={"kind": "virtual"},
        cores=cores,
        policies=["silo", "two_phase_locking", "ic3", LOCKING, SWITCHING],
        random=4,
        draw=True,
        schedules=[schedule],
        seconds=seconds,
        watchdog_s=0.05,
        seed=0,
    )


@settings(max_examples=scaled(20))
@given(
    number=st.integers(0, 1_000_000),
    cores=st.integers(1, 12),
    schedule=st.sampled_from(core_schedules()),
    shape=st.fixed_dictionaries(
        {
            "types": st.integers(1, 8),
            "accesses": st.integers(1, 20),
            "ordered_keys": st.integers(1, 12),
            "hash_keys": st.integers(1, 8),
            "churn": st.integers(0, 100),
            "rollbacks": st.integers(0, 100),
            "audits": st.integers(0, 50),
        }
    ),
)
def test_random_transactions_under_random_tables(
    number: int, cores: int, schedule: str, shape: dict[str, int]
) -> None:
    workload = {"name": "generic", "program": str(number)}
    workload |= {key: str(value) for key, value in shape.items()}
    drawn = plan(workload, cores, schedule, 0.0005)
    verdict = run_trial(replace(drawn, draw=False).trial(number))
    assert verdict.findings == ()
    assert verdict.grown_bytes < GROWN_MAX


@pytest.fixture(scope="module")
def small_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder = tmp_path_factory.mktemp("traces")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield {"replay": shop(folder / "orders"), "shop": made_up_shop(folder / "shop")}


@pytest.mark.parametrize("name", sorted(set(SMALL) & set(workloads())))
@settings(max_examples=scaled(2))
@given(number=st.integers(0, 1_000_000), schedule=st.sampled_from(core_schedules()))
def test_random_tables_for_every_workload(
    small_traces: dict[str, Path], name: str, number: int, schedule: str
) -> None:
    workload = {"name": name} | SMALL[name]
    if name in small_traces:
        workload["trace"] = str(small_traces[name])
    trial = plan(workload, 8, schedule, 0.001).trial(number)
    assert run_trial(trial).findings == ()


def test_every_workload_has_a_small_form_here() -> None:
    assert set(SMALL) == set(workloads())
