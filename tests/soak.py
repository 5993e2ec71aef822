"""The long runs: too long for `make test`, run by `make soak`.

Consistency: TPC-C under every native protocol, every seed and random tables, on as many workers as
cores and on many more, each on a database of its own; after each run the conditions of clause
3.3.2 must hold. Memory: a workload that deletes as many rows as it inserts, and whose database must
not grow once it has found its size. Exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

from rich.console import Console
from rich.progress import Progress

from envs import Evaluator, MeasuringError, subject_of
from envs.baselines import native_subjects
from policies import seed_names

CHURN = {
    "name": "ycsb",
    "index": "ordered",
    "records": "100000",
    "read": "40",
    "rmw": "10",
    "scan": "10",
    "insert": "20",
    "delete": "20",
}
"""Inserts and deletes in equal shares, with scans over them."""
STRETCH_SECONDS = 10.0
"""The memory in use is read after stretches of this length."""
GROWTH_MAX = 32 << 20
"""Bytes by which the database may wander once a tenth of the run is over."""


@dataclass(frozen=True)
class Case:
    """One run: what on, under what, for how long. The last but for churn is checked afterwards."""

    kind: str
    policy: str
    workers: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.kind} {self.policy}, {self.workers} workers, {self.seconds:g} s"


@dataclass(frozen=True)
class Verdict:
    """How it went.

    Attributes:
        case: the run.
        figures: what it did, in words.
        faults: what was wrong; empty if nothing was.
    """

    case: Case
    figures: str
    faults: tuple[str, ...]


def consistency(case: Case) -> Verdict:
    """Run TPC-C, then check it."""
    evaluator = Evaluator({"name": "tpcc"}, cores=case.workers)
    subject = subject_of(case.policy, evaluator.signature, lambda: 1.0)
    try:
        result = evaluator.run(subject, case.seconds, warmup=0.0, seed=1, check=True)
    except MeasuringError as error:
        return Verdict(case, "stopped", (str(error),))
    faults = result.violations.copy()
    idle = [name for name, of_type in result.types.items() if of_type.commits == 0]
    faults += [f"{name} committed nothing" for name in idle]
    evaluator.close()
    figures = f"{result.commits:,} commits, {100 * result.abort_rate:.1f} % aborts"
    return Verdict(case, figures, tuple(faults))


def churn(case: Case) -> Verdict:
    """Run inserts and deletes in stretches, and watch the memory in use."""
    evaluator = Evaluator(CHURN, cores=case.workers, grown_bytes_max=sys.maxsize)
    subject = subject_of(case.policy, evaluator.signature, lambda: 1.0)
    stretches = max(2, round(case.seconds / STRETCH_SECONDS))
    grown: list[int] = []
    commits = 0
    for stretch in range(stretches):
        result = evaluator.run(subject, case.seconds / stretches, warmup=0.0, seed=stretch)
        commits += result.commits
        grown.append(evaluator.grown_bytes)
    settled = grown[max(0, stretches // 10 - 1)]
    excess = max(grown) - settled
    evaluator.close()
    faults = () if excess <= GROWTH_MAX else (f"grew by {excess >> 20} MiB after settling",)
    figures = f"{commits:,} commits, grown by {settled >> 20} MiB, then by {excess >> 10} KiB more"
    return Verdict(case, figures, faults)


def cases(arguments: argparse.Namespace) -> Iterator[tuple[Case, ...]]:
    """Two rounds: first what may share the cores, then what is watched for its memory."""
    tables = [*seed_names(), *(f"random:{seed}" for seed in range(arguments.random))]
    names = [*native_subjects(), *(name for name in tables if not name.endswith(":SEED"))]
    yield tuple(
        Case("tpcc", name, workers, arguments.seconds)
        for name, workers in itertools.product(names, arguments.workers)
    )
    yield tuple(
        Case("churn", name, 2, arguments.memory_seconds)
        for name in arguments.memory_policies
        if arguments.memory_seconds > 0
    )


def soak(batch: Sequence[Case], jobs: int, console: Console) -> int:
    """Run the cases, `jobs` at once; returns how many failed."""
    failed = 0
    with (
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool,
        Progress(console=console, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("soak", total=len(batch))
        runs = {pool.submit(churn if case.kind == "churn" else consistency, case) for case in batch}
        for done in as_completed(runs):
            verdict = done.result()
            failed += bool(verdict.faults)
            mark = "[red]FAILED[/]" if verdict.faults else "ok"
            progress.console.print(
                f"{mark:6} {verdict.case}: {verdict.figures}", highlight=False, soft_wrap=True
            )
            for fault in verdict.faults[:10]:
                progress.console.print(
                    f"       {fault}", highlight=False, markup=False, soft_wrap=True
                )
            progress.advance(task)
    return failed


def main() -> int:
    """Read the command line, run, sum up."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each TPC-C run (60)")
    parser.add_argument("--random", type=int, default=50, help="random tables (50)")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[2, 8], help="of the TPC-C runs (2 8)"
    )
    parser.add_argument("--memory-seconds", type=float, default=600.0, help="0 leaves them out")
    parser.add_argument("--memory-policies", nargs="+", default=["silo", "ic3"], help="(silo ic3)")
    parser.add_argument("--jobs", type=int, default=2, help="TPC-C runs at once (2)")
    console = Console()
    arguments = parser.parse_args()
    failed = sum(soak(batch, arguments.jobs, console) for batch in cases(arguments) if batch)
    console.print("nothing failed" if failed == 0 else f"{failed} runs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
