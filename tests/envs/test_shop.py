"""Integration: the requests of a made-up shop, served by the compiled engine on virtual cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envs import Evaluator, Result, subject_of, untuned
from envs.subject import Subject
from envs.trial import Trial, run_trial
from policies import Signature
from tests.traces.replay.some_programs import shop as orders_shop
from tests.traces.synthesis.some_shop import made_up_shop

VIRTUAL = {"kind": "virtual"}
CORES = 8


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield made_up_shop(folder / "shop", days=2)


@pytest.fixture(scope="module")
def workload(trace: Path) -> dict[str, str]:
    return {"name": "shop", "trace": str(trace), "day": "2019-10-07"}


@pytest.fixture(scope="module")
def evaluator(workload: dict[str, str]) -> Iterator[Evaluator]:
    evaluator = Evaluator(workload, CORES, machine=VIRTUAL)
    yield evaluator
    evaluator.close()


def named(name: str, signature: Signature) -> Subject:
    return subject_of(name, signature, untuned)


def measured(evaluator: Evaluator, name: str) -> Result:
    subject = named(name, evaluator.signature)
    return evaluator.run(subject, 0.01, warmup=0, seed=1, check=True)  # some iterations


@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "occ", "ic3", "random:3"])
def test_the_mix_is_that_of_the_trace(evaluator: Evaluator, name: str) -> None:
    result = measured(evaluator, name)
    commits = {name: one.commits for name, one in result.types.items()}
    assert sum(commits.values()) > 1000
    # Three tenths of the items in carts are bought.
    assert commits["purchase"] / commits["cart"] == pytest.approx(0.3, abs=0.06)
    assert not result.violations


@pytest.mark.parametrize("checkout", ["cart", "product"])
@pytest.mark.parametrize("name", ["silo", "two_phase_locking", "ic3", "random:5"])
def test_every_history_is_serializable(
    evaluator: Evaluator, workload: dict[str, str], name: str, checkout: str
) -> None:
    told = workload | {"checkout": checkout, "initial_stock": "2"}
    subject = named(name, evaluator.signature)
    verdict = run_trial(Trial(told, CORES, 1, VIRTUAL, subject, seconds=0.0005))
    assert verdict.findings == ()
    assert verdict.transactions > 300


def test_a_policy_for_one_day_fits_the_next(evaluator: Evaluator, workload: dict[str, str]) -> None:
    tomorrow = Evaluator(workload | {"day": "2019-10-08"}, CORES, machine=VIRTUAL)
    assert tomorrow.signature == evaluator.signature
    tomorrow.close()


def test_a_trace_of_another_workload_is_refused(trace: Path) -> None:
    other = orders_shop(trace.parent / "orders")
    with pytest.raises(ValueError, match="its transaction type 'order' is none of 'cart'"):
        Evaluator({"name": "shop", "trace": str(other)}, CORES, machine=VIRTUAL)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "workload=shop replays a trace.*workload.trace=FOLDER"),
        ({"trace": "/nowhere"}, "there is no such folder"),
        ({"program": "/nowhere"}, "/nowhere: can't be read"),
    ],
)
def test_invalid_settings_are_reported(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Evaluator({"name": "shop", **options}, CORES, machine=VIRTUAL)
