"""Compare policies by interleaved repeats in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

from envs.errors import Interrupted, MeasuringError
from envs.host import Host, disturbance_warning, machine_warnings, this_host
from envs.memory import gib
from envs.metrics import METRICS
from envs.mix import Overdue, Shortfall, overdue, shortfalls, summed_counts
from envs.objective import THROUGHPUT, Limit, Objective
from envs.ratio_interval import mean_ratio
from envs.result import Arrivals, Machine, Result
from envs.round import Outcome, RunRound, finished
from envs.subject import Subject
from envs.type_result import Latency
from policies.protocol import EXTERNAL

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ComparisonPlan:
    """The measurements of a comparison.

    Attributes:
        seconds: length of a run in seconds.
        repeats: minimum number of runs of each policy.
        warmup: unmeasured seconds before each run.
        repeats_max: maximum number of runs, if `compare` may stop early; 0 means `repeats`.
        objective: what policies are compared by.
    """

    seconds: float
    repeats: int
    warmup: float
    repeats_max: int = 0
    objective: Objective = THROUGHPUT

    @property
    def analyses(self) -> tuple[int, ...]:
        """The numbers of repeats after which `compare` may stop, each twice the one before.

        With `repeats=1` there is no further repeat.
        """
        found = [self.repeats]
        while 1 < found[-1] < self.repeats_max:
            found.append(min(2 * found[-1], self.repeats_max))
        return tuple(found)


@dataclass
class Row:
    """The runs of one policy in a comparison, and their summary.

    Attributes:
        subject: the protocol or policy that ran.
        repeats: its runs, in order.
        ratios: its value of the objective divided by the first policy's in the same repeat, by
            repeat.
    """

    subject: Subject
    repeats: list[Result] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    @property
    def throughput(self) -> float:
        """Median of `Result.fitness` over the repeats, in commits per second."""
        return statistics.median(result.fitness for result in self.repeats)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile of the throughput, in commits per second."""
        values = [result.fitness for result in self.repeats]
        if len(values) == 1:
            return values[0], values[0]
        first, _, third = statistics.quantiles(values, n=4, method="inclusive")
        return first, third

    @property
    def spread(self) -> float | None:
        """Half the interquartile range relative to the median; None for a single run."""
        if len(self.repeats) == 1:
            return None
        low, high = self.quartiles
        return (high - low) / 2 / self.throughput if self.throughput else 0.0

    @property
    def ratio(self) -> float | None:
        """Median of `ratios`; None without a pair."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def abort_rate(self) -> float:
        """Median over the repeats of aborted attempts divided by all attempts, 0 to 1."""
        return statistics.median(result.abort_rate for result in self.repeats)

    @property
    def arrivals(self) -> Arrivals | None:
        """Median of each figure over the repeats in an open loop; None for a closed one."""
        runs = [result.arrivals for result in self.repeats if result.arrivals is not None]
        if not runs:
            return None
        return Arrivals(
            offered=statistics.median(run.offered for run in runs),
            backlog=statistics.median_high(run.backlog for run in runs),
            lag_us=statistics.median(run.lag_us for run in runs),
            idle_s=statistics.median(run.idle_s for run in runs),
        )

    @property
    def kept_up(self) -> float | None:
        """Median of `Result.kept_up` over the repeats that have one."""
        return _median(result.kept_up for result in self.repeats)

    @property
    def busy(self) -> float | None:
        """Median of `Result.busy` over the repeats that have one."""
        return _median(result.busy for result in self.repeats)

    @property
    def types(self) -> list[str]:
        """Names of the transaction types, in the engine's order."""
        return list(self.repeats[0].types)

    @property
    def machine(self) -> Machine:
        """The machine that the runs were made on."""
        return self.repeats[0].machine

    def throughput_of(self, type_name: str) -> float:
        """Return the median throughput of one transaction type, in commits per second."""
        return statistics.median(r.types[type_name].throughput for r in self.repeats)

    def commits_of(self, type_name: str) -> int:
        """Return the commits of one transaction type, summed over the repeats."""
        return sum(result.types[type_name].commits for result in self.repeats)

    @property
    def shortfalls(self) -> list[Shortfall]:
        """The types that commit too rarely for the workload's mix, over all repeats.

        See `envs.mix`.
        """
        types = summed_counts([result.types for result in self.repeats])
        return shortfalls(types, sum(result.duration_s for result in self.repeats))

    @property
    def overdue(self) -> list[Overdue]:
        """The types with an overdue transaction at the end of a repeat (`envs.mix.overdue`).

        Each is of the repeat with its oldest one. Empty in an open loop, where ages count from the
        arrival: there the lag tells.
        """
        oldest: dict[str, Overdue] = {}
        for result in self.repeats:
            if result.arrivals is not None:
                continue
            for one in overdue(result.types, result.duration_s):
                known = oldest.get(one.type_name)
                if known is None or one.age_us > known.age_us:
                    oldest[one.type_name] = one
        return sorted(oldest.values(), key=lambda one: -one.age_us)

    def latency_of(self, type_name: str) -> Latency | None:
        """Return the latency of one transaction type, in µs.

        Each figure is the median over the repeats in which the type commits. None if it commits in
        no repeat.
        """
        found = (result.types[type_name].latency_us for result in self.repeats)
        runs = [latency for latency in found if latency is not None]
        if not runs:
            return None
        return Latency(
            **{
                name: statistics.median(getattr(latency, name) for latency in runs)
                for name in Latency.__dataclass_fields__
                if name != "norms"
            },
            norms={
                power: statistics.median(latency.norms[power] for latency in runs)
                for power in runs[0].norms
                if all(power in latency.norms for latency in runs)
            },
        )

    def figure(self, metric: str) -> float | None:
        """Return a metric of all transactions: the median over the repeats that have it."""
        return _median(METRICS[metric].of_result(result) for result in self.repeats)

    def limited_figure(self, limit: Limit) -> float | None:
        """Return the figure that a limit bounds; None if it is unknown in some repeat."""
        found = [limit.measured(result) for result in self.repeats]
        return None if None in found else _median(found)

    def limits_exceeded(self, objective: Objective) -> list[Limit]:
        """Return the limits of an objective that the policy exceeds, on the median repeat."""
        return [
            limit
            for limit in objective.limits
            if statistics.median(limit.ratio(result) for result in self.repeats) > 1.0
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON values, as `heddle evaluate` writes it."""
        low, high = self.quartiles
        open_loop: dict[str, Any] = {}
        if self.arrivals is not None:
            figures = asdict(self.arrivals)
            open_loop["arrivals"] = figures | {"kept_up": self.kept_up, "busy": self.busy}
        return {
            "policy": self.subject.name,
            "throughput": self.throughput,
            "throughput_quartiles": [low, high],
            "ratio_to_first": self.ratio,
            "throughput_by_type": {name: self.throughput_of(name) for name in self.types},
            "commits_by_type": {name: self.commits_of(name) for name in self.types},
            "left_out": [asdict(shortfall) for shortfall in self.shortfalls],
            "overdue": [asdict(one) for one in self.overdue],
            "abort_rate": self.abort_rate,
            "all_types": {name: self.figure(name) for name in ("mean", "l2", "cv")},
            "latency_us": {name: _main_figures(self.latency_of(name)) for name in self.types},
            **open_loop,
            "machine": self.machine.as_dict(),
            "protocol": self.subject.protocol,
            "options": dict(self.subject.options),
            "backoff": self.subject.backoff,
            "backoff_us": self.subject.backoff_us if self.subject.backoff == "static" else None,
            "repeats": [result.as_dict() for result in self.repeats],
        }

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Row:
        """Read the JSON values that `as_dict` returns. The ratios stay empty.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: the values have another form.
        """
        subject = Subject(
            str(source["policy"]),
            str(source["protocol"]),
            backoff=str(source["backoff"]),
            backoff_us=float(source["backoff_us"] or 0.0),
            options={str(name): str(value) for name, value in source.get("options", {}).items()},
        )
        repeats = [Result.from_dict(entry) for entry in source["repeats"]]
        if not repeats:
            raise ValueError(f"{subject.name} has no run")
        return cls(subject, repeats)


@dataclass
class Comparison:
    """The result of a comparison.

    Attributes:
        rows: one row per policy with a finished run, in the order of the subjects.
        interrupted: whether Ctrl-C ended the comparison.
        violations: violated consistency conditions, one line each.
        seconds: requested length of a run in seconds; None if unknown.
        host: the machine and build that the figures are from; None if unknown.
        objective: what the policies were compared by.
    """

    rows: list[Row]
    interrupted: bool = False
    violations: list[str] = field(default_factory=list)
    seconds: float | None = None
    host: Host | None = None
    objective: Objective = THROUGHPUT

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, one sentence each."""
        if not self.rows:
            return []
        machine, host = self.rows[0].machine, self.host or Host()
        short = self._short_of_memory()
        disturbed = disturbance_warning(self.others, machine)
        takes_turns = any(row.subject.protocol != EXTERNAL for row in self.rows)
        found = [*machine_warnings(machine, host, takes_turns), disturbed, short]
        return [warning for warning in found if warning is not None]

    @property
    def others(self) -> float | None:
        """Cores that other programs used during the runs, on average; None if unknown."""
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
            f"{len(short)} of {len(runs)} runs were shortened, the shortest to {shortest:.2g} s, "
            f"to avoid running out of memory: the database grew by up to {gib(pace)} a second; "
            f"use run.seconds={shortest:.1g}, or a machine with more memory"
        )

    @property
    def best_rows(self) -> list[Row]:
        """The rows with the highest throughput, several if they are equal.

        A policy that left a type out of the mix is considered only if every policy did. Empty if
        nothing committed.
        """
        moving = [row for row in self.rows if row.throughput > 0]
        kept = [row for row in moving if not row.shortfalls] or moving
        highest = max((row.throughput for row in kept), default=0.0)
        return [row for row in kept if row.throughput == highest]

    @property
    def ranked(self) -> list[Row]:
        """The rows by throughput, best first, with those that left a type out at the end."""
        return sorted(self.rows, key=lambda row: (bool(row.shortfalls), -row.throughput))

    def row(self, name: str) -> Row | None:
        """Return the row of a policy, None if it has none."""
        return next((row for row in self.rows if row.subject.name == name), None)

    def scores(self, name: str) -> dict[str, float]:
        """Return a policy's value of the objective relative to each other policy's, by name.

        A score is the geometric mean of `ratios`.
        """
        found = self.ratios(name)
        return {other: mean_ratio(ratios) for other, ratios in found.items()}

    def ratios(self, name: str) -> dict[str, list[float]]:
        """Return a policy's value of the objective ÷ each other policy's, by name and repeat.

        Repeats in which the other policy's value is 0 are left out.
        """
        own = self.row(name)
        if own is None:
            return {}
        others = [row for row in self.rows if row is not own]
        found = {row.subject.name: paired_ratios(own, row, self.objective) for row in others}
        return {other: ratios for other, ratios in found.items() if ratios}

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Comparison:
        """Read the JSON values that `as_dict` returns.

        Of a policy only its name and backoff are read, not its table.

        Raises:
            ValueError: the values have another form or schema version; the message says where.
        """
        try:
            version = source["schema_version"]
            if version != SCHEMA_VERSION:
                raise ValueError(
                    f"schema_version {version!r:.40}; this version reads {SCHEMA_VERSION}"
                )
            rows = [Row.from_dict(entry) for entry in source["results"]]
            host = Host.from_dict(source["host"]) if source.get("host") else None
            violations = [str(line) for line in source["violations"]]
            interrupted = bool(source["interrupted"])
            seconds = source.get("seconds")
            seconds = None if seconds is None else float(seconds)
            objective = Objective.from_dict(source.get("objective", THROUGHPUT.as_dict()))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a comparison: {type(error).__name__}: {error}") from error
        for row in rows:
            row.ratios = paired_ratios(row, rows[0], objective)
        return cls(rows, interrupted, violations, seconds, host, objective)

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """Return the JSON document that `heddle evaluate output=FILE` writes.

        Args:
            **more: further top-level fields.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            **more,
            "seconds": self.seconds,
            **({} if self.objective == THROUGHPUT else {"objective": self.objective.as_dict()}),
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
    """Compare policies: every repeat runs all of them once, in a new order.

    The runs of a repeat share their inputs, and ratios are taken within a repeat, so that drift of
    the machine affects all policies equally.

    Ctrl-C ends the comparison and keeps the finished runs. An unfinished run counts only for a
    policy that has no other one.

    Consistency is checked in every repeat that may be the last, so not in a comparison that Ctrl-C
    ended. After a violation there are no further repeats. A policy that fails after its first run
    keeps its runs and is left out of later repeats; the failure counts as a violation. If its first
    run failed with a result, it keeps that result.

    Args:
        run_round: measures the subjects of a repeat.
        subjects: protocols and policies to compare; ratios are relative to the first.
        plan: the measurements to make.
        seed: seed of the inputs and of the order.
        on_slice: called after every run.
        enough: called after each of `plan.analyses` but the last; True ends the comparison.

    Returns:
        One row per policy, with the warnings and violations of all runs.

    Raises:
        MeasuringError: the first run of a policy failed without a result.
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
                if isinstance(outcome, MeasuringError):
                    _keep_only_run(row, outcome.result)
                if isinstance(outcome, MeasuringError) and row.repeats:
                    # Keep hours of earlier runs: memory may have been too small for the check only.
                    failed.add(id(row))
                    begun = "" if last else f"failed in repeat {repeat + 1}, and "
                    violations.append(f"{row.subject.name}: {begun}could not be checked: {outcome}")
                    continue
                result = finished(outcome)
                violations += _attributed_violations(row.subject, subjects, result)
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
        row.ratios = paired_ratios(row, rows[0], plan.objective)
    measured = [row for row in rows if row.repeats]
    return Comparison(measured, interrupted, violations, plan.seconds, this_host(), plan.objective)


def paired_ratios(row: Row, other: Row, objective: Objective = THROUGHPUT) -> list[float]:
    """Return one policy's value of the objective ÷ another's, for every repeat that both have."""
    reference = {result.seed: objective.value(result) for result in other.repeats}
    return [
        objective.value(result) / reference[result.seed]
        for result in row.repeats
        if reference.get(result.seed, 0.0) > 0.0
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
        if stop.index is not None:
            _keep_only_run(rows[stop.index], stop.result)
        raise


def _keep_only_run(row: Row, cut_short: Result | None) -> None:
    """Keep a run that ended early if its policy has no other one."""
    if not row.repeats and cut_short is not None and cut_short.commits:
        row.repeats.append(cut_short)


def _attributed_violations(
    subject: Subject, subjects: Sequence[Subject], result: Result
) -> list[str]:
    """Return the violations, with the subject where its run had a database of its own.

    If the isolation level of subjects permits them, the first names these, and counts the others.
    """
    own = result.machine.kind == "virtual"
    prefix = f"{subject.name}: " if own else ""
    permitted = [
        f"isolation={one.weaker_isolation} of {one.name}"
        for one in ([subject] if own else subjects)
        if one.weaker_isolation is not None
    ]
    if not permitted or not result.violations:
        return [f"{prefix}{violation}" for violation in result.violations]
    first, others = result.violations[0], len(result.violations) - 1
    more = f"; {others} more" if others else ""
    return [f"{prefix}{first}{more} (permitted by {' and '.join(permitted)})"]


def _median(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return statistics.median(known) if known else None


def _main_figures(latency: Latency | None) -> Mapping[str, float | dict[str, float]] | None:
    if latency is None:
        return None
    return {
        "mean": latency.mean,
        "p50": latency.p50,
        "p90": latency.p90,
        "p99": latency.p99,
        "p999": latency.p999,
        "max": latency.max,
        "norms": latency.norms,
    }
