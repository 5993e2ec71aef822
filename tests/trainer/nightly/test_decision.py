from __future__ import annotations

import math
from dataclasses import replace

import pytest

from policies import Signature
from tests.trainer.nightly.some_nights import SECOND, peak
from trainer.nightly.conditions import Conditions
from trainer.nightly.decision import Target, decide

OTHER = Signature("other", ())


@pytest.mark.parametrize(
    ("trained_for", "today", "trains", "difference"),
    [
        (0.40, 0.40, False, 0.0),
        (0.40, 0.45, False, 0.125),
        (0.40, 0.50, True, 0.25),
        (0.40, 0.30, True, 0.25),
        (0.50, 0.75, True, 0.5),
        (0.00, 0.00, False, 0.0),
        (0.00, 0.01, True, math.inf),
    ],
)
def test_a_change_beyond_the_threshold_trains(
    trained_for: float, today: float, trains: bool, difference: float
) -> None:
    target = Target(peak(trained_for), OTHER)
    decision = decide(target, peak(today, SECOND), OTHER, 0.15)
    assert decision.trains is trains
    assert decision.difference == pytest.approx(difference)


def test_a_change_equal_to_the_threshold_trains() -> None:
    assert decide(Target(peak(0.5), OTHER), peak(0.75), OTHER, 0.5).trains


def test_other_transaction_types_train_at_any_rate(signature: Signature) -> None:
    decision = decide(Target(peak(), OTHER), peak(), signature, 0.15)
    assert decision.trains
    assert "transaction types" in decision.why


def test_a_missing_policy_or_missing_conditions_train() -> None:
    assert decide(None, peak(), OTHER, 0.15).trains
    assert decide(Target(None, OTHER), peak(), OTHER, 0.15).trains


def test_conditions_survive_json() -> None:
    assert Conditions.from_dict(peak().as_dict()) == peak()
    assert replace(peak(), hour=9).hours == "9:00-10:00"
