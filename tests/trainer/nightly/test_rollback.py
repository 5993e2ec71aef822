"""Rollbacks whose process is killed (`killed_night` kills itself with SIGKILL)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from policies import Signature, save
from tests.trainer.nightly.killed_night import Moment
from tests.trainer.nightly.some_nights import FIRST, peak, table
from trainer.nightly.errors import StateError
from trainer.nightly.publish import publish
from trainer.nightly.rollback import end_killed, roll_back
from trainer.nightly.state import Publication, StateFolder

ROOT = Path(__file__).resolve().parents[3]


def serve(state: StateFolder, signature: Signature, day: int) -> Publication:
    document = replace(table(signature), name=f"day {day}")
    return publish(state, document, peak(of=FIRST + timedelta(days=day)), 10)


def name_served(state: StateFolder) -> str:
    served = state.served()
    assert served is not None
    return served.document.name


def lines(state: StateFolder) -> list[tuple[str, int]]:
    """Return the rollbacks in the log."""
    if not state.log.exists():
        return []
    found = [json.loads(line) for line in state.log.read_text().splitlines()]
    return [(line["outcome"], line["served"]) for line in found]


@pytest.fixture
def three(state: StateFolder, signature: Signature) -> StateFolder:
    """Serve a manually copied policy, then day 1, then day 2."""
    save(replace(table(signature, "ic3"), name="by hand"), state.policy)
    for day in (1, 2):
        serve(state, signature, day)
    return state


def killed(state: StateFolder, moment: Moment) -> None:
    typed = ["--rollback", f"state={state.path}", "mlflow.enabled=false"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.trainer.nightly.killed_night", moment, *typed],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("by", ["the next night", "the same again"])
@pytest.mark.slow
def test_a_kill_before_serving_is_completed_by_the_next_process(
    three: StateFolder, by: str
) -> None:
    killed(three, Moment.ROLLING_BACK)
    assert (name_served(three), lines(three)) == ("day 2", [])
    end_killed(three) if by == "the next night" else roll_back(three)
    assert (name_served(three), lines(three)) == ("day 1", [("rolled back", 2)])
    assert not three.rollback.exists()


@pytest.mark.slow
def test_a_kill_before_logging_is_completed_without_a_second_rollback(
    three: StateFolder,
) -> None:
    killed(three, Moment.ROLLED_BACK)
    assert (name_served(three), lines(three)) == ("day 1", [])
    assert roll_back(three).why.startswith("day 1, trained for ")
    assert (name_served(three), lines(three)) == ("day 1", [("rolled back", 2)])
    roll_back(three)
    assert (name_served(three), lines(three)[1:]) == ("by hand", [("rolled back", 1)])
    end_killed(three)
    assert len(lines(three)) == 2


@pytest.mark.slow
def test_an_intent_is_dropped_if_another_policy_was_served_since(
    three: StateFolder, signature: Signature
) -> None:
    killed(three, Moment.ROLLING_BACK)
    save(replace(table(signature), name="by hand again"), three.policy)
    end_killed(three)
    assert (name_served(three), lines(three)) == ("by hand again", [])
    assert not three.rollback.exists()


def test_an_unreadable_intent_is_reported(three: StateFolder) -> None:
    three.rollback.write_text("{}")
    with pytest.raises(StateError, match=r"rollback.json: is not written by .*\nRemove it"):
        roll_back(three)
    assert name_served(three) == "day 2"
