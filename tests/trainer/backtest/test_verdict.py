from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from trainer.backtest.next_day import NextDay
from trainer.backtest.page import page_of
from trainer.backtest.picture import plot_days
from trainer.backtest.step import Step
from trainer.backtest.verdict import no_gain_reasons, verdict_of
from trainer.nightly.errors import StateError
from trainer.nightly.nights import Night, keep
from trainer.nightly.outcome import Outcome
from trainer.nightly.state import StateFolder

FIRST = date(2026, 3, 1)

DAY = NextDay(
    day=FIRST + timedelta(days=1),
    hours="12:00-13:00",
    requests=600,
    conflict_rate=0.4,
    rounds=5,
    served="table, trained for 2026-03-01",
    digest="0a",
    best="occ",
    ratio=0.98,
    low=0.97,
    high=0.99,
    throughput={"candidate": 980.0, "occ": 1000.0},
    abort_rate={"candidate": 0.2, "occ": 0.25},
    time={"occ": {"useful": 0.1, "commit": 0.1, "waiting": 0.2, "wasted": 0.1, "backoff": 0.5}},
    busiest_table="goods",
    busiest_share=0.5,
    alone_us=1000.0,
    machine="48 virtual cores",
)


TRAINING = {
    "hours": "12:00-12:40",
    "machine": "48 virtual cores",
    "evaluations": 100,
    "seconds": 1.0,
    "from": "the seeds",
    "origin": "mutation",
}


def step(number: int, ratio: float, trained: bool = True, **changed: Any) -> Step:
    numbers = {"training": TRAINING} if trained else {}
    outcome = Outcome.PROMOTED if trained else Outcome.SKIPPED
    night = Night(FIRST + timedelta(days=number), outcome, "", numbers, "shop")
    day = replace(
        DAY,
        day=DAY.day + timedelta(days=number),
        ratio=ratio,
        low=ratio - 0.01,
        high=ratio + 0.01,
        **changed,
    )
    return Step(night, day)


def test_the_verdict_is_the_median_and_counts_significant_days() -> None:
    steps = [step(0, 1.2), step(1, 1.005, trained=False), step(2, 0.9)]
    found = verdict_of([*steps, replace(steps[0], next_day=None, reason="2026-03-05: damaged")])
    assert found is not None
    assert (found.days, found.ratio, found.better, found.worse) == (3, 1.005, 1, 1)
    assert (found.trained, found.promoted) == (3, 3)
    assert found.line.startswith("1.005 × the best baseline of the day, median over 3 days")


def test_nothing_measured_is_no_verdict() -> None:
    steps = [Step(step(0, 1.0).night, None, "2026-03-02: has no requests")]
    assert verdict_of(steps) is None
    assert no_gain_reasons(steps) == []
    assert "2026-03-02: has no requests" in page_of(steps, 0.95)


def test_a_gain_has_no_explanation_of_failure() -> None:
    assert no_gain_reasons([step(0, 1.1), step(1, 1.2), step(2, 0.5)]) == []


def test_a_missing_gain_is_explained_by_measurements() -> None:
    words = " ".join(no_gain_reasons([step(0, 0.98), step(1, 0.99, trained=False)]))
    assert "aborts 25.0% of its attempts" in words
    assert "loses 80% of the cores' time" in words
    # Half of 1000 transactions a second write the row: one every 2000 µs.
    assert "by 50.0% of the transactions: every 2e+03 µs under occ" in words
    assert "Any policy must serialize the writes of a row" in words
    assert "1 search measured 100 tables" in words


def test_a_rarely_written_row_is_not_blamed() -> None:
    words = " ".join(no_gain_reasons([step(0, 0.98, busiest_share=0.01)]))
    assert "of goods, is written by 1.0%" in words
    assert "must serialize the writes" not in words


def test_page_and_picture(tmp_path: Path) -> None:
    steps = [step(0, 0.98), step(1, 1.02)]
    page = page_of(steps, 0.95)
    assert "| 2026-03-01 | promoted | 2026-03-02 12:00-13:00 | 600 |" in page
    assert "48 virtual cores" in page
    assert "a synthetic trace" not in page
    plot_days([one.next_day for one in steps if one.next_day], True, tmp_path / "days.png")
    assert (tmp_path / "days.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kept", [step(0, 0.98), replace(step(0, 1.0), next_day=None, reason="no")])
def test_a_step_is_saved_and_loaded(tmp_path: Path, kept: Step) -> None:
    state = StateFolder(tmp_path)
    folder = state.night(kept.night.day)
    assert Step.load(folder) is None
    folder.path.mkdir(parents=True)
    keep(state, kept.night)
    kept.save(folder)
    assert Step.load(folder) == kept
    file = folder.path / "next_day.json"
    earlier = file.read_text().replace(
        '"reason"', '"why_not_measured"'
    )  # the key of earlier versions
    file.write_text(earlier)
    assert Step.load(folder) == kept
    (folder.path / "next_day.json").write_text("{")
    with pytest.raises(StateError, match=r"next_day\.json: is damaged"):
        Step.load(folder)
