r"""Throughput of this engine beside another build or another engine, alternated in one run.

    python engine/bench/side_by_side.py build/bench/bench/heddle_run_workload \
        --other before=OTHER_BUILD/bench/heddle_run_workload --rounds 15

A machine changes its pace while one measures: figures of different minutes can't be divided by one
another. Each round runs every engine once, every other round in the opposite order; what is printed
are medians and quartiles, of throughputs and of the ratio within a round.

`--other NAME=PATH` is another build of `heddle_run_workload`. `--other NAME=COMMAND`, with blanks
in it, is another engine, which its user has built: {warehouses}, {threads} and {seconds} are filled
in. --pattern finds the throughput in what it prints; it is multiplied by --factor, where its clock
runs at another rate than it believes. What the other engine leaves out of a transaction is for the
reader to know.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

YCSB = ["name=ycsb", "operations=16", "read=50", "rmw=50", "records=1000000", "record_bytes=100"]


@dataclass(frozen=True)
class Cell:
    """One workload with a number of threads: a column of the table."""

    workload: list[str]
    threads: int

    @property
    def warehouses(self) -> str:
        """Returns how many warehouses it has; 0 where there are none."""
        option = next((word for word in self.workload if word.startswith("warehouses=")), "=0")
        return option.partition("=")[2]


def _tpcc(mix: str, warehouses: int, threads: int) -> Cell:
    return Cell(["name=tpcc", f"mix={mix}", f"warehouses={warehouses}"], threads)


def _ycsb(index: str, theta: float, threads: int) -> Cell:
    return Cell([*YCSB, f"index={index}", f"theta={theta}"], threads)


CELLS: dict[str, Cell] = {
    **{
        f"tpcc {mix} {warehouses}w {threads}t": _tpcc(mix, warehouses, threads)
        for mix in ("full", "new_order_payment")
        for warehouses, threads in ((1, 1), (1, 2), (2, 2))
    },
    **{
        f"ycsb {index} {theta} {threads}t": _ycsb(index, theta, threads)
        for index in ("hash", "ordered")
        for theta in (0.99, 0)
        for threads in (1, 2)
    },
}


@dataclass(frozen=True)
class Engine:
    """What is run: a build of this engine, or a command of another."""

    name: str
    command: str
    pattern: str = ""
    factor: float = 1.0

    def _filled_in(self, cell: Cell, seconds: float) -> str:
        values = {"warehouses": cell.warehouses, "threads": cell.threads, "seconds": seconds}
        try:
            return self.command.format(**values)
        except (KeyError, IndexError, ValueError):
            names = ", ".join(f"{{{value}}}" for value in values)
            raise SystemExit(f"{self.name}: what can be filled in is {names}") from None

    def throughput(self, cell: Cell, seconds: float, protocol: str) -> float:
        """Returns the transactions a second of one run. SystemExit with its words if it fails."""
        if " " in self.command:
            words = shlex.split(self._filled_in(cell, seconds))
        else:
            run = [f"protocol={protocol}", f"workers={cell.threads}", f"seconds={seconds}"]
            words = [self.command, *cell.workload, "--", *run, "warmup=0.1"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            raise SystemExit(f"{self.name}: {words[0]}: {error.strerror}") from None
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(words)}: exit code {done.returncode}\n{done.stderr}")
        if " " not in self.command:
            return float(json.loads(done.stdout)["throughput"])
        found = re.search(self.pattern, done.stdout + done.stderr)
        if found is None:
            raise SystemExit(f"{shlex.join(words)}: prints nothing like {self.pattern!r}")
        return float(found.group(1).replace(",", "")) * self.factor


def _spread(values: list[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def measure(cell: Cell, engines: list[Engine], arguments: argparse.Namespace) -> list[list[float]]:
    """Returns the throughputs of each engine, round by round."""
    found: list[list[float]] = [[] for _ in engines]
    for round_ in range(arguments.rounds):
        order = range(len(engines)) if round_ % 2 == 0 else reversed(range(len(engines)))
        for at in order:
            found[at].append(engines[at].throughput(cell, arguments.seconds, arguments.protocol))
    return found


def _engine(text: str, pattern: str, factor: float) -> Engine:
    name, equals, command = text.partition("=")
    if not equals or not command:
        raise SystemExit(f"--other {text}: NAME=PATH or NAME=COMMAND is wanted")
    if " " in command and not pattern:
        raise SystemExit(f"--other {name}: give --pattern, which finds its throughput")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise SystemExit(f"--pattern {pattern}: {error}") from None
    if pattern and groups != 1:
        raise SystemExit(f"--pattern {pattern}: one group is wanted, around the number")
    return Engine(name, command, pattern, factor)


def main() -> None:
    """Measures cell after cell, prints a row for each engine in each, and leaves."""
    parser = argparse.ArgumentParser(description="Throughput beside another engine, alternated.")
    parser.add_argument("binary", type=Path, help="heddle_run_workload")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PATH|COMMAND")
    parser.add_argument("--pattern", default="", help="a regular expression with one group")
    parser.add_argument("--factor", type=float, default=1.0, help="of what the pattern finds")
    parser.add_argument("--protocol", default="silo")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    arguments = parser.parse_args()
    if not any(arguments.only in name for name in CELLS):
        raise SystemExit(f"--only {arguments.only}: the cells are {', '.join(CELLS)}")
    if arguments.rounds < 2:
        raise SystemExit("--rounds: at least 2, or there is no spread")
    others = [_engine(text, arguments.pattern, arguments.factor) for text in arguments.other]
    engines = [Engine("this", str(arguments.binary)), *others]
    for name, cell in CELLS.items():
        if arguments.only not in name:
            continue
        found = measure(cell, engines, arguments)
        for engine, values in zip(engines, found, strict=True):
            ratios = [mine / its for mine, its in zip(found[0], values, strict=True)]
            beside = "" if engine is engines[0] else f"  this ÷ it: {_spread(ratios, 3)}"
            print(f"{name:28} {engine.name:12} {_spread(values, 0):36}{beside}", flush=True)


if __name__ == "__main__":
    main()
