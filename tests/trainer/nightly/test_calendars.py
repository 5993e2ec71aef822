"""Consecutive nights, as under cron, with the events of a month."""

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
from tests.trainer.nightly.calendars import (
    EIGHT_DAYS,
    THIRTY_DAYS,
    Calendar,
    day_of,
    write_days,
)
from tests.trainer.nightly.killed_night import Moment, candidate_is_better
from tests.trainer.nightly.some_nights import TINY, quiet, settings
from tests.trainer.nightly.test_night import files
from traces.reader import open_trace
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.nightly import night as nights
from trainer.nightly.night import Plan, run_night
from trainer.nightly.nights import Night, read_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.rollback import roll_back
from trainer.nightly.state import Publication, StateFolder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Nights:
    """The outcomes of the nights, by the number of their day.

    Attributes:
        calendar: the days.
        trace: the trace of all days.
        state: the state folder after all nights.
        codes: the exit codes of the command.
        served: the policy served after each night.
        left: the policy served right after a kill.
        undisturbed: the outcomes of killed nights if they had not been killed.
        generations: those of the killed training, and those of the resumed one.
    """

    calendar: Calendar
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


@pytest.fixture(
    scope="module",
    params=[EIGHT_DAYS, pytest.param(THIRTY_DAYS, marks=pytest.mark.full)],
    ids=["eight-days", "thirty-days"],
)
def past(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nights]:
    """Run all nights of a calendar."""
    calendar, folder = request.param, tmp_path_factory.mktemp("nights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        trace = write_days(folder / "shop", calendar)
        found = Nights(calendar, trace, StateFolder(folder / "state"))
        for number in calendar.numbers():
            with patch.context() as given:
                if number in calendar.promoted:
                    given.setattr(nights, "measure_blocks", candidate_is_better)
                if number in calendar.killed:
                    _run_killed_night(found, number)
                found.codes[number] = _run_night(found, found.state, number)
            found.served[number] = found.state.served()
            if number in calendar.killed:
                found.ended[number] = _outcome_of(found.state, number)
            if calendar.killed.get(number) is Moment.TRAINING:
                found.generations.append(_generations(found.state, number))
        yield found


def _typed(past: Nights, state: StateFolder, number: int) -> list[str]:
    return [f"trace={past.trace}", f"state={state.path}", f"day={day_of(number)}", *TINY]


def _run_night(past: Nights, state: StateFolder, number: int) -> int:
    done = CliRunner().invoke(heddle, ["nightly", *_typed(past, state, number)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code


def _run_killed_night(past: Nights, number: int) -> None:
    """Run a night that is killed, and the same night undisturbed in a copy of the state."""
    untouched = StateFolder(past.state.path.with_name(f"undisturbed-{number}"))
    shutil.copytree(past.state.path, untouched.path)
    assert _run_night(past, untouched, number) == 0
    past.undisturbed[number] = _outcome_of(untouched, number)
    typed = [past.calendar.killed[number], *_typed(past, past.state, number)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.trainer.nightly.killed_night", *typed],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    past.left[number] = past.state.served()
    if past.calendar.killed[number] is Moment.TRAINING:
        past.generations.append(_generations(past.state, number))


def _generations(state: StateFolder, number: int) -> list[Any]:
    history = Checkpoint.load(state.night(day_of(number)).training.path).history
    return [(one.generation, one.best, one.median, one.origin) for one in history]


def _outcome_of(state: StateFolder, number: int) -> Any:
    """Return the parts of a night that a kill must not change: all but times and paths."""
    night, served = read_night(state.night(day_of(number))), state.served()
    assert night is not None
    assert served is not None
    numbers = json.loads(json.dumps(night.numbers))
    del numbers["again"], numbers["training"]["seconds"]
    document = served.document
    table = (document.name, document.signature, document.cc, document.backoff)
    place = (served.number, served.replaces, served.conditions)
    return night.outcome, night.why, numbers, table, place, sorted(state.numbers())


@pytest.mark.slow
def test_nights_train_only_when_the_rate_changed(past: Nights) -> None:
    calendar = past.calendar
    for number, rate in enumerate(calendar.rates, start=1):
        if number in (calendar.corrupt, calendar.empty):
            continue
        night, before = past.night(number), past.served.get(number - 1)
        found = night.numbers["conditions"]["conflict_rate"]
        assert found == pytest.approx(rate, abs=0.03)
        assert night.synthetic
        assert past.codes[number] == 0
        if number in calendar.promoted:
            assert night.outcome is Outcome.PROMOTED, number
        elif number < calendar.validated:
            assert before is not None
            assert before.conditions is not None
            assert night.outcome is Outcome.SKIPPED, number
            trained_for = before.conditions.conflict_rate
            difference = abs(found - trained_for) / trained_for
            assert night.numbers["difference"] == pytest.approx(difference)
            assert difference < night.numbers["threshold"]
            assert night.numbers["trained_for"] == before.conditions.as_dict()
            assert "training" not in night.numbers


def test_a_measured_candidate_is_served_if_it_is_better(past: Nights) -> None:
    calendar = past.calendar
    night = past.night(calendar.validated)
    assert night.outcome in (Outcome.PROMOTED, Outcome.KEPT)
    low = next(one["low"] for one in night.numbers["standings"] if one["name"] == "champion")
    assert (night.outcome is Outcome.PROMOTED) is (low > 1)
    promoted = night.outcome is Outcome.PROMOTED
    trained_for = calendar.validated if promoted else calendar.promoted[-1]
    served = past.served[calendar.validated]
    assert served is not None
    assert served.conditions is not None
    assert served.conditions.day == day_of(trained_for)
    for number in calendar.numbers()[calendar.validated :]:  # trained for, even without a gain
        assert past.night(number).outcome is Outcome.SKIPPED


@pytest.mark.parametrize(("what", "words"), [("corrupt", "is damaged"), ("empty", "no requests")])
def test_a_bad_day_is_reported_and_the_next_night_continues(
    past: Nights, what: str, words: str
) -> None:
    number = getattr(past.calendar, what)
    assert past.codes[number] == 3
    night = past.night(number)
    assert night.outcome is Outcome.BAD_DAY
    assert words in night.why
    assert str(day_of(number)) in night.why
    assert past.served[number] == past.served[number - 1]
    assert past.codes[number + 1] == 0


def test_a_killed_night_keeps_a_policy_served_and_ends_like_an_undisturbed_one(
    past: Nights,
) -> None:
    for number, moment in past.calendar.killed.items():
        served = number if moment is Moment.SERVED else number - 1
        assert past.left[number] == past.served[served], moment
        assert past.left[number] is not None, moment
        assert past.ended[number] == past.undisturbed[number], moment


def test_the_killed_training_was_resumed(past: Nights) -> None:
    left, ended = past.generations
    assert len(left) == 1
    assert len(ended) == 2
    assert ended[:1] == left


def test_the_log_has_every_night_once_and_in_order(past: Nights) -> None:
    lines = [json.loads(line) for line in past.state.log.read_text().splitlines()]
    numbers = past.calendar.numbers()
    assert [line["day"] for line in lines] == [f"{day_of(number)}" for number in numbers]
    assert lines == [past.night(number).as_dict() for number in numbers]


def test_the_history_has_every_served_policy(past: Nights) -> None:
    served = past.state.served()
    assert served is not None
    assert load(past.state.policy, served.document.signature) == served.document
    lineage = list(past.state.lineage())
    assert sorted(past.state.numbers()) == sorted(one.number for one in lineage)
    days = [one.conditions.day for one in reversed(lineage) if one.conditions is not None]
    promoted = past.calendar.promoted
    assert days[: len(promoted)] == [day_of(number) for number in promoted]
    assert [one.number for one in lineage] == list(range(len(lineage), 0, -1))
    assert not list(past.state.path.rglob("*.tmp"))


def test_repeating_a_finished_day_changes_nothing(past: Nights) -> None:
    before, calendar = files(past.state.path), past.calendar
    config, trace = settings(), open_trace(past.trace)
    with quiet() as display:
        for number in calendar.numbers():
            if number not in (calendar.corrupt, calendar.empty):
                found = run_night(Plan(config, past.state, trace, day_of(number)), display)
                assert found == past.night(number)
    assert _run_night(past, past.state, calendar.promoted[0]) == 0
    changed = {path for path, content in files(past.state.path).items() if content != before[path]}
    assert {Path(path).name for path in changed} <= {".lock"}


def test_all_promotions_can_be_rolled_back(past: Nights, tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    shutil.copytree(past.state.path, state.path)
    for expected in list(state.lineage())[1:]:
        roll_back(state)
        assert state.served() == expected
