"""Measures what recording the steps of transactions costs on real cores, as a share of throughput.

    python -m engine.bench.recording_cost name=tpcc warehouses=2 --policy silo

Runs alternate: without recording, and recorded as in the two runs of
`heddle variance machine=threads`. The second run has the accesses of all types, which is the most
that it can have. All runs of a round have the same inputs. Rounds reverse the order, so that a
drift of the machine cancels out.

The ratio of the throughputs is printed as median and quartiles. On a busy machine it varies with
the time that the workers get.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from statistics import quantiles

from envs import Evaluator, subject_of, untuned
from envs.recorded_events import Selection

Ratios = dict[str, list[float]]


def measure(arguments: argparse.Namespace) -> Ratios:
    """Returns the ratios of each kind of run to the unrecorded run of its round."""
    ratios: Ratios = {}
    for first in range(1, arguments.rounds + 1, arguments.reopen):
        last = min(first + arguments.reopen, arguments.rounds + 1)
        for name, values in on_new_databases(arguments, range(first, last)).items():
            ratios.setdefault(name, []).extend(values)
    return ratios


def on_new_databases(arguments: argparse.Namespace, rounds: range) -> Ratios:
    """Returns the ratios of some rounds; where a database lies in memory makes a difference."""
    workload = dict(option.split("=", 1) for option in arguments.workload)
    evaluator = Evaluator(workload, arguments.cores)
    subject = subject_of(arguments.policy, evaluator.signature, untuned)

    def unrecorded(seed: int) -> int:
        run = evaluator.run(subject, arguments.seconds, warmup=arguments.warmup, seed=seed)
        return sum(kind.commits for kind in run.types.values())

    def recorded(selection: Selection, seed: int) -> int:
        events = evaluator.record_events(
            subject,
            arguments.seconds,
            warmup=arguments.warmup,
            seed=seed,
            events=arguments.events,
            selection=selection,
        )
        if events.dropped:
            raise SystemExit("the recording was full before the run ended: give less --seconds")
        return sum(events.commits.values())

    kinds: dict[str, Callable[[int], int]] = {
        "unrecorded": unrecorded,
        "first run": lambda seed: recorded(Selection(arguments.share, frozenset()), seed),
        "second run": lambda seed: recorded(Selection(arguments.share), seed),
    }
    unrecorded(0)  # loads the database
    ratios: Ratios = {name: [] for name in kinds if name != "unrecorded"}
    for number in rounds:
        names = list(kinds) if number % 2 == 0 else list(reversed(kinds))
        commits = {name: kinds[name](number) for name in names}
        for name, values in ratios.items():
            values.append(commits[name] / commits["unrecorded"])
    evaluator.close()
    return ratios


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description="Measures the cost of recording on real cores.")
    parser.add_argument("workload", nargs="*", default=["name=tpcc"], help="its options")
    parser.add_argument("--policy", default="silo")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--warmup", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--reopen", type=int, default=5, help="rounds on the same database")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--events", type=int, default=2_000_000)
    print(f"{'relative to unrecorded':24}throughput")
    for name, values in measure(parser.parse_args()).items():
        print(f"{name:24}{spread(values)}")


def spread(values: Sequence[float]) -> str:
    """Returns the median and the quartiles."""
    quarter, median, three_quarters = quantiles(values, n=4)
    return f"{median:.3f} ({quarter:.3f} to {three_quarters:.3f})"


if __name__ == "__main__":
    main()
