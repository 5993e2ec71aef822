"""A month of nights, one after the other as cron has them, with what happens in a month."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from policies import load
from tests.trainer.nightly.killed_night import Moment
from tests.trainer.nightly.some_nights import TINY, quiet, settings
from tests.trainer.nightly.test_night import files
from tests.trainer.nightly.thirty_days import (
    CORRUPT,
    EMPTY,
    JUDGED,
    PROMOTED,
    RATES,
    candidate_is_better,
    day_of,
    thirty_days,
)
from traces.reader import open_trace
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.nightly import night as nights
from trainer.nightly.night import Plan, run_night
from trainer.nightly.nights import Night, read_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.rollback import roll_back
from trainer.nightly.state import Publication, StateFolder

# A minute of one core; machines may be busy.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[3]

KILLED = {6: Moment.TRAINING, 15: Moment.SERVING, 21: Moment.SERVED, 25: Moment.WRITING}
"""Nights, by the number of their day, whose first process is killed."""


@dataclass
class Month:
    """What the nights came to, by the number of their day.

    Attributes:
        trace: of all days.
        state: after all of them.
        codes: that the command ended with.
        served: after each.
        left: by the process that was killed: what was served then.
        undisturbed: how the nights end in which one was killed, had it not been.
        generations: that the killed training left, and those of the one that went on.
    """

    trace: Path
    state: StateFolder
    codes: dict[int, int] = field(default_factory=dict)
    served: dict[int, Publication | None] = field(default_factory=dict)
    left: dict[int, Publication | None] = field(default_factory=dict)
    undisturbed: dict[int, Any] = field(default_factory=dict)
    ended: dict[int, Any] = field(default_factory=dict)
    generations: list[list[Any]] = field(default_factory=list)

    def night(self, number: int) -> Night:
        found = read_night(self.state.night(day_of(number)))
        assert found is not None
        return found


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Month]:
    """All thirty nights."""
    folder = tmp_path_factory.mktemp("month")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        found = Month(thirty_days(folder / "shop"), StateFolder(folder / "state"))
        for number in range(1, len(RATES) + 1):
            with patch.context() as given:
                if number in PROMOTED:
                    given.setattr(nights, "measure_blocks", candidate_is_better)
                if number in KILLED:
                    _have_killed(found, number)
                found.codes[number] = _have(found, found.state, number)
            found.served[number] = found.state.served()
            if number in KILLED:
                found.ended[number] = _gist(found.state, number)
            if KILLED.get(number) is Moment.TRAINING:
                found.generations.append(_generations(found.state, number))
        yield found


def _typed(month: Month, state: StateFolder, number: int) -> list[str]:
    return [f"trace={month.trace}", f"state={state.path}", f"day={day_of(number)}", *TINY]


def _have(month: Month, state: StateFolder, number: int) -> int:
    done = CliRunner().invoke(heddle, ["nightly", *_typed(month, state, number)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code


def _have_killed(month: Month, number: int) -> None:
    """A night that is killed; beside it, in a copy of the state, as it would have ended."""
    beside = StateFolder(month.state.path.with_name(f"undisturbed-{number}"))
    shutil.copytree(month.state.path, beside.path)
    assert _have(month, beside, number) == 0
    month.undisturbed[number] = _gist(beside, number)
    module = "tests.trainer.nightly.killed_night"
    done = subprocess.run(
        [sys.executable, "-m", module, KILLED[number], *_typed(month, month.state, number)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    month.left[number] = month.state.served()
    if KILLED[number] is Moment.TRAINING:
        month.generations.append(_generations(month.state, number))


def _generations(state: StateFolder, number: int) -> list[Any]:
    history = Checkpoint.load(state.night(day_of(number)).training.path).history
    return [(one.generation, one.best, one.median, one.origin) for one in history]


def _gist(state: StateFolder, number: int) -> Any:
    """What must be the same whether a process was killed or not: all but times and places."""
    night, served = read_night(state.night(day_of(number))), state.served()
    assert night is not None
    assert served is not None
    numbers = json.loads(json.dumps(night.numbers))
    del numbers["again"], numbers["training"]["seconds"]
    document = served.document
    table = (document.name, document.signature, document.cc, document.backoff)
    place = (served.number, served.replaces, served.conditions)
    return night.outcome, night.why, numbers, table, place, sorted(state.numbers())


def test_nights_train_where_the_rate_moved_and_only_there(month: Month) -> None:
    for number, rate in enumerate(RATES, start=1):
        if number in (CORRUPT, EMPTY):
            continue
        night, before = month.night(number), month.served.get(number - 1)
        found = night.numbers["conditions"]["conflict_rate"]
        assert found == pytest.approx(rate, abs=0.03)
        assert night.synthetic
        assert month.codes[number] == 0
        if number in PROMOTED:
            assert night.outcome is Outcome.PROMOTED, number
        elif number < JUDGED:
            assert before is not None
            assert before.conditions is not None
            assert night.outcome is Outcome.SKIPPED, number
            trained_for = before.conditions.conflict_rate
            difference = abs(found - trained_for) / trained_for
            assert night.numbers["difference"] == pytest.approx(difference)
            assert difference < night.numbers["threshold"]
            assert night.numbers["trained_for"] == before.conditions.as_dict()
            assert "training" not in night.numbers


def test_what_is_really_judged_is_served_or_not(month: Month) -> None:
    night = month.night(JUDGED)
    assert night.outcome in (Outcome.PROMOTED, Outcome.KEPT)
    low = next(one["low"] for one in night.numbers["standings"] if one["name"] == "champion")
    assert (night.outcome is Outcome.PROMOTED) is (low > 1)
    trained_for = JUDGED if night.outcome is Outcome.PROMOTED else PROMOTED[-1]
    served = month.served[JUDGED]
    assert served is not None
    assert served.conditions is not None
    assert served.conditions.day == day_of(trained_for)
    for number in range(JUDGED + 1, len(RATES) + 1):  # trained for, be it in vain
        assert month.night(number).outcome is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("number", "words"), [(CORRUPT, "is damaged"), (EMPTY, "no requests")], ids=["corrupt", "empty"]
)
def test_a_bad_day_is_told_and_the_next_night_goes_on(
    month: Month, number: int, words: str
) -> None:
    assert month.codes[number] == 3
    night = month.night(number)
    assert night.outcome is Outcome.BAD_DAY
    assert words in night.why
    assert str(day_of(number)) in night.why
    assert month.served[number] == month.served[number - 1]
    assert month.codes[number + 1] == 0


@pytest.mark.parametrize("number", KILLED, ids=list(KILLED.values()))
def test_a_killed_night_leaves_a_policy_and_ends_as_if_nothing_had_been(
    month: Month, number: int
) -> None:
    if KILLED[number] is Moment.SERVED:
        assert month.left[number] == month.served[number]
    else:
        assert month.left[number] == month.served[number - 1]
    assert month.left[number] is not None
    assert month.ended[number] == month.undisturbed[number]


def test_the_training_that_was_killed_went_on(month: Month) -> None:
    left, ended = month.generations
    assert len(left) == 1
    assert len(ended) == 2
    assert ended[:1] == left


def test_the_log_has_every_night_once_and_in_order(month: Month) -> None:
    lines = [json.loads(line) for line in month.state.log.read_text().splitlines()]
    assert [line["day"] for line in lines] == [f"{day_of(n)}" for n in range(1, len(RATES) + 1)]
    assert lines == [month.night(number).as_dict() for number in range(1, len(RATES) + 1)]


def test_the_history_has_what_was_served(month: Month) -> None:
    served = month.state.served()
    assert served is not None
    assert load(month.state.policy, served.document.signature) == served.document
    lineage = list(month.state.lineage())
    assert sorted(month.state.numbers()) == sorted(one.number for one in lineage)
    days = [one.conditions.day for one in reversed(lineage) if one.conditions is not None]
    assert days[: len(PROMOTED)] == [day_of(number) for number in PROMOTED]
    assert [one.number for one in lineage] == list(range(len(lineage), 0, -1))
    assert not list(month.state.path.rglob("*.tmp"))


def test_a_finished_day_again_changes_nothing(month: Month) -> None:
    before = files(month.state.path)
    config, trace = settings(), open_trace(month.trace)
    with quiet() as display:
        for number in range(1, len(RATES) + 1):
            if number not in (CORRUPT, EMPTY):
                found = run_night(Plan(config, month.state, trace, day_of(number)), display)
                assert found == month.night(number)
    assert _have(month, month.state, PROMOTED[0]) == 0
    changed = {path for path, content in files(month.state.path).items() if content != before[path]}
    assert {Path(path).name for path in changed} <= {".lock"}


def test_the_whole_month_can_be_gone_back(month: Month, tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    shutil.copytree(month.state.path, state.path)
    for expected in list(state.lineage())[1:]:
        roll_back(state)
        assert state.served() == expected
