from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trainer.command.main import heddle
from trainer.schedule.files import read_batch, workload_text


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(heddle, ["lab", *map(str, arguments)])


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "w.json"
    one, other = [["r", "x"], ["w", "z"]], [["r", "z"], ["w", "x"]]
    path.write_text(json.dumps([one, other, one, other]))
    return path


@pytest.mark.parametrize(("protocol", "found"), [("mvtso", "8 6"), ("lock", "8 6"), ("occ", "5 4")])
def test_makespan_prints_one_number(workload: Path, protocol: str, found: str) -> None:
    order = workload.with_name("o.json")
    order.write_text("[0, 2, 1, 3]")
    arguments = ("makespan", "--input", workload, "--protocol", protocol)
    as_written, ordered = run(*arguments), run(*arguments, "--order", order)
    assert as_written.exit_code == ordered.exit_code == 0
    assert f"{as_written.output}{ordered.output}".split() == found.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty; a workload is a JSON list"),
        ("[[", "w.json:1: not JSON"),
        ("[]", "has no transactions"),
        ("{}", "a workload is a JSON list"),
        ("7", "a workload is a JSON list"),
        ('[[["r", NaN]]]', "w.json:1: NaN is not a JSON number"),
        ('[[["r", 1e999]]]', "too large for a number"),
        ('[[["r", 1]], []]', "transaction 1 has no operations; add one"),
        ('[[["r", 1]], 5]', "transaction 1 is 5; must be a list of operations"),
        (
            '[[["x", 1]]]',
            "transaction 0, operation 0 has the op 'x'; must be r (read), w (write) or *",
        ),
        ('[[["r", 1], [["r"], 1]]]', "transaction 0, operation 1 has the op ['r']"),
        ('[[["r"]]]', 'has no key; must be [op, key], such as ["r", "x"]'),
        ('[[["r", 1, 2]]]', "is ['r', 1, 2]; must be [op, key]"),
        ('[[["r", -1]]]', "has the key -1; must be a text or an integer ≥ 0"),
        ('[[["w", 1.5]]]', "has the key 1.5; must be a text"),
        ('[[["w", true]]]', "has the key True; must be a text"),
        ('[[["w", null]]]', "has the key None; must be a text"),
        ("[" * 100_000, "nested too deeply"),
        ('[[["r", "\\ud800"]]]', "half of a surrogate pair"),
        (f'[[["r", {"9" * 5000}]]]', "a number is too long"),
    ],
)
def test_a_bad_workload_is_reported_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    done = run("makespan", "--input", path)
    assert done.exit_code == 2
    assert expected in done.output
    assert done.output.startswith(f"error: {path}")
    assert done.output.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0, 1, 2]", "has 3 of 4 transactions; the first missing one is 3"),
        ("[0, 1, 2, 2]", "place 3 repeats transaction 2"),
        ("[0, 1, 2, 4]", "place 3 has 4; the workload's transactions are 0 to 3"),
        ("[0, 1, 2, -1]", "place 3 has -1"),
        ("[0, 1, 2, true]", "place 3 has True"),
        ("[0, 1, 2, 3.0]", "place 3 has 3.0"),
        ("{}", "an order is a JSON list of transactions' indexes"),
        ("[0,", "not JSON"),
    ],
)
def test_a_bad_order_is_reported_in_one_line(workload: Path, text: str, expected: str) -> None:
    order = workload.with_name("o.json")
    order.write_text(text)
    done = run("makespan", "--input", workload, "--order", order)
    assert done.exit_code == 2
    assert expected in done.output
    assert done.output.startswith(f"error: {order}")


def test_missing_files_and_folders_are_reported(tmp_path: Path) -> None:
    assert "no such file" in run("makespan", "--input", tmp_path / "no.json").output
    assert "is a directory" in run("makespan", "--input", tmp_path).output


def test_keys_are_texts_or_integers_and_fillers_need_no_key(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text('[[["w", 1], ["*"]], [["*", null], ["w", "1"]], [["w", 1]]]')
    batch = read_batch(path)
    assert batch.keys.tolist() == [0, 0, 0, 1, 0]
    assert batch.users.tolist() == [2, 1]
    assert batch.problem("mvtso").makespan([0, 1, 2]) == 2


def test_a_written_workload_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(workload_text([[("r", "x"), ("*", None)], [("w", 7)]]))
    assert json.loads(path.read_text()) == [[["r", "x"], ["*", None]], [["w", 7]]]
    assert read_batch(path).lengths.tolist() == [2, 1]
