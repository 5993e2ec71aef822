"""Comparing policies side by side: interleaved repeats in one run, and what they add up to."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

from envs.errors import Interrupted, MeasuringError
from envs.host import Host, disturbance_warning, machine_warnings, this_host
from envs.memory import gib
from envs.mix import Shortfall, shortfalls, summed_counts
from envs.ratio_interval import mean_ratio
from envs.result import Arrivals, Machine, Result
from envs.round import Outcome, RunRound, finished
from envs.subject import Subject
from envs.type_result import Latency

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ComparisonPlan:
    """How much a comparison measures.

    Attributes:
        seconds: length of one run.
        repeats: runs of each policy, at least.
        warmup: unmeasured seconds before each run.
        repeats_max: at most, where it is asked whether there are enough; 0 = `repeats`.
    """

    seconds: float
    repeats: int
    warmup: float
    repeats_max: int = 0

    @property
    def analyses(self) -> tuple[int, ...]:
        """After how many repeats it is asked whether there are enough: doubled each time.

        A single repeat is not gone on with: whoever asks for one wants no more.
        """
        found = [self.repeats]
        while 1 < found[-1] < self.repeats_max:
            found.append(min(2 * found[-1], self.repeats_max))
        return tuple(found)


@dataclass
class Row:
    """One policy's runs, and their summary.

    Attributes:
        subject: what ran.
        repeats: its runs, in order.
        ratios: per repeat, its throughput ÷ the first policy's in the same repeat.
    """

    subject: Subject
    repeats: list[Result] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    @property
    def throughput(self) -> float:
        """Median over the repeats, commits a second (`Result.fitness`)."""
        return statistics.median(result.fitness for result in self.repeats)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile of the throughput."""
        values = [result.fitness for result in self.repeats]
        if len(values) == 1:
            return values[0], values[0]
        first, _, third = statistics.quantiles(values, n=4, method="inclusive")
        return first, third

    @property
    def spread(self) -> float | None:
        """Half the distance between the quartiles, relative to the median; None of one run."""
        if len(self.repeats) == 1:
            return None
        low, high = self.quartiles
        return (high - low) / 2 / self.throughput if self.throughput else 0.0

    @property
    def ratio(self) -> float | None:
        """Median ratio to the first policy, paired by repeat; None without a pair."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def abort_rate(self) -> float:
        """Aborted attempts ÷ all attempts, median over the repeats."""
        return statistics.median(result.abort_rate for result in self.repeats)

    @property
    def arrivals(self) -> Arrivals | None:
        """In an open loop, each figure's median over the repeats."""
        runs = [result.arrivals for result in self.repeats if result.arrivals is not None]
        if not runs:
            return None
        return Arrivals(
            offered=statistics.median(one.offered for one in runs),
            backlog=statistics.median_high(one.backlog for one in runs),
            lag_us=statistics.median(one.lag_us for one in runs),
            idle_s=statistics.median(one.idle_s for one in runs),
        )

    @property
    def kept_up(self) -> float | None:
        """`Result.kept_up`, its median over the repeats that have one."""
        return _median(result.kept_up for result in self.repeats)

    @property
    def busy(self) -> float | None:
        """`Result.busy`, likewise."""
        return _median(result.busy for result in self.repeats)

    @property
    def types(self) -> list[str]:
        """The transaction types, in the engine's order."""
        return list(self.repeats[0].types)

    @property
    def machine(self) -> Machine:
        """Where it ran."""
        return self.repeats[0].machine

    def throughput_of(self, type_name: str) -> float:
        """Median throughput of one type, commits a second."""
        return statistics.median(r.types[type_name].throughput for r in self.repeats)

    def commits_of(self, type_name: str) -> int:
        """Commits of one type, in all repeats."""
        return sum(result.types[type_name].commits for result in self.repeats)

    @property
    def shortfalls(self) -> list[Shortfall]:
        """The types that it left out of the workload's mix, over all repeats; see `envs.mix`."""
        types = summed_counts([result.types for result in self.repeats])
        return shortfalls(types, sum(result.duration_s for result in self.repeats))

    def latency_of(self, type_name: str) -> Latency | None:
        """Latency of one type, µs: each figure's median over the repeats in which it commits.

        None if it does in none.
        """
        found = (result.types[type_name].latency_us for result in self.repeats)
        runs = [latency for latency in found if latency is not None]
        if not runs:
            return None
        return Latency(
            **{
                name: statistics.median(getattr(latency, name) for latency in runs)
                for name in Latency.__dataclass_fields__
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """The row as `heddle evaluate` writes it."""
        low, high = self.quartiles
        of_open_loop: dict[str, Any] = {}
        if self.arrivals is not None:
            told = asdict(self.arrivals)
            of_open_loop["arrivals"] = told | {"kept_up": self.kept_up, "busy": self.busy}
        return {
            "policy": self.subject.name,
            "throughput": self.throughput,
            "throughput_quartiles": [low, high],
            "ratio_to_first": self.ratio,
            "throughput_by_type": {name: self.throughput_of(name) for name in self.types},
            "commits_by_type": {name: self.commits_of(name) for name in self.types},
            "left_out": [asdict(one) for one in self.shortfalls],
            "abort_rate": self.abort_rate,
            "latency_us": {name: _main_figures(self.latency_of(name)) for name in self.types},
            **of_open_loop,
            "machine": self.machine.as_dict(),
            "protocol": self.subject.protocol,
            "backoff": self.subject.backoff,
            "backoff_us": self.subject.backoff_us if self.subject.backoff == "static" else None,
            "repeats": [result.as_dict() for result in self.repeats],
        }

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Row:
        """Read what `as_dict` gives, but for the ratios, which take another row.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: it is not of that form.
        """
        subject = Subject(
            str(source["policy"]),
            str(source["protocol"]),
            backoff=str(source["backoff"]),
            backoff_us=float(source["backoff_us"] or 0.0),
        )
        repeats = [Result.from_dict(entry) for entry in source["repeats"]]
        if not repeats:
            raise ValueError(f"{subject.name} has no run")
        return cls(subject, repeats)


@dataclass
class Comparison:
    """Every policy's row.

    Attributes:
        rows: in the order asked for; those without a finished run are left out.
        interrupted: whether Ctrl-C cut it short.
        violations: consistency violations found in the database afterwards.
        seconds: of a run, as it was asked for; None: not known.
        host: the machine underneath; None: not known.
    """

    rows: list[Row]
    interrupted: bool = False
    violations: list[str] = field(default_factory=list)
    seconds: float | None = None
    host: Host | None = None

    @property
    def warnings(self) -> list[str]:
        """What makes the figures doubtful, one sentence each."""
        if not self.rows:
            return []
        machine, host = self.rows[0].machine, self.host or Host()
        short = self._short_of_memory()
        disturbed = disturbance_warning(self.others, machine)
        found = [*machine_warnings(machine, host), disturbed, short]
        return [one for one in found if one is not None]

    @property
    def others(self) -> float | None:
        """Processors' time that other programs used meanwhile; None: not known."""
        known = [
            (result.others, result.duration_s)
            for row in self.rows
            for result in row.repeats
            if result.others is not None
        ]
        seconds = sum(duration for _, duration in known)
        return sum(busy * duration for busy, duration in known) / seconds if seconds else None

    def _short_of_memory(self) -> str | None:
        runs = [result for row in self.rows for result in row.repeats]
        short = [result for result in runs if result.short_of_memory]
        if not short:
            return None
        shortest = min(result.duration_s for result in short)
        pace = max((result.grown_bytes or 0) / result.duration_s for result in short)
        return (
            f"{len(short)} of {len(runs)} runs were made shorter, the shortest {shortest:.2g} s, "
            f"because memory would have run out: the database grew by up to {gib(pace)} a second; "
            f"use run.seconds={shortest:.1g}, or a machine with more memory"
        )

    @property
    def best_rows(self) -> list[Row]:
        """The rows with the highest throughput: one, or several that are equal.

        Throughput without the slow type is not the best there is, though it may be the highest: a
        policy that left a type out takes part only where all did. Empty if nothing committed.
        """
        moving = [row for row in self.rows if row.throughput > 0]
        kept = [row for row in moving if not row.shortfalls] or moving
        highest = max((row.throughput for row in kept), default=0.0)
        return [row for row in kept if row.throughput == highest]

    @property
    def ranked(self) -> list[Row]:
        """The rows, best first: those that left a type out come after those that kept the mix."""
        return sorted(self.rows, key=lambda row: (bool(row.shortfalls), -row.throughput))

    def row(self, name: str) -> Row | None:
        """The row of a policy, if it has one."""
        return next((row for row in self.rows if row.subject.name == name), None)

    def scores(self, name: str) -> dict[str, float]:
        """A policy's throughput relative to each other one: the geometric mean of `ratios`."""
        found = self.ratios(name)
        return {other: mean_ratio(ratios) for other, ratios in found.items()}

    def ratios(self, name: str) -> dict[str, list[float]]:
        """A policy's throughput ÷ each other one's, by repeat; of none that committed nothing."""
        mine = self.row(name)
        if mine is None:
            return {}
        others = [row for row in self.rows if row is not mine]
        found = {row.subject.name: paired_ratios(mine, row) for row in others}
        return {other: ratios for other, ratios in found.items() if ratios}

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Comparison:
        """Read what `as_dict` gives; of a policy, its name and backoff are kept and not its table.

        Raises:
            ValueError: it is not of that form, or of another version; the message says where.
        """
        try:
            version = source["schema_version"]
            if version != SCHEMA_VERSION:
                raise ValueError(
                    f"schema_version {version!r:.40}; this version reads {SCHEMA_VERSION}"
                )
            rows = [Row.from_dict(entry) for entry in source["results"]]
            host = Host.from_dict(source["host"]) if source.get("host") else None
            violations = [str(one) for one in source["violations"]]
            interrupted = bool(source["interrupted"])
            seconds = source.get("seconds")
            seconds = None if seconds is None else float(seconds)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no comparison: {type(error).__name__}: {error}") from error
        for row in rows:
            row.ratios = paired_ratios(row, rows[0])
        return cls(rows, interrupted, violations, seconds, host)

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """The JSON document that `heddle evaluate output=FILE` writes, with further fields."""
        return {
            "schema_version": SCHEMA_VERSION,
            **more,
            "seconds": self.seconds,
            **({} if self.host is None else {"host": self.host.as_dict()}),
            "warnings": self.warnings,
            "interrupted": self.interrupted,
            "violations": self.violations,
            "results": [row.as_dict() for row in self.rows],
        }


def compare(
    run_round: RunRound,
    subjects: Sequence[Subject],
    plan: ComparisonPlan,
    seed: int,
    on_slice: Callable[[Subject, Result], None] = lambda subject, result: None,
    enough: Callable[[Comparison], bool] = lambda comparison: True,
) -> Comparison:
    """Measure policies in turns: every repeat runs all of them once, in a new order.

    A repeat's runs share their inputs, and ratios are taken within a repeat, so that drift of the
    machine falls on all alike. Ctrl-C ends the comparison and keeps what was measured; a run that
    was cut short counts only for a policy that has no other. A policy that fails after it has run
    takes part no longer, and keeps its runs. Consistency is checked in every repeat that may be the
    last one, and so not in a comparison that was cut short; that a policy failed, and so was not
    checked, counts as a violation. After one there are no further repeats.

    Args:
        run_round: measures the subjects of a repeat.
        subjects: what to compare; the first is what ratios are taken to.
        plan: how much to measure.
        seed: of the inputs and of the order.
        on_slice: called after every run.
        enough: whether what was measured by one of `plan.analyses` is; the last always is.

    Raises:
        MeasuringError: a policy can't run, not even once.
    """
    rows = [Row(subject) for subject in subjects]
    violations: list[str] = []
    order = Random(seed)
    interrupted = False
    failed: set[int] = set()
    try:
        for repeat in range(plan.analyses[-1]):
            shuffled = [row for row in order.sample(rows, len(rows)) if id(row) not in failed]
            if not shuffled:
                break
            last = repeat + 1 in plan.analyses
            for row, outcome in _repeat(run_round, shuffled, plan, seed + repeat, check=last):
                if isinstance(outcome, MeasuringError) and row.repeats:
                    # Hours of the others and its own are worth keeping, perhaps there was no room
                    # for the check alone.
                    failed.add(id(row))
                    begun = "" if last else f"failed in repeat {repeat + 1}, and "
                    violations.append(f"{row.subject.name}: {begun}could not be checked: {outcome}")
                    continue
                result = finished(outcome)
                violations += _attributed_violations(row.subject, result)
                row.repeats.append(replace(result, violations=[]))
                on_slice(row.subject, result)
            if last and (violations or enough(_summarize(rows, plan, interrupted, violations))):
                break
    except KeyboardInterrupt:
        interrupted = True
    return _summarize(rows, plan, interrupted, violations)


def _summarize(
    rows: Sequence[Row], plan: ComparisonPlan, interrupted: bool, violations: list[str]
) -> Comparison:
    for row in rows:
        row.ratios = paired_ratios(row, rows[0])
    measured = [row for row in rows if row.repeats]
    return Comparison(measured, interrupted, violations, plan.seconds, this_host())


def paired_ratios(row: Row, other: Row) -> list[float]:
    """Throughput of one policy ÷ another's, for every repeat that both have."""
    beside = {result.seed: result.fitness for result in other.repeats}
    return [
        result.fitness / beside[result.seed]
        for result in row.repeats
        if beside.get(result.seed, 0.0) > 0.0
    ]


def _repeat(
    run_round: RunRound, rows: Sequence[Row], plan: ComparisonPlan, seed: int, *, check: bool
) -> Iterator[tuple[Row, Outcome]]:
    subjects = [row.subject for row in rows]
    try:
        for index, outcome in run_round(
            subjects, plan.seconds, warmup=plan.warmup, seed=seed, check=check
        ):
            yield rows[index], outcome
    except Interrupted as stop:
        if stop.index is not None and stop.result is not None and stop.result.commits:
            row = rows[stop.index]
            if not row.repeats:
                row.repeats.append(stop.result)
        raise


def _attributed_violations(subject: Subject, result: Result) -> list[str]:
    """Whose violations they are: on virtual cores each run had a database of its own."""
    blame = f"{subject.name}: " if result.machine.kind == "virtual" else ""
    return [f"{blame}{one}" for one in result.violations]


def _median(figures: Iterable[float | None]) -> float | None:
    there = [figure for figure in figures if figure is not None]
    return statistics.median(there) if there else None


def _main_figures(latency: Latency | None) -> Mapping[str, float] | None:
    if latency is None:
        return None
    return {
        "mean": latency.mean,
        "p50": latency.p50,
        "p90": latency.p90,
        "p99": latency.p99,
        "p999": latency.p999,
        "max": latency.max,
    }
