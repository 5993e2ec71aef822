"""Long runs, too long for `make test`; `make soak` runs them.

Histories: trials on virtual cores, of all workloads, protocols, random tables and schedules, until
`--transactions` are checked or the time is over. Consistency: TPC-C under every native protocol,
every seed and random tables, with a worker per core and with many more. Each run has its own
database, which must satisfy the conditions of clause 3.3.2 afterwards. Memory: a workload that
deletes as many rows as it inserts; its database must stop growing. The exit code is 1 if anything
failed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from rich.console import Console
from rich.progress import Progress

from envs import Evaluator, MeasuringError, subject_of, untuned
from envs.baselines import native_subjects
from envs.trial import Trial
from envs.trial_plan import SWITCHING, TrialPlan, core_schedules
from envs.trial_pool import TrialPool
from policies import SEEDS
from policies.protocol import EXTERNAL
from tests.traces.replay.some_programs import day, shop
from tests.traces.synthesis.some_shop import made_up_shop
from traces.reader import open_trace
from traces.replay.make import make_program
from traces.replay.part import choose_part

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
"""The workload of the memory runs: inserts and deletes in equal shares, with scans."""
STRETCH_SECONDS = 10.0
"""The length of stretches, after each of which the memory in use is read."""
CHECKED: dict[str, tuple[dict[str, str], float]] = {
    "generic": ({"name": "generic"}, 0.002),
    "tpcc": ({"name": "tpcc", "mix": "full"}, 0.02),
    "tpce": ({"name": "tpce", "customers": "100", "trade_days": "1"}, 0.01),
    "ycsb": (CHURN | {"records": "2000", "operations": "8"}, 0.01),
    "micro": ({"name": "micro", "records": "5000", "own_records": "500"}, 0.01),
    "smallbank": ({"name": "smallbank", "accounts": "1000"}, 0.01),
    "tpcb": ({"name": "tpcb", "branches": "4", "accounts": "1000"}, 0.01),
    "bomb": ({"name": "bomb", "materials": "500", "trees": "100", "products": "2"}, 0.01),
    "epinions": ({"name": "epinions", "users": "1000", "items": "500"}, 0.01),
    "taobench": ({"name": "taobench", "objects": "500"}, 0.01),
}
"""Workloads whose histories are checked, and the virtual seconds of a trial. `replay` and `shop`
are added, on small traces made for them."""
CORES = 16
"""The cores of the virtual machines."""
FAILED_TRIAL = "counterexample-{}.json"
GROWTH_MAX = 32 << 20
"""The maximum growth of the database in bytes after the first tenth of a run."""


@dataclass(frozen=True)
class Case:
    """A run: its kind, policy, workers and length. All but churn are checked afterwards."""

    kind: str
    policy: str
    workers: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.kind} {self.policy}, {self.workers} workers, {self.seconds:g} s"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a run.

    Attributes:
        case: the run.
        figures: commits and other figures, in words.
        faults: the failures; empty if the run passed.
    """

    case: Case
    figures: str
    faults: tuple[str, ...]


def consistency(case: Case) -> Verdict:
    """Run TPC-C, then check it."""
    evaluator = Evaluator({"name": "tpcc"}, cores=case.workers)
    subject = subject_of(case.policy, evaluator.signature, untuned)
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
    """Run inserts and deletes in stretches, and check that memory stops growing."""
    evaluator = Evaluator(CHURN, cores=case.workers, grown_bytes_max=sys.maxsize)
    subject = subject_of(case.policy, evaluator.signature, untuned)
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


def in_memory() -> list[str]:
    """Return the names of the native protocols that run in the engine's own tables."""
    return [name for name, subject in native_subjects().items() if subject.protocol != EXTERNAL]


def cases(arguments: argparse.Namespace) -> Iterator[tuple[Case, ...]]:
    """Yield two batches: runs that may share the cores, then runs whose memory is measured."""
    tables = [*SEEDS, "tebaldi", *(f"random:{seed}" for seed in range(arguments.random))]
    names = [*in_memory(), *tables]
    yield tuple(
        Case("tpcc", name, workers, arguments.seconds)
        for name, workers in itertools.product(names, arguments.workers)
        if arguments.seconds > 0
    )
    yield tuple(
        Case("churn", name, 2, arguments.memory_seconds)
        for name in arguments.memory_policies
        if arguments.memory_seconds > 0
    )


def soak(batch: Sequence[Case], jobs: int, console: Console) -> int:
    """Run the cases, `jobs` at a time; returns the number of failures."""
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


def check_histories(arguments: argparse.Namespace, console: Console) -> int:
    """Run trials up to the limits; returns the number with findings."""
    folder = Path(mkdtemp(prefix="heddle-soak-"))
    traced = {
        "replay": shop(folder / "replay", *day(transactions=3000, sessions=2 * CORES)),
        "shop": made_up_shop(folder / "shop", requests_per_day=5000),
    }
    checked = CHECKED | {name: (follow(name, trace), 0.005) for name, trace in traced.items()}
    failed = check_trials(checked, arguments, console)
    if failed == 0:  # otherwise a counterexample may need it
        rmtree(folder)
    return failed


def follow(name: str, trace: Path) -> dict[str, str]:
    """Return a workload that follows a whole trace; its program is written next to the trace."""
    program = trace.with_suffix(".program")
    found = open_trace(trace)
    make_program(found, choose_part(found, None, None), program)
    return {"name": name, "program": str(program)}


def check_trials(
    checked: Mapping[str, tuple[dict[str, str], float]],
    arguments: argparse.Namespace,
    console: Console,
) -> int:
    """Run trials of several workloads in turn; returns the number with findings."""
    plans = [
        TrialPlan(
            workload=workload,
            machine={"kind": "virtual"},
            cores=CORES,
            policies=[*in_memory(), "occ", "two_phase_locking_star", "ic3", SWITCHING],
            random=9,
            draw=True,
            schedules=core_schedules(),
            seconds=seconds,
            watchdog_s=0.05,
            seed=arguments.seed,
        )
        for workload, seconds in checked.values()
    ]
    counts: Counter[str] = Counter()
    trials: Counter[str] = Counter()
    failed = 0
    end = time.monotonic() + arguments.check_seconds

    def upcoming() -> Iterator[tuple[int, Trial]]:
        for number in itertools.count():
            if counts.total() >= arguments.transactions or time.monotonic() >= end:
                return
            yield number, plans[number % len(plans)].trial(number // len(plans))

    with TrialPool(arguments.jobs) as pool:
        for number, trial, verdict in pool.run(upcoming()):
            name = trial.workload["name"]
            counts[name] += verdict.transactions
            trials[name] += 1
            if verdict.findings:
                failed += 1
                path = Path(FAILED_TRIAL.format(number))
                path.write_text(trial.to_json(), encoding="utf-8")
                console.print(f"[red]FAILED[/] {name}, {trial.subject.name}: {path}")
                console.print(verdict.findings[0], highlight=False, markup=False)
    for name in checked:
        console.print(
            f"       {name}: {counts[name]:,} transactions checked, {trials[name]:,} trials"
        )
    console.print(f"       {counts.total():,} transactions checked in all")
    return failed


def main() -> int:
    """Read the command line, run, and print a summary."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="length of each TPC-C run (60); 0: none"
    )
    parser.add_argument("--random", type=int, default=50, help="number of random tables (50)")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[2, 8], help="workers of the TPC-C runs (2 8)"
    )
    parser.add_argument(
        "--transactions", type=int, default=100_000_000, help="total to check (100000000)"
    )
    parser.add_argument(
        "--check-seconds", type=float, default=3600.0, help="limit of the check (3600); 0: none"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the trials (1)")
    parser.add_argument(
        "--memory-seconds", type=float, default=600.0, help="length of each (600); 0: none"
    )
    parser.add_argument(
        "--memory-policies", nargs="+", default=["silo", "ic3"], help="policies (silo ic3)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="parallel runs (2)")
    console = Console()
    arguments = parser.parse_args()
    failed = check_histories(arguments, console)
    failed += sum(soak(batch, arguments.jobs, console) for batch in cases(arguments) if batch)
    console.print("nothing failed" if failed == 0 else f"{failed} runs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
