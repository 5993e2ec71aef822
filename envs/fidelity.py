"""How far virtual cores can be trusted: the same policies on both machines.

A platform that searches on simulated cores must know whether the order it finds there holds on real
ones: conclusions from simulated cores have been contradicted before (Bang et al., The full story of
1000 cores, VLDB Journal 2022).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envs.evaluator import Evaluator
from envs.subject import Subject
from envs.trimmed_mean import trimmed_mean

SCHEMA_VERSION = 1

STUCK = "it commits nothing in half of the slices on real cores, or more"
"""Why such a policy has no point: ratios of nothing say nothing."""


@dataclass(frozen=True)
class Point:
    """One policy on both machines.

    Attributes:
        name: of the policy.
        real: throughput on real cores ÷ the reference's in the slices around.
        virtual: `mixed_throughput` on virtual cores on the same inputs ÷ the reference's there.
        real_error: standard error of `real`.
        real_throughput, virtual_throughput: commits a second.
        real_aborts, virtual_aborts: aborted attempts ÷ all attempts.
    """

    name: str
    real: float
    virtual: float
    real_error: float
    real_throughput: float
    virtual_throughput: float
    real_aborts: float
    virtual_aborts: float


@dataclass(frozen=True)
class Fidelity:
    """What the points come to.

    Attributes:
        points: one a policy, the fastest on real cores first.
        skipped: policies that could not be measured, and why.
        spearman: rank correlation of throughput between the machines (1: the same order).
        kendall: likewise, by pairs.
        regret: what is lost on real cores by taking the policy that is best on virtual ones.
        throughput_error: median over the policies of |virtual ÷ real - 1|, in commits a second.
        abort_error: median of |virtual - real| of the abort rate.
    """

    points: list[Point]
    skipped: dict[str, str]
    spearman: float
    kendall: float
    regret: float
    throughput_error: float
    abort_error: float

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """The JSON document that `heddle machine compare` writes, with further fields."""
        return {"schema_version": SCHEMA_VERSION, **more, **asdict(self)}


@dataclass(frozen=True)
class FidelityPlan:
    """How much is measured.

    Attributes:
        seconds: length of a slice on real cores.
        rounds: slices of each policy there.
        warmup: unmeasured seconds before each.
        virtual_seconds: length of a run on virtual cores.
        virtual_rounds: runs of each policy there, on inputs of their own.
        virtual_warmup: unmeasured seconds before each.
    """

    seconds: float
    rounds: int
    warmup: float
    virtual_seconds: float
    virtual_rounds: int
    virtual_warmup: float


def measure_fidelity(
    real: Evaluator,
    virtual: Evaluator,
    subjects: Sequence[Subject],
    reference: Subject,
    plan: FidelityPlan,
    seed: int,
    on_round: Callable[[str], None] = lambda words: None,
) -> Fidelity:
    """Run policies on both machines.

    On real cores every slice stands beside slices of the reference, for machines change their
    speed; the mean of the middle half of those ratios is what counts.

    Args:
        real: a machine of real cores …
        virtual: … and one of as many virtual ones, for the same workload.
        subjects: what to compare; at least three that can run.
        reference: what throughput is relative to.
        plan: how much to measure.
        seed: of the inputs.
        on_round: called after each round, with the machine's name; `rounds` times on each.

    Raises:
        ValueError: fewer than three policies could be measured.
        MeasuringError: the reference can't run.
    """
    slices: dict[str, list[tuple[float, float, float]]] = {one.name: [] for one in subjects}
    runs: dict[str, list[tuple[float, float, float]]] = {one.name: [] for one in subjects}
    skipped: dict[str, str] = {}
    for evaluator, found, rounds, seconds, warmup in (
        (real, slices, plan.rounds, plan.seconds, plan.warmup),
        (virtual, runs, plan.virtual_rounds, plan.virtual_seconds, plan.virtual_warmup),
    ):
        for number in range(rounds):
            racing = [one for one in subjects if one.name not in skipped]
            evaluations = evaluator.evaluate(
                racing, reference, slices=1, seconds=seconds, warmup=warmup, seed=seed + number
            )
            for subject, evaluation in zip(racing, evaluations, strict=True):
                if evaluation.error is not None:
                    skipped[subject.name] = evaluation.error
                    continue
                result = evaluation.results[0]
                found[subject.name].append(
                    (evaluation.ratios[0], result.throughput, result.abort_rate)
                )
            on_round(evaluator.machine["kind"])
    points = [
        _point(one.name, slices[one.name], runs[one.name])
        for one in subjects
        if one.name not in skipped
    ]
    return summarize(points, skipped)


def summarize(points: Sequence[Point], skipped: dict[str, str]) -> Fidelity:
    """What points come to; those that commit nothing on real cores join the skipped ones.

    Raises:
        ValueError: there are fewer than three others.
    """
    from scipy.stats import kendalltau, spearmanr

    moving = [point for point in points if point.real > 0 and point.real_throughput > 0]
    stuck = {point.name: STUCK for point in points if point not in moving}
    skipped = {**skipped, **stuck}
    if len(moving) < 3:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in skipped.items())
        raise ValueError(f"{len(moving)} policies were measured; it takes three{reasons}")
    ordered = sorted(moving, key=lambda point: -point.real)
    real = [point.real for point in ordered]
    virtual = [point.virtual for point in ordered]
    chosen = max(ordered, key=lambda point: point.virtual)
    return Fidelity(
        points=ordered,
        skipped=skipped,
        spearman=float(spearmanr(real, virtual).statistic),
        kendall=float(kendalltau(real, virtual).statistic),
        regret=1 - chosen.real / ordered[0].real,
        throughput_error=statistics.median(
            abs(point.virtual_throughput / point.real_throughput - 1) for point in ordered
        ),
        abort_error=statistics.median(
            abs(point.virtual_aborts - point.real_aborts) for point in ordered
        ),
    )


def _point(
    name: str,
    slices: Sequence[tuple[float, float, float]],
    runs: Sequence[tuple[float, float, float]],
) -> Point:
    ratios = [ratio for ratio, _, _ in slices]
    spread = statistics.stdev(ratios) if len(ratios) > 1 else 0.0
    return Point(
        name=name,
        real=trimmed_mean(ratios),
        virtual=statistics.fmean(ratio for ratio, _, _ in runs),
        real_error=spread / len(ratios) ** 0.5,
        real_throughput=statistics.median(throughput for _, throughput, _ in slices),
        virtual_throughput=statistics.fmean(throughput for _, throughput, _ in runs),
        real_aborts=statistics.median(rate for _, _, rate in slices),
        virtual_aborts=statistics.fmean(rate for _, _, rate in runs),
    )
