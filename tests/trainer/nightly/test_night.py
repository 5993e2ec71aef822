"""The files and outcomes of nights, also after errors and kills."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from envs import Comparison
from policies import Signature, save
from tests.trainer.nightly.some_nights import FIRST, SECOND, quiet, settings, table, two_days
from tests.trainer.nightly.test_judge import blocks
from traces.reader import open_trace
from trainer.checkpoint import WritingError
from trainer.nightly import night as nights
from trainer.nightly import promotion
from trainer.nightly.night import Plan, run_night
from trainer.nightly.nights import Night
from trainer.nightly.outcome import Outcome
from trainer.nightly.rollback import roll_back
from trainer.nightly.state import NightFolder, StateFolder
from trainer.nightly.training import Trained
from trainer.progress import LineDisplay


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The peaks of the two days differ."""
    return two_days(tmp_path / "shop", apart=True)


@pytest.fixture
def trained(signature: Signature, monkeypatch: pytest.MonkeyPatch) -> list[date]:
    """Return the days that were trained for; a training gives a fixed table."""
    days: list[date] = []

    def train(config: Any, of: Any, program: Any, night: NightFolder, *more: Any) -> Trained:
        document = replace(table(signature), name=night.path.name)
        save(document, night.candidate)
        days.append(date.fromisoformat(night.path.name))
        return Trained(document, 1.0, 8, 1.0)

    monkeypatch.setattr(nights, "train_candidate", train)
    return days


def measured(monkeypatch: pytest.MonkeyPatch, *candidate: float) -> None:
    """Set the candidate's throughput on the blocks; the others have 100."""

    def measure(
        config: Any, hours: Sequence[str], subjects: Any, display: Any, objective: Any
    ) -> list[Comparison]:
        others = {one.name: 100.0 for one in subjects if one.name != "candidate"}
        return blocks(candidate, **others)

    monkeypatch.setattr(nights, "measure_blocks", measure)


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


def run_one_night(state: StateFolder, trace: Path, day: date, *typed: str) -> Night:
    with quiet() as display:
        return run_night(Plan(settings(*typed), state, open_trace(trace), day), display)


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def outcomes(state: StateFolder) -> list[tuple[str, str]]:
    """Return the outcomes in the log."""
    lines = [json.loads(line) for line in state.log.read_text().splitlines()]
    return [(line["day"], line["outcome"]) for line in lines]


@pytest.mark.slow
def test_a_real_night_killed_before_its_verdict_resumes(
    state: StateFolder, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training and validation use virtual cores; the next day has the same peak and is skipped."""
    trace = two_days(tmp_path / "shop")
    with monkeypatch.context() as patch:
        patch.setattr(nights, "measure_blocks", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, FIRST)
    assert state.served() is None
    checkpoint = state.night(FIRST).training.path / "checkpoint.json"
    generations = json.loads(checkpoint.read_text())["state"]["history"]
    assert len(generations) == 2
    first = run_one_night(state, trace, FIRST)
    assert json.loads(checkpoint.read_text())["state"]["history"] == generations
    assert first.outcome in (Outcome.PROMOTED, Outcome.KEPT)
    assert first.numbers["training"]["hours"] == "12:00-12:40"
    assert first.numbers["held_out"]["blocks"] == ["12:40-12:46", "12:46-12:53", "12:53-13:00"]
    assert [one["name"] for one in first.numbers["standings"]] == ["silo"]
    assert (state.served() is not None) is (first.outcome is Outcome.PROMOTED)
    assert not list(cache.rglob("*.program"))


@pytest.mark.parametrize("how", ["fifo", "folder", "bytes"])
def test_an_invalid_log_or_page_is_reported(
    state: StateFolder,
    tmp_path: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    def spoil(path: Path) -> None:
        path.unlink()
        if how == "fifo":
            os.mkfifo(path)
        elif how == "folder":
            path.mkdir()
        else:
            path.write_bytes(b"\xff")

    trace = two_days(tmp_path / "shop")
    measured(monkeypatch, 90, 120, 100)
    kept = run_one_night(state, trace, FIRST)
    spoil(state.log)
    with pytest.raises(WritingError, match=r"nights\.jsonl: can't be read: "):
        run_one_night(state, trace, FIRST)
    state.log.rmdir() if how == "folder" else state.log.unlink()
    page = state.night(FIRST).page
    spoil(page)
    if how == "bytes":
        assert run_one_night(state, trace, FIRST) == kept
        assert page.read_text().startswith("#")
    else:
        with pytest.raises(WritingError, match=r"page\.md: "):
            run_one_night(state, trace, FIRST)


def test_a_night_that_cannot_be_written_is_still_shown(
    state: StateFolder,
    tmp_path: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise WritingError("night.json: can't be written: No space left on device")

    trace = two_days(tmp_path / "shop")
    measured(monkeypatch, 118, 120, 122)
    monkeypatch.setattr(nights, "keep", full)
    display = LineDisplay(Console())
    plan = Plan(settings(), state, open_trace(trace), FIRST)
    with pytest.raises(WritingError, match=r"night\.json"):
        run_night(plan, display)
    assert "× silo on the held-out part" in capsys.readouterr().out


def test_an_unchanged_peak_is_skipped(
    state: StateFolder, tmp_path: Path, trained: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = two_days(tmp_path / "shop")
    measured(monkeypatch, 118, 120, 122)
    run_one_night(state, trace, FIRST)
    second = run_one_night(state, trace, SECOND)
    assert second.outcome is Outcome.SKIPPED
    assert second.numbers["difference"] == 0
    assert trained == [FIRST]
    assert outcomes(state) == [("2026-03-01", "promoted"), ("2026-03-02", "skipped")]


@pytest.mark.parametrize(
    ("reached", "outcome", "served"),
    [((118, 120, 122), "promoted", SECOND), ((90, 120, 100), "kept", FIRST)],
)
def test_a_changed_peak_is_trained_for_and_the_better_policy_served(
    state: StateFolder,
    trace: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    reached: tuple[float, ...],
    outcome: str,
    served: date,
) -> None:
    measured(monkeypatch, 118, 120, 122)
    run_one_night(state, trace, FIRST)
    measured(monkeypatch, *reached)
    night = run_one_night(state, trace, SECOND)
    assert night.outcome == outcome
    assert night.numbers["opponent"] == "champion"
    assert trained == [FIRST, SECOND]
    found = state.served()
    assert found is not None
    assert found.conditions is not None
    assert found.conditions.day == served
    page = state.night(SECOND).page.read_text()
    assert f"# Night of 2026-03-02: {outcome}" in page
    assert "| champion | 100 |" in page


def test_a_training_without_gain_is_repeated_only_later(
    state: StateFolder, tmp_path: Path, trained: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = two_days(tmp_path / "shop")
    measured(monkeypatch, 90, 120, 100)
    assert run_one_night(state, trace, FIRST).outcome is Outcome.KEPT
    with monkeypatch.context() as patch:
        patch.setattr(nights, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, SECOND, "retrain_after=1")
    assert trained == [FIRST, SECOND]
    night = run_one_night(state, trace, SECOND)
    assert night.outcome is Outcome.SKIPPED
    assert night.why.startswith("trained for these conditions on 2026-03-01, and ")
    assert trained == [FIRST, SECOND]


def test_repeating_a_finished_night_changes_nothing(
    state: StateFolder, trace: Path, trained: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, 118, 120, 122)
    night = run_one_night(state, trace, FIRST)
    before = files(state.path)
    assert run_one_night(state, trace, FIRST) == night
    assert files(state.path) == before
    assert trained == [FIRST]


@pytest.mark.parametrize("where", ["train_candidate", "measure_blocks", "judge", "promote"])
def test_a_kill_at_any_point_keeps_the_champion_and_the_next_run_resumes(
    state: StateFolder,
    trace: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    measured(monkeypatch, 118, 120, 122)
    run_one_night(state, trace, FIRST)
    champion = state.policy.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(nights, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, SECOND)
    assert state.policy.read_bytes() == champion
    assert run_one_night(state, trace, SECOND).outcome is Outcome.PROMOTED
    assert trained.count(SECOND) == (2 if where in ("measure_blocks", "judge") else 1)
    assert sorted(state.numbers()) == [1, 2]
    assert outcomes(state) == [("2026-03-01", "promoted"), ("2026-03-02", "promoted")]


def test_a_policy_is_served_once_after_a_kill(
    state: StateFolder, trace: Path, trained: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, 118, 120, 122)
    real: Callable[..., Any] = promotion.publish

    def served_and_killed(*given: Any) -> Any:
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(promotion, "publish", served_and_killed)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, FIRST)
    assert run_one_night(state, trace, FIRST).outcome is Outcome.PROMOTED
    assert list(state.numbers()) == [1]


@pytest.mark.parametrize("served_before", [False, True])
def test_a_resumed_night_does_not_restore_a_rolled_back_policy(
    state: StateFolder,
    signature: Signature,
    trace: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    served_before: bool,
) -> None:
    """The night is killed between serving and logging; then the policy is rolled back."""
    measured(monkeypatch, 118, 120, 122)
    if served_before:
        save(replace(table(signature), name="by hand"), state.policy)
    run_one_night(state, trace, FIRST)
    champion = state.served()
    with monkeypatch.context() as patch:
        patch.setattr(promotion, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, SECOND)
    roll_back(state)
    night = run_one_night(state, trace, SECOND)
    assert night.outcome is Outcome.PROMOTED
    assert state.served() == champion
    assert trained == [FIRST, SECOND]
    ended = [json.loads(line)["outcome"] for line in state.log.read_text().splitlines()]
    assert ended == ["promoted", "promoted", "rolled back"]


@pytest.mark.parametrize("where", ["promote", "keep"])
def test_a_champion_replaced_since_the_verdict(
    state: StateFolder,
    trace: Path,
    trained: list[date],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    """The night is killed before or after serving; then another night or a rollback follows."""
    measured(monkeypatch, 118, 120, 122)
    with monkeypatch.context() as patch:
        patch.setattr(nights, "promote", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_one_night(state, trace, FIRST)
    if where == "keep":
        with monkeypatch.context() as patch:
            patch.setattr(promotion, "keep", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run_one_night(state, trace, FIRST)
    run_one_night(state, trace, SECOND)
    served = state.served()
    night = run_one_night(state, trace, FIRST)
    assert night.outcome is Outcome.PROMOTED
    if where == "keep":  # the policy had been served and was replaced since
        assert trained == [FIRST, SECOND]
        assert state.served() == served
    else:
        assert trained == [FIRST, SECOND, FIRST]
        assert night.numbers["opponent"] == "champion"


def test_a_missing_page_and_log_line_are_written(
    state: StateFolder, trace: Path, trained: list[date], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, 118, 120, 122)
    run_one_night(state, trace, FIRST)
    page, line = state.night(FIRST).page.read_text(), state.log.read_text()
    state.night(FIRST).page.unlink()
    state.log.unlink()
    run_one_night(state, trace, FIRST)
    assert (state.night(FIRST).page.read_text(), state.log.read_text()) == (page, line)
