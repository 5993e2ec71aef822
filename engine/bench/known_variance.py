"""Checks on real cores that a step with a random delay of known variance is found first.

    python -m engine.bench.known_variance --access payment.insert_history

The accesses of one state are delayed for a random time from 0 to the longest delay, whose variance
is the square of the longest delay ÷ 12. `heddle variance machine=threads` does the rest. Each round
opens a database of its own.

The delays are long compared with the time for which the kernel preempts a thread, which is some ms
on a busy machine and counts for the step as well.
"""

from __future__ import annotations

import argparse
from statistics import quantiles

from envs import Evaluator, subject_of, untuned
from envs.recorded_events import RecordedEvents, Selection
from trainer.variance.factors import Factor, top_factors
from trainer.variance.refinement import refined_profile

MOST_EVENTS = 2_000_000


def first_factor(arguments: argparse.Namespace, seed: int) -> Factor:
    """Returns the first factor of the delayed type."""
    workload = dict(option.split("=", 1) for option in arguments.workload)
    kind, access = arguments.access.split(".")
    plain = Evaluator(workload, arguments.cores)
    states = range(len(plain.signature.accesses))
    (state,) = (
        state
        for state in states
        if plain.signature.type_of(state).name == kind
        and plain.signature.accesses[state].name == access
    )
    plain.close()
    machine = {
        "kind": "threads",
        "delay_state": str(state),
        "delay_every": "1",
        "delay_us": str(arguments.delay_us),
    }
    delayed = Evaluator(workload, arguments.cores, machine=machine)

    def record(selection: Selection) -> RecordedEvents:
        subject = subject_of(arguments.policy, delayed.signature, untuned)
        return delayed.record_events(
            subject,
            arguments.seconds,
            warmup=0.1,
            seed=seed,
            events=MOST_EVENTS,
            selection=selection,
        )

    profile = refined_profile(record, arguments.share, k=5, d=0.01)
    delayed.close()
    return top_factors(profile.types[kind].tree, 5, 0.01)[0]


def main() -> None:
    """Checks, and prints each round and the ratios."""
    parser = argparse.ArgumentParser(description="Checks that a known variance is found.")
    parser.add_argument("workload", nargs="*", default=["name=tpcc", "warehouses=2"])
    parser.add_argument("--access", default="payment.insert_history")
    parser.add_argument("--policy", default="silo")
    parser.add_argument("--delay-us", type=float, default=20_000.0)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    known = arguments.delay_us**2 / 12
    ratios = []
    for number in range(arguments.rounds):
        factor = first_factor(arguments, number + 1)
        ratios.append(factor.contribution / known)
        print(f"{factor.words}: {factor.contribution:,.0f} µs², {ratios[-1]:.3f} of the known one")
    quarter, median, three_quarters = quantiles(ratios, n=4)
    print(f"{median:.3f} ({quarter:.3f} to {three_quarters:.3f})")


if __name__ == "__main__":
    main()
