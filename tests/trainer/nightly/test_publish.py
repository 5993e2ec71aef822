from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from policies import Signature, load, save
from tests.trainer.nightly.some_nights import FIRST, peak, table
from trainer.lock import HeldError, held
from trainer.nightly import publish as publishing
from trainer.nightly.errors import StateError
from trainer.nightly.publish import publish
from trainer.nightly.rollback import roll_back
from trainer.nightly.state import Publication, StateFolder


def serve(state: StateFolder, signature: Signature, day: int, keep: int = 10) -> Publication:
    """Publish a table for a day."""
    document = replace(table(signature), name=f"day {day}")
    return publish(state, document, peak(of=FIRST + timedelta(days=day)), keep)


def dies(*_: object) -> None:
    raise KeyboardInterrupt


def name_served(state: StateFolder) -> str:
    served = state.served()
    assert served is not None
    return served.document.name


def test_a_published_policy_is_served_with_its_conditions(
    state: StateFolder, signature: Signature
) -> None:
    assert state.served() is None
    assert serve(state, signature, 0) == state.served()
    second = serve(state, signature, 1)
    assert (second.number, second.replaces) == (2, 1)
    assert state.served() == second
    assert second.conditions == peak(of=FIRST + timedelta(days=1))
    assert load(state.policy, signature).name == "day 1"


def test_publishing_again_changes_nothing(state: StateFolder, signature: Signature) -> None:
    first = serve(state, signature, 0)
    before = state.policy.stat().st_mtime_ns
    assert serve(state, signature, 0) == first
    assert state.policy.stat().st_mtime_ns == before
    assert list(state.numbers()) == [1]


def test_rolling_back_restores_the_previous_policy(
    state: StateFolder, signature: Signature
) -> None:
    for day in range(3):
        serve(state, signature, day)
    roll_back(state)
    assert name_served(state) == "day 1"
    serve(state, signature, 7)
    roll_back(state)
    assert name_served(state) == "day 1"  # not day 2, which was rolled back
    roll_back(state)
    assert name_served(state) == "day 0"
    with pytest.raises(StateError, match="is the first published policy"):
        roll_back(state)
    assert name_served(state) == "day 0"


def test_rolling_back_without_a_policy_is_an_error(state: StateFolder) -> None:
    with pytest.raises(StateError, match="no policy is published yet"):
        roll_back(state)


def test_the_number_of_kept_policies_is_limited(state: StateFolder, signature: Signature) -> None:
    for day in range(5):
        serve(state, signature, day, keep=2)
    assert sorted(state.numbers()) == [3, 4, 5]
    roll_back(state)
    roll_back(state)
    with pytest.raises(StateError, match="no longer kept"):
        roll_back(state)
    assert name_served(state) == "day 2"


def test_a_manually_copied_policy_can_be_restored(state: StateFolder, signature: Signature) -> None:
    save(replace(table(signature, "ic3"), name="by hand"), state.policy)
    serve(state, signature, 0)
    roll_back(state)
    assert name_served(state) == "by hand"


def test_a_kill_before_the_rename_keeps_the_old_policy(
    state: StateFolder, signature: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(state, signature, 0)
    real = publishing.write_policy

    def dies_serving(document: object, path: object) -> None:
        if path == state.policy:
            dies()
        real(document, path)  # type: ignore[arg-type]

    monkeypatch.setattr(publishing, "write_policy", dies_serving)
    with pytest.raises(KeyboardInterrupt):
        serve(state, signature, 1)
    monkeypatch.undo()
    assert name_served(state) == "day 0"
    assert sorted(state.numbers()) == [1, 2]
    found = serve(state, signature, 1)
    assert (found.number, found.replaces) == (2, 1)
    assert name_served(state) == "day 1"
    roll_back(state)
    assert name_served(state) == "day 0"


def test_a_kill_after_a_manually_copied_policy_was_adopted(
    state: StateFolder, signature: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(replace(table(signature, "ic3"), name="by hand"), state.policy)
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_numbered", dies)
        with pytest.raises(KeyboardInterrupt):
            serve(state, signature, 0)
    assert name_served(state) == "by hand"
    serve(state, signature, 0)
    assert sorted(state.numbers()) == [1, 2]


def test_a_replaced_policy_is_not_served_again(state: StateFolder, signature: Signature) -> None:
    first = serve(state, signature, 0)
    serve(state, signature, 1)
    assert serve(state, signature, 0) == first
    assert name_served(state) == "day 1"


def test_another_candidate_for_the_same_conditions_is_served(
    state: StateFolder, signature: Signature
) -> None:
    serve(state, signature, 0)
    found = publish(state, replace(table(signature, "ic3"), name="again"), peak(), 10)
    assert (found.number, name_served(state)) == (2, "again")


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_policy_is_reported(state: StateFolder, text: str) -> None:
    state.policy.write_text(text)
    with pytest.raises(StateError, match="Restore a policy of"):
        state.served()


def test_concurrent_publications_exclude_each_other(state: StateFolder) -> None:
    with (
        held(state.path),
        pytest.raises(HeldError, match="another process"),
        held(state.path),
    ):
        pass
    with held(state.path):
        pass
