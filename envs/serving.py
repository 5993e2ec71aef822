"""Run a workload continuously under the policy of a watched file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from envs.errors import MeasuringError
from envs.evaluator import Evaluator
from envs.policy_watcher import PolicyWatcher
from envs.result import Result
from envs.subject import Subject, of_policy

SLICE_S = 1.0
"""Maximum length of a run in seconds. A native protocol is replaced only between two runs."""

LEFT_S = 1e-6
"""Time in seconds that is too short for another run."""


@dataclass
class Report:
    """The summary of consecutive runs of `serve`.

    Attributes:
        policies: names of the policies that ran, in order.
        seconds: total length of the runs in seconds.
        commits: committed transactions.
        aborts: aborted attempts.
    """

    policies: list[str] = field(default_factory=list)
    seconds: float = 0.0
    commits: int = 0
    aborts: int = 0

    @property
    def throughput(self) -> float:
        """Commits per second."""
        return self.commits / self.seconds if self.seconds else 0.0

    @property
    def abort_rate(self) -> float:
        """Aborted attempts divided by all attempts, 0 to 1."""
        attempts = self.commits + self.aborts
        return self.aborts / attempts if attempts else 0.0

    def add(self, result: Result) -> None:
        """Add the counts of a run."""
        self.seconds += result.duration_s
        self.commits += result.commits
        self.aborts += sum(each.aborts for each in result.types.values())


@dataclass(frozen=True)
class Reloaded:
    """The database has grown too much and is reloaded.

    Attributes:
        grown_bytes: growth of the database in bytes.
    """

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
    """Run the workload repeatedly under the watcher's policy, and report.

    A new policy takes effect within a run. If a run fails under a published policy, the watcher
    refuses the policy and the previous one is used again.

    Args:
        evaluator: an evaluator on real cores, which is the watcher's session.
        watcher: a watcher that has been entered.
        fallback: the subject to run before the first policy.
        seed: seed of the first run's inputs; each further run adds 1.
        report_seconds: running time between two reports, in seconds.
        seconds: total running time in seconds; None without a limit.
        grown_bytes_max: growth in bytes after which the database is reloaded.

    Yields:
        A report after every `report_seconds` and at the end, and `Reloaded` before a reload.

    Raises:
        MeasuringError: a run failed under `fallback`.
        KeyboardInterrupt: Ctrl-C, after a last report.
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
            watcher.refuse(served, str(error))  # the next run uses the previous policy
            continue
        seed += 1
        left -= length
        until_report -= length
        if until_report <= LEFT_S or left <= LEFT_S:
            yield report
            report, until_report = Report(), report_seconds
