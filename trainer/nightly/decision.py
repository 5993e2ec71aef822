"""Whether a night trains (OSDI 2021, section 5.3: deferred retraining)."""

from __future__ import annotations

from dataclasses import dataclass

from policies import Signature
from traces.statistics.prediction import relative_difference
from trainer.nightly.conditions import Conditions


@dataclass(frozen=True)
class Target:
    """What the policy that is served was trained for.

    Attributes:
        conditions: of its peak hour; None where the policy does not say.
        signature: of its workload.
    """

    conditions: Conditions | None
    signature: Signature


@dataclass(frozen=True)
class Decision:
    """Whether to train, and why.

    Attributes:
        trains: whether.
        why: for people.
        difference: of the conflict rate from the one trained for, relative to it; None if there is
            none to compare with, infinite if that one is 0.
    """

    trains: bool
    why: str
    difference: float | None = None


def decide(
    target: Target | None, today: Conditions, signature: Signature, threshold: float
) -> Decision:
    """Whether today's peak differs enough from the one trained for.

    Args:
        target: of the policy that is served; None if none is.
        today: the peak that tomorrow's is predicted to be like.
        signature: of today's workload.
        threshold: train from this relative difference on.
    """
    if target is None:
        return Decision(True, "no policy is served yet")
    if target.signature != signature:
        return Decision(True, "the transaction types or their accesses are others")
    if target.conditions is None:
        return Decision(True, "the policy that is served does not say what it was trained for")
    before = target.conditions
    difference = relative_difference(today.conflict_rate, before.conflict_rate)
    verb = "is" if difference < threshold else "moved"
    words = (
        f"the conflict rate {verb} {difference:.1%} from {before.conflict_rate:.4f} of {before.day}"
        f", threshold {threshold:.1%}"
    )
    return Decision(difference >= threshold, words, difference)
