"""A workload that goes on and on, under whatever policy a watched file holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from envs.errors import MeasuringError
from envs.evaluator import Evaluator
from envs.policy_watcher import PolicyWatcher
from envs.result import Result
from envs.subject import Subject, of_policy

SLICE_S = 1.0
"""The longest run, seconds: a native protocol gives way to a policy with the next run."""

LEFT_S = 1e-6
"""Less than this is no time left to run."""


@dataclass
class Report:
    """What was done in some consecutive runs.

    Attributes:
        policies: names of what ran, in order.
        seconds: that were run.
        commits: transactions committed.
        aborts: attempts aborted.
    """

    policies: list[str] = field(default_factory=list)
    seconds: float = 0.0
    commits: int = 0
    aborts: int = 0

    @property
    def throughput(self) -> float:
        """Commits a second."""
        return self.commits / self.seconds if self.seconds else 0.0

    @property
    def abort_rate(self) -> float:
        """Aborted attempts ÷ all attempts, 0..1."""
        attempts = self.commits + self.aborts
        return self.aborts / attempts if attempts else 0.0

    def add(self, result: Result) -> None:
        """Count a run."""
        self.seconds += result.duration_s
        self.commits += result.commits
        self.aborts += sum(each.aborts for each in result.types.values())


@dataclass(frozen=True)
class Reloaded:
    """The database had grown by so many bytes, and is loaded anew."""

    grown_bytes: int


def serve(
    evaluator: Evaluator,
    watcher: PolicyWatcher,
    fallback: Subject,
    *,
    seed: int,
    report_seconds: float,
    seconds: float | None = None,
    grown_bytes_max: int,
) -> Iterator[Report | Reloaded]:
    """Run the workload on one database, run after run; within a run the watcher switches.

    Args:
        evaluator: on real cores; the watcher's session.
        watcher: gives the policy.
        fallback: what runs until there is a policy.
        seed: of the first run's inputs; the next one's is one more.
        report_seconds: of running, between two reports.
        seconds: of running in all; None: for ever.
        grown_bytes_max: growth after which the database is loaded anew.

    Raises:
        MeasuringError: a run failed under `fallback`. A published policy with which one fails is
            refused, and the one before it goes on.
        KeyboardInterrupt: Ctrl-C; what was done until then is reported first.
    """
    left = float("inf") if seconds is None else seconds
    report, until_report = Report(), report_seconds
    subject: Subject | None = None
    while left > LEFT_S:
        if evaluator.grown_bytes > grown_bytes_max:
            yield Reloaded(evaluator.grown_bytes)
            evaluator.close()
        length = min(SLICE_S, until_report, left)
        served = watcher.served
        new = fallback if served is None else of_policy(served.name, served.text)
        if new != subject or not report.policies:
            report.policies.append(new.name)
        subject = new
        try:
            report.add(evaluator.run(subject, length, warmup=0.0, seed=seed))
        except KeyboardInterrupt as interrupted:
            cut_short = getattr(interrupted, "result", None)
            if cut_short is not None:
                report.add(cut_short)
            if report.seconds:
                yield report
            raise
        except MeasuringError as error:
            if served is None:
                raise
            watcher.refuse(served, str(error))  # the next run is under the policy before
            continue
        seed += 1
        left -= length
        until_report -= length
        if until_report <= LEFT_S or left <= LEFT_S:
            yield report
            report, until_report = Report(), report_seconds
