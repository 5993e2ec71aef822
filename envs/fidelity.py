"""Compare policies on virtual and real cores (`heddle machine compare`).

A search on virtual cores is useful only if the order of policies is the same on real ones. Results
from simulated cores have been contradicted before (Bang et al., The full story of 1000 cores, VLDB
Journal 2022).
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
"""The reason for leaving out a policy whose ratios are meaningless."""


@dataclass(frozen=True)
class Point:
    """The figures of one policy on both machines.

    Attributes:
        name: name of the policy.
        real: throughput on real cores divided by the reference's in the adjacent slices.
        virtual: `mixed_throughput` on virtual cores divided by the reference's.
        real_error: standard error of `real`.
        real_throughput: commits per second on real cores.
        virtual_throughput: commits per second on virtual cores.
        real_aborts: aborted attempts divided by all attempts on real cores.
        virtual_aborts: aborted attempts divided by all attempts on virtual cores.
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
    """How well virtual cores predict real ones.

    Attributes:
        points: one point per policy, the fastest on real cores first.
        skipped: for each policy that could not be measured, the reason.
        spearman: Spearman's rank correlation of throughput between the machines.
        kendall: Kendall's rank correlation of throughput between the machines.
        regret: relative throughput lost on real cores with the policy that is best on virtual
            ones.
        throughput_error: median over the policies of |virtual ÷ real - 1|, in commits per second.
        abort_error: median over the policies of |virtual - real|, in the abort rate.
    """

    points: list[Point]
    skipped: dict[str, str]
    spearman: float
    kendall: float
    regret: float
    throughput_error: float
    abort_error: float

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """Return the JSON document that `heddle machine compare` writes.

        Args:
            **more: further top-level fields.
        """
        return {"schema_version": SCHEMA_VERSION, **more, **asdict(self)}


@dataclass(frozen=True)
class FidelityPlan:
    """The measurements of `measure_fidelity`.

    Attributes:
        seconds: length of a slice on real cores, in seconds.
        rounds: slices of each policy on real cores.
        warmup: unmeasured seconds before each slice.
        virtual_seconds: length of a run on virtual cores, in virtual seconds.
        virtual_rounds: runs of each policy on virtual cores, each on other inputs.
        virtual_warmup: unmeasured virtual seconds before each run.
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
    """Run policies on real and virtual cores and compare their order.

    On real cores every slice is relative to the adjacent slices of the reference, because machines
    change their speed. A policy's figure is the mean of the middle half of these ratios.

    Args:
        real: an evaluator on real cores.
        virtual: an evaluator on as many virtual cores, for the same workload.
        subjects: policies to compare; at least three that can run.
        reference: the subject that throughput is relative to.
        plan: the measurements to make.
        seed: seed of the inputs.
        on_round: called after each round with the kind of the machine.

    Raises:
        ValueError: fewer than three policies could be measured.
        MeasuringError: the reference failed.
    """
    slices: dict[str, list[tuple[float, float, float]]] = {s.name: [] for s in subjects}
    runs: dict[str, list[tuple[float, float, float]]] = {s.name: [] for s in subjects}
    skipped: dict[str, str] = {}
    for evaluator, found, rounds, seconds, warmup in (
        (real, slices, plan.rounds, plan.seconds, plan.warmup),
        (virtual, runs, plan.virtual_rounds, plan.virtual_seconds, plan.virtual_warmup),
    ):
        for number in range(rounds):
            measured = [subject for subject in subjects if subject.name not in skipped]
            evaluations = evaluator.evaluate(
                measured, reference, slices=1, seconds=seconds, warmup=warmup, seed=seed + number
            )
            for subject, evaluation in zip(measured, evaluations, strict=True):
                if evaluation.error is not None:
                    skipped[subject.name] = evaluation.error
                    continue
                result = evaluation.results[0]
                found[subject.name].append(
                    (evaluation.ratios[0], result.throughput, result.abort_rate)
                )
            on_round(evaluator.machine["kind"])
    points = [
        _point(subject.name, slices[subject.name], runs[subject.name])
        for subject in subjects
        if subject.name not in skipped
    ]
    return summarize(points, skipped)


def summarize(points: Sequence[Point], skipped: dict[str, str]) -> Fidelity:
    """Summarize points. Policies that commit nothing on real cores are skipped.

    Raises:
        ValueError: fewer than three points are left.
    """
    from scipy.stats import kendalltau, spearmanr

    moving = [point for point in points if point.real > 0 and point.real_throughput > 0]
    stuck = {point.name: STUCK for point in points if point not in moving}
    skipped = {**skipped, **stuck}
    if len(moving) < 3:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in skipped.items())
        raise ValueError(f"only {len(moving)} policies could be measured; 3 are needed{reasons}")
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
