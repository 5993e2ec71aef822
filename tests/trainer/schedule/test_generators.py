from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from trainer.command.main import heddle
from trainer.schedule.batch import Operation, make_batch
from trainer.schedule.files import read_batch
from trainer.schedule.generators import GENERATORS, generate
from trainer.schedule.generators.draws import Zipf

SMALL = {"records": 1000, "objects": 1000, "users": 1000, "items": 1000}


def drawn(name: str, count: int = 400, seed: int = 1, **parameters: float) -> list[list[Operation]]:
    known = GENERATORS[name].__dataclass_fields__  # type: ignore[attr-defined]
    small = {key: value for key, value in SMALL.items() if key in known}
    return list(generate(GENERATORS[name](**{**small, **parameters}), count, seed))


def writes(transaction: list[Operation]) -> int:
    return sum(op == "w" for op, _ in transaction)


@pytest.mark.parametrize("name", GENERATORS)
def test_the_seed_determines_the_workload_and_its_prefixes(name: str) -> None:
    assert drawn(name) == drawn(name)
    assert drawn(name)[:50] == drawn(name, 50)
    assert drawn(name) != drawn(name, seed=2)
    assert len(make_batch(drawn(name))) == 400


def test_tpcc_is_new_order_and_payment() -> None:
    transactions = drawn("tpcc", 1000)
    payments = [one for one in transactions if len(one) == 7]
    assert 430 < len(payments) < 570
    assert all([op for op, _ in one] == ["r", "w"] * 3 + ["*"] for one in payments)
    orders = [one for one in transactions if len(one) != 7]
    assert all(5 * 4 + 6 - 4 <= len(one) <= 15 * 4 + 6 for one in orders)
    assert len({key for one in transactions for _, key in one[:1]}) == 10
    assert all(drawn("tpcc", 50, warehouses=1))


def test_ycsb_writes_a_twentieth() -> None:
    transactions = drawn("ycsb", 1000)
    assert {len(one) for one in transactions} == {16}
    assert 0.04 < sum(map(writes, transactions)) / 16_000 < 0.06


def test_small_bank_has_its_mix() -> None:
    transactions = drawn("smallbank", 2000)
    reading = sum(writes(one) == 0 for one in transactions)
    assert 240 < reading < 360
    assert {len(one) for one in transactions} == {3, 4, 6, 8}


def test_epinions_reads_in_half_of_its_transactions() -> None:
    by_writes = Counter(writes(one) for one in drawn("epinions", 2000))
    assert set(by_writes) == {0, 1}
    assert 900 < by_writes[0] < 1100


def test_taobench_has_few_long_transactions() -> None:
    lengths = np.array([len(one) for one in drawn("taobench", 3000)])
    assert lengths.max() <= 60
    assert 0.02 < (lengths >= 10).mean() < 0.06
    assert (lengths <= 4).mean() > 0.6


def test_transactions_of_the_simulator() -> None:
    assert {len(one) for one in drawn("simulator_tpcc")} == {23, 7}
    one, other = drawn("alternating", 2)
    assert len(one) == len(other) == 13
    assert [one[0][1].split("-")[0], other[0][1].split("-")[0]] == ["left", "right"]  # type: ignore[attr-defined]


def test_zipf_has_its_nominal_skew() -> None:
    ranks = Zipf(100, 1.0, np.random.default_rng(1))
    counts = Counter(ranks.draw() for _ in range(20_000))
    assert max(counts) <= 99
    assert 1.8 < counts[0] / counts[1] < 2.2
    assert 8 < counts[0] / counts[9] < 12


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(heddle, ["lab", "generate", *map(str, arguments)])


def test_a_workload_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    done = run("ycsb", "records=50", "theta=0.5", "--transactions", "7", "--output", path)
    assert done.exit_code == 0, done.output
    assert len(read_batch(path)) == len(json.loads(path.read_text())) == 7


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ycsb", "theat=1"], "must be a parameter of ycsb: records, theta"),
        (["ycsb", "theta"], "must be a parameter of ycsb"),
        (["ycsb", "theta=nan"], "theta=nan: must be a number from 0 to 10"),
        (["ycsb", "theta=hot"], "must be a number"),
        (["ycsb", "records=0"], "records=0: must be an integer from 1"),
        (["ycsb", "records=1.5"], "must be an integer"),
        (["tpcd"], "tpcd"),
        (["ycsb", "--transactions", "0"], "0"),
        (["ycsb", "--output", "no/w.json"], "there is no directory no"),
    ],
)
def test_mistyped_arguments_are_reported(
    tmp_path: Path, arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = [] if "--output" in arguments else ["--output", "w.json"]
    done = run(*arguments, *output)
    assert done.exit_code == 2
    assert expected in done.output
    assert not (tmp_path / "w.json").exists()
