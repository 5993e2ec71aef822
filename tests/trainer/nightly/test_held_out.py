from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.nightly.some_nights import one_day, peak
from traces.reader import Trace, open_trace
from traces.replay.part import choose_part
from trainer.nightly.errors import NothingToJudgeError
from trainer.nightly.held_out import split


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Write an hour from noon: a transaction every six seconds, in 10 alternating sessions."""
    return open_trace(one_day(tmp_path / "shop"))


def test_the_hour_is_cut_without_gaps_or_overlaps(trace: Trace) -> None:
    found = split(trace, peak(), 20, 5, 2)
    parts = [choose_part(trace, "2026-03-01", hours) for hours in (found.training, *found.blocks)]
    assert [part.end_us for part in parts[:-1]] == [part.first_us for part in parts[1:]]
    hour = choose_part(trace, "2026-03-01", peak().hours)
    assert (parts[0].first_us, parts[-1].end_us) == (hour.first_us, hour.end_us)
    assert len(found.blocks) == 5
    assert (found.training, found.held_out) == ("12:00-12:40", "12:40-13:00")


def test_few_sessions_for_each_core_reduce_the_number_of_blocks(trace: Trace) -> None:
    """A minute has 10 transactions of 7 or 8 sessions, because orders are cancelled in theirs."""
    assert len(split(trace, peak(), 20, 20, 1).blocks) == 20
    assert 3 < len(split(trace, peak(), 20, 20, 2).blocks) < 20
    assert len(split(trace, peak(), 20, 20, 10).blocks) == 3  # one session for each core suffices


@pytest.mark.parametrize("minutes", [3, 57])
def test_too_few_sessions_are_reported(trace: Trace, minutes: int) -> None:
    with pytest.raises(NothingToJudgeError, match="fewer than the 11 cores"):
        split(trace, peak(), minutes, 3, 11)
