"""Measures SmallBank through psycopg, with and without the client library's order.

    python -m engine.bench.client --place /var/tmp
    python -m engine.bench.client --place /var/tmp --processes 4

The threads of one or several processes run transactions on a private PostgreSQL server, at
SERIALIZABLE and durable, each until it has committed. A sweep finds the best number of transactions
at a time and the best backoff without an order. Then settings alternate in rounds, every other
round reversed.
Ratios are medians over rounds. A run whose balances do not add up ends the command.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from itertools import product
from statistics import median, quantiles

from engine.bench.client.arguments import count, existing_folder, seconds
from engine.bench.client.closed_loop import Counts, Setting, run
from engine.bench.client.processes import run_in_processes
from engine.bench.client.server import private_server
from engine.bench.client.smallbank import inputs, load, money
from heddle_client import Policy

CONCURRENCY = (4, 8, 16)
BACKOFFS_MS = (0.0, 0.5, 1.0, 2.0)


def fifo_settings(threads: int) -> list[Setting]:
    """Return what the sweep compares."""
    bounds = [bound for bound in CONCURRENCY if bound <= threads] or [threads]
    return [
        Setting(f"fifo, {bound} at a time, {backoff} ms", Policy("fifo", bound), backoff_ms=backoff)
        for bound, backoff in product(bounds, BACKOFFS_MS)
    ]


def ordered_settings(processes: int) -> list[Setting]:
    """Return what the best of the sweep is compared with."""
    if processes > 1:
        return [
            Setting(
                f"{policy.mode}, {policy.concurrency} at a time, {words}", policy, server=server
            )
            for policy in (Policy("smf", 4), Policy("smf", 8), Policy("locks", 16))
            for server, words in ((False, "a queue each"), (True, "a server"))
        ]
    smf = [Setting(f"smf, {bound} at a time", Policy("smf", bound)) for bound in (4, 8)]
    locks = Policy("locks", 16)
    merged = [
        Setting("smf, 1 group of 16", Policy("smf", 1, merge=16)),
        Setting("locks, 2 groups of 8", Policy("locks", 2, merge=8)),
    ]
    return [
        *smf,
        Setting("locks, 16 at a time", locks),
        Setting("locks, READ COMMITTED", locks, "READ COMMITTED"),
        *merged,
    ]


class Bench:
    """A loaded server, and inputs that differ between rounds but not between settings."""

    def __init__(self, address: str, arguments: argparse.Namespace) -> None:
        self._address = address
        self._arguments = arguments
        load(address, arguments.accounts)

    def measure(self, setting: Setting, seconds: float, turn: int) -> Counts:
        """Run a setting.

        Raises:
            SystemExit: the balances do not add up.
        """
        given = self._arguments
        work = [
            inputs(turn * given.threads + thread, given.accounts, given.hot_accounts)
            for thread in range(given.threads)
        ]
        before = money(self._address)
        if given.processes > 1:
            shares = [work[number :: given.processes] for number in range(given.processes)]
            counts = run_in_processes(self._address, setting, shares, seconds)
        else:
            counts = run(self._address, setting, work, seconds)
        after = money(self._address)
        if after != before + counts.change:
            raise SystemExit(
                f"{setting.name}: the balances sum to {after}, but the transactions that have "
                f"committed make it {before + counts.change}: updates are lost"
            )
        return counts


def best_fifo(bench: Bench, arguments: argparse.Namespace) -> Setting:
    """Return the setting of the sweep with the highest median throughput."""
    settings = fifo_settings(arguments.threads)
    rates: dict[str, list[float]] = {setting.name: [] for setting in settings}
    for turn in range(arguments.sweep_rounds):
        for setting in settings[:: 1 if turn % 2 == 0 else -1]:
            counts = bench.measure(setting, arguments.sweep_seconds, 1_000 + turn)
            rates[setting.name].append(counts.commits / counts.seconds)
    for name, values in rates.items():
        print(f"  {name:34}{median(values):8.0f}/s", flush=True)
    return max(settings, key=lambda setting: median(rates[setting.name]))


def table(rounds: dict[str, list[Counts]], baseline: str) -> str:
    """Return the figures of all settings, and their ratios to one of them within a round."""
    lines = [
        f"{'setting':38}{'commits/s':>10}{'±':>6}{'ratio':>7}{'aborted':>9}{'p99 ms':>8}"
        f"{'CPU µs':>8}{'CPU':>6}"
    ]
    rate = {name: [one.commits / one.seconds for one in runs] for name, runs in rounds.items()}
    for name, runs in rounds.items():
        values = rate[name]
        ratios = [value / base for value, base in zip(values, rate[baseline], strict=True)]
        commits = sum(one.commits for one in runs)
        aborts = sum(one.aborts for one in runs)
        cpu = sum(one.cpu_seconds for one in runs)
        spread = (max(values) - min(values)) / 2 / median(values)
        p99 = median(quantiles(one.latencies, n=100)[98] for one in runs)
        lines.append(
            f"{name:38}{median(values):10.0f}{spread:6.0%}{median(ratios):7.2f}"
            f"{aborts / (commits + aborts):9.1%}{1e3 * p99:8.0f}{1e6 * cpu / commits:8.0f}"
            f"{cpu / sum(one.seconds for one in runs):6.2f}"
        )
    return "\n".join(lines)


def main(typed: Sequence[str] | None = None) -> None:
    """Run the command."""
    words, _, text = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m engine.bench.client",
        description=words,
        epilog=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--place", type=existing_folder, help="folder for the server; one on a disk"
    )
    parser.add_argument("--threads", type=count, default=16, help="threads, each with a connection")
    parser.add_argument("--processes", type=count, default=1, help="that share the threads")
    parser.add_argument("--accounts", type=count, default=100_000, help="number of accounts")
    parser.add_argument("--hot-accounts", type=count, default=10, help="accounts of 90 %% of them")
    parser.add_argument("--rounds", type=count, default=5, help="rounds of the comparison")
    parser.add_argument("--seconds", type=seconds, default=2.0, help="length of a run")
    parser.add_argument("--sweep-rounds", type=count, default=2, help="rounds of the sweep")
    parser.add_argument("--sweep-seconds", type=seconds, default=0.8, help="length of its runs")
    arguments = parser.parse_args(typed)
    if arguments.hot_accounts > arguments.accounts:
        parser.error("argument --hot-accounts: must be at most --accounts")
    if arguments.processes > arguments.threads:
        parser.error("argument --processes: must be at most --threads")
    # A pipeline reports each abort, which costs time.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    with private_server(arguments.place) as address:
        bench = Bench(address, arguments)
        print("without an order:", flush=True)
        settings = [best_fifo(bench, arguments), *ordered_settings(arguments.processes)]
        rounds: dict[str, list[Counts]] = {setting.name: [] for setting in settings}
        for turn in range(arguments.rounds):
            for setting in settings[:: 1 if turn % 2 == 0 else -1]:
                rounds[setting.name].append(bench.measure(setting, arguments.seconds, turn))
        print(f"\n{table(rounds, settings[0].name)}")


if __name__ == "__main__":
    main()
