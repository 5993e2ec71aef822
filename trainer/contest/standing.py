"""The results of a contest: the methods' figures on each workload, and significant differences."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from envs import TunedBackoff
from envs.objective import THROUGHPUT, Objective
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
    """Scores of a case, measured again, relative to `silo_tuned`.

    Attributes:
        tuned: the backoff of `silo_tuned`.
        tables: of the runs, by `Entrant.name_of`.
        baselines: by name.
        references: of the runs' own references, each measured as in its search.
        objective: what scores compare.
    """

    tuned: TunedBackoff
    tables: Mapping[str, float]
    baselines: Mapping[str, float]
    references: Mapping[Reference, float]
    objective: Objective = THROUGHPUT


@dataclass(frozen=True)
class RunStanding:
    """A run, measured again.

    Attributes:
        method: its search, with its swept settings.
        seed: its seed.
        run: its folder, relative to that of its sweep.
        origin: of its champion; None if its search found no usable table.
        score: the champion's score, measured again; 0 without one.
        trained: the score that the search measured in its short runs, converted to the contest's
            unit by the score of the search's reference in runs of that length.
        area: the mean over the evaluations of the incumbent's score, measured again.
        reached_after: evaluations until the set share of the best known score; None if never.
        at_equal_time: the incumbent's score, measured again, when the fastest run had ended.
        seconds: the duration of its search.
        evaluations: charged to it.
        refused: candidates that failed the check.
        trained_curve: (evaluations, fitness as measured by the search) of each incumbent.
        fresh_curve: the same, measured again.
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
        """The relative loss of the score from the search's measurement to the new one."""
        return 1.0 - self.score / self.trained if self.trained else 0.0


@dataclass(frozen=True)
class MethodStanding:
    """A method on a workload, over its independent runs."""

    method: str
    runs: tuple[RunStanding, ...]

    @property
    def score(self) -> Spread:
        """The scores of the champions, measured again."""
        return Spread.of([run.score for run in self.runs])

    @property
    def area(self) -> Spread:
        """The areas below the curves of the incumbents, measured again."""
        return Spread.of([run.area for run in self.runs])

    @property
    def drop(self) -> Spread:
        """The relative losses of the champions' scores."""
        return Spread.of([run.drop for run in self.runs])

    @property
    def at_equal_time(self) -> float:
        """The median score when the fastest run had ended."""
        return statistics.median(run.at_equal_time for run in self.runs)

    @property
    def seconds(self) -> float:
        """The median duration of its searches."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def unsuccessful(self) -> int:
        """The number of runs without a usable table."""
        return sum(run.origin is None for run in self.runs)

    @property
    def reached(self) -> int:
        """The number of runs that reached the set share of the best known score."""
        return sum(run.reached_after is not None for run in self.runs)

    @property
    def reached_after(self) -> float | None:
        """The median of the evaluations to that share; None if half of the runs never had it."""
        return _median_spent([run.reached_after for run in self.runs])


@dataclass(frozen=True)
class Overtaking:
    """The evaluations of the best method until it has the final score of another one.

    Attributes:
        method: the other method.
        score: its final score, measured again: the median of its runs.
        spent: the evaluations of its runs, the median.
        first: evaluations until it first had that score itself: the median of its runs; None if
            half of them never had. If early, it has not improved since.
        after: the same for the best method; None as well if the final score is 0.
        runs: the number of runs of the best method that reached that score.
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
    """The results on a workload.

    Attributes:
        case: its name.
        methods: best first, by the median score.
        overtakings: of every other method by the best.
        pairs: of methods.
        baselines: their scores, measured again.
        tuned: the backoff of `silo_tuned`, the unit of scores.
        best_known: the best score of any measured table.
        evaluations: the number that all runs have; curves end there.
        equal_seconds: the duration of the fastest run.
        smallest_p: the smallest p possible with this number of runs.
        objective: what scores compare.
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
    objective: Objective = THROUGHPUT

    @property
    def evaluations_max(self) -> int:
        """The most evaluations of a run. Beyond `evaluations`, its champion has a higher cost."""
        return max(run.evaluations for method in self.methods for run in method.runs)


@dataclass(frozen=True)
class Standing:
    """The results of a contest.

    Attributes:
        cases: the workloads.
        overall: the pairs of methods over these workloads, each seed of each counted once.
        blocks: the maximum number of workloads and seeds that two methods share.
        share: of the best known score, for `reached_after`.
        missing: unfinished runs of the sweep, which are not counted.
    """

    cases: tuple[CaseStanding, ...]
    overall: tuple[Pair, ...]
    blocks: int
    share: float
    missing: int

    def as_dict(self) -> dict[str, Any]:
        """Return all results as JSON values."""
        return asdict(self)


def stand(
    entrants: Sequence[Entrant],
    fresh: Mapping[str, Fresh],
    share: float,
    missing: int,
) -> Standing:
    """Compute the results of a contest.

    Args:
        entrants: the finished runs; at least one.
        fresh: the scores of each case, measured again.
        share: of the best known score, for `reached_after`.
        missing: the number of unfinished runs.
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
        objective=fresh.objective,
    )


def overtaking(best: MethodStanding, other: MethodStanding) -> Overtaking:
    """Compute how soon the best method has the final score of another one.

    Each run counts with all of its evaluations, also beyond those that all methods have, and with
    its champion, which may differ from its last incumbent. So methods with different budgets are
    comparable.
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
        runs=sum(evaluations is not None for evaluations in found),
        share=None if after is None else after / spent,
    )


def _first_with(score: float, run: RunStanding) -> float | None:
    """Return the evaluations until a run first had a score; None if never, or for a score of 0."""
    if not score:
        return None
    steps = (*run.fresh_curve.steps, (float(run.evaluations), run.score))
    return Curve(steps).reaches(score, run.evaluations)


def _median_spent(evaluations: Sequence[float | None]) -> float | None:
    """Return the median over the runs, in which None counts as never."""
    median = statistics.median(math.inf if count is None else count for count in evaluations)
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
    # The search's figures are in units of the constant backoff that it tuned itself.
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
