"""Records a run on real cores in two rounds: the second has the accesses of the types that matter.

Recording an access takes a share of the time that the access takes. The first run therefore records
attempts, commits and waits alone. The second one also records the accesses of those types of which
the execution is among the factors (Huang 2019, §2.3.3.4, algorithm 3).
"""

from __future__ import annotations

from collections.abc import Callable

from envs.recorded_events import RecordedEvents, Selection
from trainer.variance.factors import top_factors
from trainer.variance.profile import Profile, TypeProfile, profile_of
from trainer.variance.step_labels import EXECUTION


def refined_profile(
    record: Callable[[Selection], RecordedEvents], share: float, k: int, d: float
) -> Profile:
    """Return the profile of the last of up to two runs.

    Args:
        record: makes a run and records the given part of it.
        share: share of the time in which transactions are recorded.
        k: the maximum number of factors of a type.
        d: the least share of the latency's variance that a factor must have.
    """
    coarse = profile_of(record(Selection(share, frozenset())))
    types = frozenset(name for name, kind in coarse.types.items() if needs_break_down(kind, k, d))
    return profile_of(record(Selection(share, types))) if types else coarse


def needs_break_down(kind: TypeProfile, k: int, d: float) -> bool:
    """Whether the execution of a type, whose accesses are not recorded, is among its factors."""
    return any(
        name == EXECUTION or name.startswith(f"{EXECUTION} ")
        for factor in top_factors(kind.tree, k, d)
        for name in factor.name
    )
