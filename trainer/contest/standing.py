"""What a contest comes to: the methods' figures on each workload, and which of them differ."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envs import TunedBackoff
from trainer.contest.runs import Entrant, Reference, by_case, by_method, in_common
from trainer.contest.statistics import (
    Curve,
    Pair,
    Spread,
    compare_blocks,
    compare_runs,
    smallest_p,
)


@dataclass(frozen=True)
class Fresh:
    """What was measured anew in a case: throughput ÷ that of `silo_tuned`.

    Attributes:
        tuned: the backoff of `silo_tuned` there.
        tables: of the runs, by `Entrant.name_of`.
        baselines: by name.
        references: what the runs' own references are worth, each measured as its search ran it.
    """

    tuned: TunedBackoff
    tables: Mapping[str, float]
    baselines: Mapping[str, float]
    references: Mapping[Reference, float]


@dataclass(frozen=True)
class RunStanding:
    """One run, measured anew.

    Attributes:
        method: its search, with those of its settings that are swept.
        seed: its seed.
        run: its folder, in that of its sweep.
        origin: where its champion came from; None if its search found no table that can be used.
        score: the champion's throughput ÷ that of `silo_tuned`, measured anew; 0 without one.
        trained: the same as the search took it to be, over its short runs, told in the contest's
            unit by what the reference that it had is worth over runs as short.
        area: the mean over the evaluations of the incumbent, measured anew.
        reached_after: evaluations to so much of the best known; None if it never was there.
        at_equal_time: the incumbent, measured anew, when the quickest run of all had ended.
        seconds: that its search took.
        evaluations: charged to it.
        refused: candidates that failed the check.
        trained_curve: (evaluations, fitness as the search took it to be) of each incumbent.
        fresh_curve: the same, measured anew.
    """

    method: str
    seed: int
    run: str
    origin: str | None
    score: float
    trained: float
    area: float
    reached_after: float | None
    at_equal_time: float
    seconds: float
    evaluations: int
    refused: int
    trained_curve: Curve
    fresh_curve: Curve

    @property
    def drop(self) -> float:
        """By how much the score is less than the search took it to be, relatively."""
        return 1.0 - self.score / self.trained if self.trained else 0.0


@dataclass(frozen=True)
class MethodStanding:
    """One method on one workload, over its independent runs."""

    method: str
    runs: tuple[RunStanding, ...]

    @property
    def score(self) -> Spread:
        """Of the champions, measured anew."""
        return Spread.of([run.score for run in self.runs])

    @property
    def area(self) -> Spread:
        """Below the curves of the incumbents, measured anew."""
        return Spread.of([run.area for run in self.runs])

    @property
    def drop(self) -> Spread:
        """From what the search took the champion for."""
        return Spread.of([run.drop for run in self.runs])

    @property
    def at_equal_time(self) -> float:
        """The median when the quickest run of all had ended."""
        return statistics.median(run.at_equal_time for run in self.runs)

    @property
    def seconds(self) -> float:
        """The median time of its searches."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def unsuccessful(self) -> int:
        """How many runs found no table that can be used."""
        return sum(run.origin is None for run in self.runs)

    @property
    def reached(self) -> int:
        """How many runs came to the share of the best known that is asked for."""
        return sum(run.reached_after is not None for run in self.runs)

    @property
    def reached_after(self) -> float | None:
        """The median of the evaluations that took; None if half of the runs never did."""
        return _median_spent([run.reached_after for run in self.runs])


@dataclass(frozen=True)
class Overtaking:
    """How soon the best method has what another one ends with.

    Attributes:
        method: the other.
        score: what it ends with, measured anew: the median of its runs.
        spent: the evaluations of its runs, the median.
        first: evaluations until it had that much itself, for the first time: the median of its
            runs; None if half of them never had. Where that is early, it has stood still since.
        after: the same of the best method; None as well if the other ends with nothing.
        runs: so many runs of the best method had that much.
        share: `after` ÷ `spent`.
    """

    method: str
    score: float
    spent: float
    first: float | None
    after: float | None
    runs: int
    share: float | None


@dataclass(frozen=True)
class CaseStanding:
    """One workload.

    Attributes:
        case: its name.
        methods: best first, by the median score.
        overtakings: of every other method by the best.
        pairs: every two methods.
        baselines: their scores, measured anew.
        tuned: the backoff of `silo_tuned`, which scores are relative to.
        best_known: the best score of any table that was measured.
        evaluations: so many all runs have; curves end there.
        equal_seconds: that the quickest run took.
        smallest_p: no two methods can differ by less, so few are the runs.
    """

    case: str
    methods: tuple[MethodStanding, ...]
    overtakings: tuple[Overtaking, ...]
    pairs: tuple[Pair, ...]
    baselines: Mapping[str, float]
    tuned: TunedBackoff
    best_known: float
    evaluations: int
    equal_seconds: float
    smallest_p: float

    @property
    def evaluations_max(self) -> int:
        """So many some runs have: beyond `evaluations`, their champions cost more than others."""
        return max(run.evaluations for method in self.methods for run in method.runs)


@dataclass(frozen=True)
class Standing:
    """The whole contest.

    Attributes:
        cases: the workloads.
        overall: every two methods over these workloads, each seed of each counting once.
        blocks: so many workloads and seeds there are, at most, of any two methods.
        share: of the best known that `reached_after` asks for.
        missing: runs of the sweep that are not finished, and not counted.
    """

    cases: tuple[CaseStanding, ...]
    overall: tuple[Pair, ...]
    blocks: int
    share: float
    missing: int

    def as_dict(self) -> dict[str, Any]:
        """The whole as JSON values."""
        return asdict(self)


def stand(
    entrants: Sequence[Entrant],
    fresh: Mapping[str, Fresh],
    share: float,
    missing: int,
) -> Standing:
    """Work out a contest.

    Args:
        entrants: the finished runs; at least one.
        fresh: what was measured anew in each case.
        share: of the best known, to which evaluations are counted.
        missing: runs that are not finished.
    """
    cases = [_case(name, runs, fresh[name], share) for name, runs in by_case(entrants).items()]
    blocks: dict[tuple[str, int], dict[str, float]] = {}
    for case in cases:
        for method in case.methods:
            for run in method.runs:
                blocks.setdefault((case.case, run.seed), {})[method.method] = run.score
    overall = tuple(compare_blocks(list(blocks.values())))
    return Standing(tuple(cases), overall, len(blocks), share, missing)


def _case(name: str, entrants: Sequence[Entrant], fresh: Fresh, share: float) -> CaseStanding:
    evaluations, seconds = in_common(entrants)
    best_known = max([*fresh.tables.values(), *fresh.baselines.values()], default=0.0)
    methods = []
    for method, runs in by_method(entrants).items():
        standings = [
            _run(entrant, fresh, share * best_known, evaluations, seconds) for entrant in runs
        ]
        methods.append(MethodStanding(method, tuple(standings)))
    methods.sort(key=lambda method: -method.score.median)
    counts = sorted(len(method.runs) for method in methods)
    return CaseStanding(
        case=name,
        methods=tuple(methods),
        overtakings=tuple(overtaking(methods[0], other) for other in methods[1:]),
        pairs=tuple(compare_runs({m.method: [r.score for r in m.runs] for m in methods})),
        baselines=fresh.baselines,
        tuned=fresh.tuned,
        best_known=best_known,
        evaluations=evaluations,
        equal_seconds=seconds,
        smallest_p=smallest_p(counts[-1], counts[-2]) if len(counts) > 1 else 1.0,
    )


def overtaking(best: MethodStanding, other: MethodStanding) -> Overtaking:
    """How soon the best method has what another one ends with.

    Each run counts with all of its evaluations, also beyond those that all methods have, and with
    its champion, which may be another than its last incumbent: that is how methods of unlike
    budgets are compared.
    """
    score = other.score.median
    spent = statistics.median(run.evaluations for run in other.runs)
    found = [_first_with(score, run) for run in best.runs]
    after = _median_spent(found)
    return Overtaking(
        method=other.method,
        score=score,
        spent=spent,
        first=_median_spent([_first_with(score, run) for run in other.runs]),
        after=after,
        runs=sum(one is not None for one in found),
        share=None if after is None else after / spent,
    )


def _first_with(score: float, run: RunStanding) -> float | None:
    """The evaluations after which a run first had so much; None if it never had, or of nothing."""
    if not score:
        return None
    steps = (*run.fresh_curve.steps, (float(run.evaluations), run.score))
    return Curve(steps).reaches(score, run.evaluations)


def _median_spent(evaluations: Sequence[float | None]) -> float | None:
    """The median of what runs took to come somewhere, None if they did not."""
    median = statistics.median(math.inf if one is None else one for one in evaluations)
    return None if math.isinf(median) else median


def _run(
    entrant: Entrant,
    fresh: Fresh,
    target: float,
    evaluations: int,
    seconds: float,
) -> RunStanding:
    incumbents = [
        (best, fresh.tables.get(entrant.name_of(best.vector))) for best in entrant.incumbents
    ]
    measured = [(best, score) for best, score in incumbents if score is not None]
    curve = Curve(tuple((float(best.evaluations), score) for best, score in measured))
    over_time = Curve(tuple((best.seconds, score) for best, score in measured))
    champion = entrant.champion
    # What its search saw is in units of the constant that it found itself.
    unit = fresh.references[entrant.reference]
    return RunStanding(
        method=entrant.method,
        seed=entrant.seed,
        run=entrant.name,
        origin=None if champion is None else champion.origin,
        score=0.0 if champion is None else fresh.tables[entrant.name_of(champion.vector)],
        trained=entrant.trained * unit,
        area=curve.area(evaluations),
        reached_after=curve.reaches(target, evaluations),
        at_equal_time=over_time.at(seconds),
        seconds=entrant.seconds,
        evaluations=entrant.evaluations,
        refused=entrant.refused,
        trained_curve=Curve(
            tuple((float(best.evaluations), best.fitness * unit) for best in entrant.incumbents)
        ),
        fresh_curve=curve,
    )
