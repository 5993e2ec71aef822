"""The decision whether a night trains (OSDI 2021, section 5.3: deferred retraining)."""

from __future__ import annotations

from dataclasses import dataclass

from policies import Signature
from traces.statistics.prediction import relative_difference
from trainer.nightly.conditions import Conditions


@dataclass(frozen=True)
class Target:
    """What the published policy was trained for.

    Attributes:
        conditions: of its peak hour; None if the policy does not state them.
        signature: of its workload.
    """

    conditions: Conditions | None
    signature: Signature


@dataclass(frozen=True)
class Decision:
    """Whether to train, and the reason.

    Attributes:
        trains: whether to train.
        why: the reason, for display.
        difference: the relative difference of the conflict rate from the one trained for; None
            without one to compare with, infinite if that one is 0.
    """

    trains: bool
    why: str
    difference: float | None = None


def decide(
    target: Target | None, today: Conditions, signature: Signature, threshold: float
) -> Decision:
    """Decide whether today's peak differs enough from the one trained for.

    Args:
        target: of the published policy; None if there is none.
        today: today's peak, the prediction of tomorrow's.
        signature: of today's workload.
        threshold: the relative difference from which to train.
    """
    if target is None:
        return Decision(True, "no policy is published yet")
    if target.signature != signature:
        return Decision(True, "the transaction types or their accesses have changed")
    if target.conditions is None:
        return Decision(True, "the published policy does not state its training conditions")
    before = target.conditions
    difference = relative_difference(today.conflict_rate, before.conflict_rate)
    words = (
        f"the conflict rate differs by {difference:.1%} from {before.conflict_rate:.4f} on "
        f"{before.day}, threshold {threshold:.1%}"
    )
    return Decision(difference >= threshold, words, difference)
