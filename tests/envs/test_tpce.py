"""Integration: TPC-E on virtual cores, with its settings and the tables that follow from it."""

from __future__ import annotations

from importlib.resources import files

import pytest
from omegaconf import OmegaConf

from envs import Evaluator, Result, subject_of, untuned
from envs.engine_interface import load_engine
from envs.trial import Trial, run_trial
from envs.workload import workload_signature
from policies import Signature
from policies.conflicts import analyse
from policies.encoding import Encoding
from policies.seeds import build_seed

VIRTUAL = {"kind": "virtual"}
CORES = 8
FEW = {"customers": "100", "trade_days": "1"}


def settings(**changed: str) -> dict[str, str]:
    text = (files("configs") / "workload" / "tpce.yaml").read_text(encoding="utf-8")
    kept = {key: value for key, value in OmegaConf.create(text).items() if value is not None}
    return {str(key): str(value) for key, value in kept.items()} | FEW | changed


def measured(options: dict[str, str], cores: int, seconds: float) -> Result:
    evaluator = Evaluator(options, cores, machine=VIRTUAL)
    subject = subject_of("silo", evaluator.signature, untuned)
    result = evaluator.run(subject, seconds, warmup=0, seed=1, check=True)
    evaluator.close()
    assert not result.violations
    return result


@pytest.fixture(scope="module")
def signature() -> Signature:
    return workload_signature(load_engine(), settings())


def test_a_feed_runs_for_every_twenty_orders() -> None:
    """A worker has at most twenty entries that no feed has processed yet."""
    result = measured(settings(theta="0"), CORES, 0.005)
    ended = {name: one.commits for name, one in result.types.items()}  # including rollbacks
    assert ended["trade_order"] == pytest.approx(ended["trade_update"], rel=0.1)
    assert ended["market_feed"] == pytest.approx(0.99 * ended["trade_order"] / 20, abs=2 * CORES)


def test_the_engine_has_the_defaults_of_the_settings() -> None:
    """The same transactions have exactly the same commits."""

    def commits(options: dict[str, str]) -> list[int]:
        return [one.commits for one in measured(options, 2, 0.001).types.values()]

    assert commits(settings()) == commits({"name": "tpce"} | FEW)


def test_theta_makes_conflicts() -> None:
    uniform, skewed = (measured(settings(theta=theta), CORES, 0.003) for theta in ("0", "4"))
    assert skewed.abort_rate > 1.5 * uniform.abort_rate


def test_prices_and_orders_are_pieces_of_their_own(signature: Signature) -> None:
    """Only the pieces that conflict are exposed: prices, orders, and all of an update."""
    conflicting = {
        name: [
            (signature.accesses[piece.first].name, signature.accesses[piece.last].name)
            for piece in pieces
            if piece.conflicting
        ]
        for name, pieces in analyse(signature).pieces.items()
    }
    assert conflicting == {
        "trade_order": [
            ("read_market_price", "read_last_price"),
            ("insert_trade", "insert_history"),
        ],
        "market_feed": [
            ("read_last_trade", "update_last_trade"),
            ("scan_stop_loss", "insert_history"),
        ],
        "trade_update": [("by_trade_read_executor", "by_symbol_read_cash")],
    }


@pytest.mark.parametrize("seed", ["occ", "ic3", "two_phase_locking_star", "random:3"])
def test_tables_survive_the_encoding(signature: Signature, seed: str) -> None:
    encoding = Encoding(signature)
    document = build_seed(seed, signature)
    assert encoding.decode(encoding.encode(document), document.name).cc == document.cc
    assert len(document.cc) == 65


@pytest.mark.parametrize("seed", ["ic3", "two_phase_locking_star", "random:3"])
def test_tables_of_the_full_mix_survive_the_encoding(seed: str) -> None:
    signature = workload_signature(load_engine(), settings(mix="full"))
    encoding = Encoding(signature)
    document = build_seed(seed, signature)
    assert encoding.decode(encoding.encode(document), document.name).cc == document.cc
    assert len(document.cc) == 116


def test_the_full_mix_has_the_shares_of_the_specification() -> None:
    """Each order that gets to the market is followed by its result."""
    result = measured(settings(mix="full", theta="0", market_orders="60"), CORES, 0.05)
    ended = {name: one.commits for name, one in result.types.items()}  # including rollbacks
    whole = sum(ended.values())
    assert whole > 5000
    assert ended["trade_order"] / whole == pytest.approx(0.101, rel=0.15)
    assert ended["trade_result"] == pytest.approx(0.99 * ended["trade_order"], rel=0.1)
    assert ended["market_feed"] == pytest.approx(ended["trade_result"] / 10, abs=2 * CORES)
    assert ended["trade_status"] / whole == pytest.approx(0.19, rel=0.1)
    assert all(result.types[name].aborts == 0 for name in ("market_watch", "trade_lookup"))


@pytest.mark.parametrize("market_orders", ["0", "60"])
@pytest.mark.parametrize(
    "policy",
    [
        "silo",
        "two_phase_locking",
        "mvto",
        "aria",
        "occ",
        "ic3",
        "two_phase_locking_star",
        "random:5",
    ],
)
def test_every_history_of_the_full_mix_is_serializable(policy: str, market_orders: str) -> None:
    """One broker, whose totals every result changes, makes nearly all of them conflict."""
    options = settings(mix="full", theta="0", market_orders=market_orders)
    evaluator = Evaluator(options, CORES, machine=VIRTUAL)
    subject = subject_of(policy, evaluator.signature, untuned)
    evaluator.close()
    verdict = run_trial(Trial(options, CORES, 1, VIRTUAL, subject, seconds=0.002))
    assert verdict.findings == ()
    assert verdict.transactions > 50


@pytest.mark.parametrize("theta", ["0", "3"])
@pytest.mark.parametrize(
    "policy",
    ["silo", "two_phase_locking", "mvto", "occ", "ic3", "two_phase_locking_star", "random:5"],
)
def test_every_history_is_serializable(policy: str, theta: str) -> None:
    options = settings(theta=theta, market_orders="30")
    evaluator = Evaluator(options, CORES, machine=VIRTUAL)
    subject = subject_of(policy, evaluator.signature, untuned)
    evaluator.close()
    verdict = run_trial(Trial(options, CORES, 1, VIRTUAL, subject, seconds=0.0005))
    assert verdict.findings == ()
    assert verdict.transactions > 50
