"""A policy that leaves a type out of the workload's mix, in the commands that compare policies."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from trainer.command.main import heddle

POLICIES = "policy=silo,two_phase_locking"
TRANSFER = ("evaluate", "reference=silo", "machine=virtual", "machine.cores=2,3", "run.repeats=1")


@pytest.fixture
def starving(fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make Silo the fastest policy, which never commits a Payment."""
    result_of = fake_engine.Session._result

    def without_payments(self: Any, protocol: str, *arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = result_of(self, protocol, *arguments)
        if protocol == "silo":
            result["types"]["payment"] |= {"commits": 0, "unfinished": 2}
        return result

    monkeypatch.setattr(fake_engine.Session, "_result", without_payments)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    done = CliRunner().invoke(heddle, words)
    assert done.exit_code == 0, done.output
    return done.output


def cells(shown: str, first: str) -> list[str]:
    (line,) = [line.split() for line in shown.splitlines() if line.split()[:1] == [first]]
    return line[1:]


def test_a_policy_that_left_a_type_out_is_not_the_best_of_a_place(starving: Path) -> None:
    shown = run(*TRANSFER, POLICIES, "output=found")
    assert cells(shown, "silo") == ["†1.00", "(143%)"] * 2
    assert cells(shown, "two_phase_locking") == ["0.70", "(100%)"] * 2
    assert cells(shown, "silo,") == ["K/s", "†100", "†100"]
    assert cells(shown, "best") == ["two_phase_locking"] * 2
    words = " ".join(shown.split())
    assert "† did not keep the workload's mix: cores 2: silo committed payment none of" in words
    for column in json.loads((starving / "found" / "transfer.json").read_text())["columns"]:
        assert column["best"] == "two_phase_locking"
        assert column["to_best"]["silo"] == pytest.approx(1 / 0.7)


def test_a_policy_can_be_the_best_if_all_left_a_type_out(starving: Path) -> None:
    shown = run(*TRANSFER, "policy=silo")
    assert cells(shown, "best") == ["†silo"] * 2


def test_a_picture_marks_policies_that_left_a_type_out(
    starving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.axes import Axes

    written: list[tuple[str, str]] = []
    write = Axes.text

    def text(self: Axes, x: float, y: float, s: str, *more: Any, **style: Any) -> Any:
        written.append((s, style["weight"]))
        return write(self, x, y, s, *more, **style)

    monkeypatch.setattr(Axes, "text", text)
    run(*TRANSFER, POLICIES, "output=found")
    assert written == [("†1.00", "normal")] * 2 + [("0.70", "bold")] * 2


def test_a_csv_names_the_types(starving: Path) -> None:
    run("evaluate", POLICIES, "run.repeats=1", "output=found.csv")
    first, second = csv.DictReader((starving / "found.csv").read_text().splitlines())
    assert first["left_out"].startswith("payment none of ")
    assert second["left_out"] == ""


def test_a_csv_has_the_column_where_all_kept_the_mix(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run("evaluate", POLICIES, "run.repeats=1", "output=found.csv")
    assert "left_out" in (tmp_path / "found.csv").read_text().splitlines()[0].split(",")


def test_every_output_names_transactions_that_are_overdue(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result_of = fake_engine.Session._result

    def kept_waiting(self: Any, protocol: str, *arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = result_of(self, protocol, *arguments)
        if protocol == "silo":
            result["types"]["payment"]["oldest_us"] = 0.8e6 * result["duration_s"]
        return result

    monkeypatch.setattr(fake_engine.Session, "_result", kept_waiting)
    monkeypatch.chdir(tmp_path)
    shown = " ".join(run(*TRANSFER, POLICIES).split())
    assert "cores 2: unfinished at the end of a run: silo payment " in shown
    run("evaluate", "machine=virtual", "machine.cores=2", POLICIES, "output=found.csv")
    first, second = csv.DictReader((tmp_path / "found.csv").read_text().splitlines())
    assert first["overdue"].startswith("payment ")
    assert second["overdue"] == ""
