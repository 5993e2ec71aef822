r"""Throughput of this engine next to another build or another engine, alternated in one run.

    python engine/bench/side_by_side.py build/bench/bench/heddle_run_workload \
        --other before=OTHER_BUILD/bench/heddle_run_workload --rounds 15

The pace of a machine changes from minute to minute, so figures of different runs can't be divided
by one another. Each round runs every engine once, and every other round in the opposite order. The
table has medians and quartiles, of throughputs and of the ratio within a round.

`--peer NAME=BINARY` is a known engine that its user has built; `--peer list` prints them. The
output ends with what each leaves out of a transaction or does differently.

`--other NAME=PATH` is another build of `heddle_run_workload`. `--other NAME=COMMAND`, with blanks
in it, is any other engine: {warehouses}, {threads} and {seconds} are filled in. --pattern finds the
throughput in its output; the figure is multiplied by --factor, which corrects a clock that assumes
another frequency.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import signal
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.bench.peers import catalog, definition, tsc
else:  # a script imports from its own folder, without the compiled engine
    from peers import catalog, definition, tsc

YCSB = ["name=ycsb", "operations=16", "read=50", "rmw=50", "records=1000000", "record_bytes=100"]
PEER_TRANSACTIONS = 200_000  # per second, for peers that run a number of transactions
LAST_LINES = 5


@dataclass(frozen=True)
class Cell:
    """One workload with a number of threads: a column of the table."""

    name: str
    workload: list[str]
    threads: int

    @property
    def options(self) -> dict[str, str]:
        """Returns the workload's options by name."""
        return dict(word.split("=", 1) for word in self.workload)

    @property
    def warehouses(self) -> str:
        """Returns the number of warehouses; 0 if it has none."""
        return self.options.get("warehouses", "0")


def _tpcc(mix: str, warehouses: int, threads: int) -> Cell:
    workload = ["name=tpcc", f"mix={mix}", f"warehouses={warehouses}"]
    return Cell(f"tpcc {mix} {warehouses}w {threads}t", workload, threads)


def _ycsb(index: str, theta: float, threads: int) -> Cell:
    workload = [*YCSB, f"index={index}", f"theta={theta}"]
    return Cell(f"ycsb {index} {theta} {threads}t", workload, threads)


CELLS: list[Cell] = [
    *(
        _tpcc(mix, warehouses, threads)
        for mix in ("full", "new_order_payment")
        for warehouses, threads in ((1, 1), (1, 2), (2, 2))
    ),
    *(
        _ycsb(index, theta, threads)
        for index in ("hash", "ordered")
        for theta in (0.99, 0)
        for threads in (1, 2)
    ),
]


@dataclass(frozen=True)
class Run:
    """The options of a run, for every engine."""

    seconds: float
    protocol: str
    timeout: float
    tsc_mhz: float | None

    def measured_mhz(self, name: str) -> float:
        """Returns the TSC's frequency. SystemExit naming the engine that needs it."""
        try:
            return self.tsc_mhz or tsc.measured_mhz()
        except tsc.NoTscError as error:
            raise SystemExit(f"{name}: {error}; give --tsc-mhz") from None


class Engine(Protocol):
    """An engine under measurement."""

    @property
    def name(self) -> str:
        """Returns its name in the table."""

    def lacks(self, cell: Cell) -> str:
        """Returns why it doesn't run a cell; empty if it does."""

    def throughput(self, cell: Cell, run: Run) -> float:
        """Returns the transactions per second of one run. SystemExit if it fails."""


def _last_lines(output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return "".join(f"\n  {line}" for line in lines[-LAST_LINES:])


def _kill(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _run(name: str, words: list[str], run: Run, folder: Path | None = None) -> tuple[str, str]:
    """Returns what a command prints on its two outputs. SystemExit if it fails or takes too long.

    The command leads a process group of its own, so that a time-out ends its children, too.
    """
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise SystemExit(f"{name}: {words[0]}: {error.strerror}") from None
    try:
        stdout, stderr = process.communicate(timeout=run.timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        command = shlex.join(words)
        raise SystemExit(f"{name}: {command}: killed after {run.timeout:g} s (--timeout)") from None
    except BaseException:
        _kill(process)
        raise
    if process.returncode != 0:
        ended = (
            f"exit code {process.returncode}"
            if process.returncode > 0
            else f"ended by signal {-process.returncode}"
        )
        raise SystemExit(f"{name}: {shlex.join(words)}: {ended}{_last_lines(stdout + stderr)}")
    return stdout, stderr


@dataclass(frozen=True)
class Build:
    """A build of this engine's `heddle_run_workload`."""

    name: str
    binary: str

    def lacks(self, cell: Cell) -> str:
        """Returns why it doesn't run a cell: it runs all."""
        return ""

    def throughput(self, cell: Cell, run: Run) -> float:
        """Returns the transactions per second of one run."""
        options = [f"protocol={run.protocol}", f"workers={cell.threads}", f"seconds={run.seconds}"]
        words = [self.binary, *cell.workload, "--", *options, "warmup=0.1"]
        stdout, _ = _run(self.name, words, run)
        try:
            return float(json.loads(stdout)["throughput"])
        except (ValueError, KeyError, TypeError):
            raise SystemExit(
                f"{self.name}: {self.binary}: prints no result as heddle_run_workload does"
                f"{_last_lines(stdout)}"
            ) from None


@dataclass(frozen=True)
class Command:
    """A command of another engine."""

    name: str
    command: str
    pattern: str
    factor: float

    def _filled_in(self, cell: Cell, seconds: float) -> str:
        values = {"warehouses": cell.warehouses, "threads": cell.threads, "seconds": seconds}
        try:
            return self.command.format(**values)
        except (KeyError, IndexError, ValueError):
            names = ", ".join(f"{{{value}}}" for value in values)
            raise SystemExit(f"{self.name}: what can be filled in is {names}") from None

    def lacks(self, cell: Cell) -> str:
        """Returns why it doesn't run a cell: the user selects its cells with --only."""
        return ""

    def throughput(self, cell: Cell, run: Run) -> float:
        """Returns the transactions per second of one run."""
        words = shlex.split(self._filled_in(cell, run.seconds))
        output = "".join(_run(self.name, words, run))
        found = re.search(self.pattern, output)
        if found is None:
            raise SystemExit(
                f"{self.name}: {shlex.join(words)}: prints nothing like {self.pattern!r}"
                f"{_last_lines(output)}"
            )
        return float(found.group(1).replace(",", "")) * self.factor


class _Values(dict[str, object]):
    """The values that a peer's arguments can name; the TSC is measured only if one does."""

    def __init__(self, given: catalog.GivenPeer, cell: Cell, run: Run) -> None:
        super().__init__(cell.options)
        self._given, self._run = given, run
        self["threads"] = cell.threads
        self["seconds"] = run.seconds
        self["whole_seconds"] = max(1, math.ceil(run.seconds))
        self["transactions"] = max(1, round(PEER_TRANSACTIONS * run.seconds))

    def __missing__(self, key: str) -> object:
        if key in self._given.peer.files:
            return self._given.file(key)
        mhz = self._run.measured_mhz(self._given.peer.name)
        values = {"tsc_mhz": mhz, "named_seconds": self._run.seconds * mhz / tsc.named_mhz()}
        return values[key]


@dataclass(frozen=True)
class PeerEngine:
    """A known peer."""

    given: catalog.GivenPeer

    @property
    def name(self) -> str:
        """Returns its name in the table."""
        return self.given.peer.name

    def lacks(self, cell: Cell) -> str:
        """Returns why it doesn't run a cell; empty if it does."""
        return "" if self.given.benchmark(cell.options) else self.given.why_not(cell.options)

    def throughput(self, cell: Cell, run: Run) -> float:
        """Returns the transactions per second of one run."""
        chosen = self.given.benchmark(cell.options)
        if chosen is None:
            raise SystemExit(f"{self.name}: {self.lacks(cell)}")
        benchmark, binary = chosen
        words = [str(binary), *benchmark.command(_Values(self.given, cell, run))]
        folder = binary.parent if self.given.peer.in_own_folder else None
        output = "".join(_run(self.name, words, run, folder))
        try:
            rate = benchmark.rate(output)
            if benchmark.clock is not None:
                rate *= benchmark.clock.correction(output, run.measured_mhz(self.name))
        except definition.OutputError as error:
            raise SystemExit(f"{self.name}: {binary}: {error}{_last_lines(output)}") from None
        return rate


def _spread(values: list[float], digits: int) -> str:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def measure(cell: Cell, engines: Sequence[Engine], rounds: int, run: Run) -> list[list[float]]:
    """Returns the throughputs of each engine, round by round."""
    found: list[list[float]] = [[] for _ in engines]
    for round_ in range(rounds):
        order = range(len(engines)) if round_ % 2 == 0 else reversed(range(len(engines)))
        for at in order:
            throughput = engines[at].throughput(cell, run)
            if throughput <= 0:
                raise SystemExit(f"{engines[at].name}: {cell.name}: no transaction committed")
            found[at].append(throughput)
    return found


def _other(text: str, pattern: str, factor: float) -> Engine:
    name, equals, command = text.partition("=")
    if not equals or not command:
        raise SystemExit(f"--other {text}: NAME=PATH or NAME=COMMAND is wanted")
    if " " not in command:
        return Build(name, command)
    if not pattern:
        raise SystemExit(f"--other {name}: give --pattern, which finds its throughput")
    return Command(name, command, pattern, factor)


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise SystemExit(f"--pattern {pattern}: {error}") from None
    if pattern and groups != 1:
        raise SystemExit(f"--pattern {pattern}: one group is wanted, around the number")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Throughput next to another engine, alternated.", allow_abbrev=False
    )
    parser.add_argument("binary", nargs="?", help="heddle_run_workload")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=BINARY[,OPTION=FILE]",
        help="a known engine; 'list' prints them; repeatable",
    )
    parser.add_argument(
        "--other",
        action="append",
        default=[],
        metavar="NAME=PATH|COMMAND",
        help="another build or any command; repeatable",
    )
    parser.add_argument("--pattern", default="", help="finds --other's throughput, in one group")
    parser.add_argument("--factor", type=float, default=1.0, help="of what the pattern finds")
    parser.add_argument("--protocol", default="silo", help="this engine's (default: silo)")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each engine (default: 15)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run (default: 1)")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument(
        "--timeout", type=float, default=600.0, help="seconds after which a run is killed"
    )
    parser.add_argument(
        "--tsc-mhz", type=float, help="time-stamp counter's frequency (default: measured)"
    )
    return parser.parse_args()


def _check(arguments: argparse.Namespace) -> None:
    if arguments.binary is None:
        raise SystemExit("give heddle_run_workload's path, or --peer list")
    if arguments.rounds < 2:
        raise SystemExit("--rounds: at least 2, or there is no spread")
    for option in ("seconds", "timeout", "tsc_mhz"):
        value = getattr(arguments, option)
        if value is not None and not 0 < value < math.inf:
            raise SystemExit(f"--{option.replace('_', '-')} {value:g}: more than 0 is wanted")


def _check_names(engines: Sequence[Engine]) -> None:
    names = [engine.name for engine in engines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SystemExit(f"{twice}: two engines have this name; give one another")


def _report(cell: Cell, engines: Sequence[Engine], rounds: int, run: Run) -> list[Engine]:
    """Measures a cell, prints its rows, and returns the engines that ran."""
    running = [engine for engine in engines if not engine.lacks(cell)]
    found = measure(cell, running, rounds, run)
    for engine, values in zip(running, found, strict=True):
        ratios = [mine / its for mine, its in zip(found[0], values, strict=True)]
        beside = "" if engine is running[0] else f"  this ÷ it: {_spread(ratios, 3)}"
        print(f"{cell.name:28} {engine.name:12} {_spread(values, 0):36}{beside}", flush=True)
    for engine in engines:
        if engine not in running:
            print(f"{cell.name:28} {engine.name:12} skipped: {engine.lacks(cell)}", flush=True)
    return running


def main() -> None:
    """Measures every cell, and prints a row for each engine and the notes on peers."""
    arguments = _arguments()
    if "list" in arguments.peer:
        print("\n".join(catalog.listing()).rstrip())
        return
    _check(arguments)
    _check_pattern(arguments.pattern)
    cells = [cell for cell in CELLS if arguments.only in cell.name]
    if not cells:
        names = ", ".join(cell.name for cell in CELLS)
        raise SystemExit(f"--only {arguments.only}: the cells are {names}")
    run = Run(arguments.seconds, arguments.protocol, arguments.timeout, arguments.tsc_mhz)
    others = [_other(text, arguments.pattern, arguments.factor) for text in arguments.other]
    peers = [PeerEngine(given) for given in catalog.given(arguments.peer)]
    engines: list[Engine] = [Build("this", arguments.binary), *others, *peers]
    _check_names(engines)
    for peer in peers:
        if all(peer.lacks(cell) for cell in cells):
            raise SystemExit(f"--peer {peer.name}: {peer.lacks(cells[0])}")
    ran: list[Engine] = []
    for cell in cells:
        ran += _report(cell, engines, arguments.rounds, run)
    noted = [peer.given.peer for peer in peers if peer in ran]
    if noted:
        print("\nWhat these engines leave out or do differently:")
        print("\n".join(catalog.notes(noted)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
