from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from policies import Signature, save
from tests.trainer.nightly.some_nights import FIRST, peak, table
from trainer.nightly.nights import Night, keep
from trainer.nightly.outcome import Outcome
from trainer.nightly.rejected import last_rejected_day
from trainer.nightly.state import Publication, StateFolder


@pytest.fixture
def champion(signature: Signature) -> Publication:
    return Publication(table(signature), 1, None, peak(0.9, FIRST - timedelta(days=1)))


@pytest.fixture
def lost(state: StateFolder, signature: Signature, champion: Publication) -> StateFolder:
    """Return a state whose champion was kept on the first day, with a conflict rate of 0.5."""
    record_night(state, signature, champion)
    return state


def record_night(
    state: StateFolder,
    signature: Signature,
    champion: Publication | None,
    outcome: Outcome = Outcome.KEPT,
) -> None:
    folder = state.night(FIRST)
    folder.path.mkdir()
    save(table(signature, "ic3"), folder.candidate)
    against = champion.digest if champion else None
    keep(
        state,
        Night(
            FIRST, outcome, "", {"conditions": peak(0.5).as_dict(), "champion": against}, at="now"
        ),
    )


def found(
    state: StateFolder,
    champion: Publication | None,
    signature: Signature,
    rate: float = 0.5,
    later: int = 1,
    retrain_after: int | None = 7,
) -> date | None:
    today = peak(rate, FIRST + timedelta(days=later))
    return last_rejected_day(state, champion, today, signature, 0.15, retrain_after)


@pytest.mark.parametrize(
    ("changed", "rejected"),
    [
        ({}, True),
        ({"rate": 0.57}, True),
        ({"rate": 0.43}, True),
        ({"rate": 0.58}, False),
        ({"rate": 0.9}, False),
        ({"later": 6}, True),
        ({"later": 7}, False),
        ({"later": 7, "retrain_after": None}, True),
        ({"later": 4000, "retrain_after": None}, True),
        ({"retrain_after": 0}, False),
        ({"later": 0}, False),
        ({"later": -1}, False),
    ],
)
def test_a_rejection_applies_to_similar_conditions_for_some_days(
    lost: StateFolder,
    champion: Publication,
    signature: Signature,
    changed: dict[str, Any],
    rejected: bool,
) -> None:
    assert found(lost, champion, signature, **changed) == (FIRST if rejected else None)


def test_a_rejection_does_not_apply_to_another_champion(
    lost: StateFolder, champion: Publication, signature: Signature
) -> None:
    other = replace(champion, document=table(signature, "ic3"))
    assert found(lost, other, signature) is None
    assert found(lost, None, signature) is None


def test_a_rejection_does_not_apply_to_other_transaction_types(
    lost: StateFolder, champion: Publication
) -> None:
    assert found(lost, champion, Signature("other", ())) is None


def test_a_rejection_without_a_champion_is_by_the_baselines(
    state: StateFolder, signature: Signature
) -> None:
    record_night(state, signature, None)
    assert found(state, None, signature) == FIRST


@pytest.mark.parametrize("outcome", [Outcome.PROMOTED, Outcome.SKIPPED, Outcome.BAD_DAY])
def test_nights_with_other_outcomes_are_no_rejections(
    state: StateFolder, signature: Signature, champion: Publication, outcome: Outcome
) -> None:
    record_night(state, signature, champion, outcome)
    assert found(state, champion, signature) is None


@pytest.mark.parametrize("damaged", ["night.json", "candidate.json"])
def test_damaged_nights_are_ignored(
    lost: StateFolder, champion: Publication, signature: Signature, damaged: str
) -> None:
    (lost.night(FIRST).path / damaged).write_text("{")
    (lost.path / "nights" / "notes").mkdir()
    assert found(lost, champion, signature) is None
