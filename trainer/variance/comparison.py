"""Names the factors that make the difference between two policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainer.variance.factors import Factor, FactorName, factors_of
from trainer.variance.profile import Profile, TypeProfile


@dataclass(frozen=True)
class FactorChange:
    """A factor's part in a difference of variances.

    Attributes:
        name: the factor's name.
        change: difference of its contributions in µs²: the second policy's less the first's.
        share: change ÷ difference of the latencies' variances.
        specificity: the greater one of its specificities in the two trees.
        score: specificity × share.
        mean_us: difference of its mean times in µs.
        tail_us: the same over the slowest transactions of each policy.
    """

    name: FactorName
    change: float
    share: float
    specificity: float
    score: float
    mean_us: float
    tail_us: float

    @property
    def words(self) -> str:
        """The name for people."""
        return " × ".join(self.name)

    def as_dict(self) -> dict[str, Any]:
        """Return the change as JSON values."""
        return {
            "factor": list(self.name),
            "share": self.share,
            "change_us2": self.change,
            "specificity": self.specificity,
            "score": self.score,
            "mean_us": self.mean_us,
            "tail_us": self.tail_us,
        }


@dataclass(frozen=True)
class TypeDifference:
    """The difference of two policies for one transaction type.

    Attributes:
        name: name of the type.
        first: its profile under the first policy.
        second: its profile under the second policy.
        changes: the factors that make the difference, by decreasing score.
    """

    name: str
    first: TypeProfile
    second: TypeProfile
    changes: list[FactorChange]


def differences(first: Profile, second: Profile, k: int, d: float) -> list[TypeDifference]:
    """Return what makes the difference for each type that both profiles have.

    Args:
        first: the profile to compare with.
        second: the profile that differs.
        k: the maximum number of factors for a type.
        d: the least share of the difference, 0 to 1, that a factor must have.
    """
    return [
        TypeDifference(name, kind, second.types[name], _changes(kind, second.types[name], k, d))
        for name, kind in first.types.items()
        if name in second.types
    ]


def _changes(first: TypeProfile, second: TypeProfile, k: int, d: float) -> list[FactorChange]:
    """Rank the changes as algorithm 1 ranks factors, with the difference in place of the variance.

    A factor that a policy's tree lacks contributes nothing there.
    """
    whole = second.tree.variance - first.tree.variance
    ranked = {factor.name for tree in (first.tree, second.tree) for factor in factors_of(tree)}
    before, after = _by_name(first), _by_name(second)
    found = [
        _change(before.get(name, Factor(name)), after.get(name, Factor(name)), whole)
        for name in ranked - {(first.name,)}
    ]
    found.sort(key=lambda change: (-change.score, change.name))
    return [change for change in found[:k] if change.share >= d]


def _by_name(profile: TypeProfile) -> Mapping[FactorName, Factor]:
    return {factor.name: factor for factor in factors_of(profile.tree, single=True)}


def _change(before: Factor, after: Factor, whole: float) -> FactorChange:
    change = after.contribution - before.contribution
    share = change / whole if whole != 0 else 0.0
    specificity = max(before.specificity, after.specificity)
    return FactorChange(
        name=after.name,
        change=change,
        share=share,
        specificity=specificity,
        score=specificity * share,
        mean_us=after.mean_us - before.mean_us,
        tail_us=after.tail_us - before.tail_us,
    )
