"""Measuring the policy published after a night on the peak hour of the next day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import date
from statistics import fmean
from typing import Any

from envs import (
    Comparison,
    Evaluator,
    Subject,
    machine_words,
    of_policy,
    subject_of,
    untuned,
)
from policies import Signature, to_json
from traces.reader import Trace
from traces.replay.part import choose_part
from traces.statistics.busiest_row import busiest_row
from trainer.config import HeldOutConfig, TrainConfig, workload_options
from trainer.evaluation.measure import tune_silo
from trainer.nightly.conditions import Conditions
from trainer.nightly.judge import CANDIDATE, judge
from trainer.nightly.measuring import measure_rounds
from trainer.nightly.state import Publication
from trainer.progress import Display

FALLBACK = "silo"
"""The policy that runs if none is published, as in `heddle serve`."""

LOST = ("waiting", "wasted", "backoff")
"""The parts of a core's time that conflicts cost (`Result.time_s`)."""


@dataclass(frozen=True)
class NextDay:
    """The published policy on a day's whole peak hour.

    Attributes:
        day: the day (UTC).
        hours: its peak hour.
        requests: the number of requests in it.
        conflict_rate: its conflict rate, 0 to 1.
        rounds: the number of comparisons.
        served: the policy, for display, or `silo`, which also runs if the policy does not fit.
        digest: of the policy; None if `silo` ran.
        best: the fastest baseline.
        ratio: throughput of the published policy relative to the best baseline's.
        low: the lower end of the interval.
        high: the upper end of the interval.
        throughput: of each policy, commits per second.
        abort_rate: of each policy, aborted attempts over all, 0 to 1.
        time: of each policy, the shares of the cores' time by name.
        busiest_table: of the row that most transactions write; "" if none is written.
        busiest_share: the share of transactions that write that row, 0 to 1.
        alone_us: duration of a transaction on a single core, µs, under `silo`.
        machine: the machine, for display.
    """

    day: date
    hours: str
    requests: int
    conflict_rate: float
    rounds: int
    served: str
    digest: str | None
    best: str
    ratio: float
    low: float
    high: float
    throughput: dict[str, float]
    abort_rate: dict[str, float]
    time: dict[str, dict[str, float]]
    busiest_table: str
    busiest_share: float
    alone_us: float
    machine: str

    @property
    def busiest_every_us(self) -> float | None:
        """The interval between writes of the busiest row under the best baseline, µs, or None."""
        writes = self.throughput[self.best] * self.busiest_share
        return 1e6 / writes if writes else None

    @property
    def to_conflicts(self) -> float:
        """The share of the cores' time that the best baseline lost to conflicts, 0 to 1."""
        return sum(self.time[self.best].get(kind, 0.0) for kind in LOST)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"day": self.day.isoformat()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> NextDay:
        """Create it from the result of `as_dict`.

        Raises:
            KeyError, TypeError, ValueError: `found` is no such result.
        """
        return cls(**{**found, "day": date.fromisoformat(found["day"])})


def measure_next_day(
    config: TrainConfig,
    trace: Trace,
    conditions: Conditions,
    served: Publication | None,
    signature: Signature,
    rounds: int,
    held_out: HeldOutConfig,
    display: Display,
) -> NextDay:
    """Measure the published policy and the baselines on a whole peak hour.

    The backoff of `silo_tuned` is tuned on that same hour: this baseline knows the day.

    Args:
        config: all settings; its workload is of that day.
        trace: the trace.
        conditions: of the day.
        served: the published policy; None if there is none.
        signature: of the workload.
        rounds: the number of comparisons, each with its own schedule.
        held_out: the confidence of the interval.
        display: shows the progress.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        MeasuringError: a policy can't run.
    """
    if served is not None and served.document.signature != signature:
        served = None
    whole = replace(config, workload=config.workload | {"hours": conditions.hours})
    with closing(_evaluator(whole, config.machine.cores)) as evaluator:
        tuned = tune_silo(evaluator.run_round, config.tuning, config.seed, display)
    subjects = [
        _subject_of(served, signature),
        *(subject_of(name, signature, lambda: tuned) for name in config.baselines),
    ]
    comparisons = measure_rounds(whole, rounds, subjects, display)
    verdict = judge(comparisons, held_out, config.seed)
    standing = verdict.decisive
    row = busiest_row(trace, choose_part(trace, f"{conditions.day}", conditions.hours))
    names = [subject.name for subject in subjects]
    return NextDay(
        day=conditions.day,
        hours=conditions.hours,
        requests=conditions.requests,
        conflict_rate=conditions.conflict_rate,
        rounds=rounds,
        served=served.words if served else FALLBACK,
        digest=served.digest if served else None,
        best=standing.name,
        ratio=standing.ratio,
        low=standing.low,
        high=standing.high,
        throughput=verdict.throughput,
        abort_rate={name: _abort_rate(name, comparisons) for name in names},
        time={name: _time_shares(name, comparisons) for name in names},
        busiest_table=row.table if row else "",
        busiest_share=row.share if row else 0.0,
        alone_us=_alone_us(whole, signature),
        machine=machine_words(verdict.machine),
    )


def _subject_of(served: Publication | None, signature: Signature) -> Subject:
    if served is None:
        return replace(subject_of(FALLBACK, signature, untuned), name=CANDIDATE)
    return of_policy(CANDIDATE, to_json(served.document))


def _evaluator(config: TrainConfig, cores: int | None) -> Evaluator:
    machine = config.machine.options()
    return Evaluator(workload_options(config.workload), cores, machine=machine, seed=config.seed)


def _alone_us(config: TrainConfig, signature: Signature) -> float:
    """Return the duration of a transaction without conflicts, in the workload's mix, µs."""
    subject = subject_of(FALLBACK, signature, untuned)
    with closing(_evaluator(config, 1)) as evaluator:
        much = config.run
        alone = evaluator.run(subject, much.seconds, warmup=much.warmup, seed=config.seed)
    return 1e6 / alone.fitness if alone.fitness else 0.0


def _abort_rate(name: str, comparisons: Sequence[Comparison]) -> float:
    rows = [comparison.row(name) for comparison in comparisons]
    return fmean(row.abort_rate for row in rows if row is not None)


def _time_shares(name: str, comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Return the shares of the time, over all rounds and repeats."""
    spent: dict[str, float] = {}
    for comparison in comparisons:
        row = comparison.row(name)
        for result in row.repeats if row is not None else []:
            for kind, seconds in result.time_s.items():
                spent[kind] = spent.get(kind, 0.0) + seconds
    total = sum(spent.values()) or 1.0
    return {kind: seconds / total for kind, seconds in spent.items()}
