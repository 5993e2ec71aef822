"""Counts what a transaction costs one worker under valgrind: instructions, or cache misses.

    make instructions
    make memory

Each workload runs twice, once loading the database only and once running transactions as well. The
difference, divided by the commits, is the cost of a transaction, input generation included.

Counts are reproducible where times are not. Instructions measure the work. Most of the time is
spent waiting for memory, which the misses measure. Caches are those of a server core (48 KiB first,
2 MiB second level). A TLB is simulated as a cache whose lines are pages (64 entries first and 2048
second level for small pages, 32 and 512 for huge ones). All memory counts as being on pages of one
size; the true number lies between the two. A prefetch counts as a miss, too: it causes the same
traffic, although no instruction waits for it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CASES: dict[str, list[str]] = {
    "TPC-C NewOrder+Payment, 1 warehouse": ["name=tpcc", "mix=new_order_payment"],
    "TPC-C read-write mix, 1 warehouse": ["name=tpcc", "mix=read_write"],
    "TPC-C full mix, 1 warehouse": ["name=tpcc", "mix=full"],
    "YCSB 16 ops, 50/50 read/RMW, theta 0.99, 1 M x 100 B, hash": ["name=ycsb", "index=hash"],
    "YCSB the same, ordered index": ["name=ycsb", "index=ordered"],
}
YCSB = ["operations=16", "read=50", "rmw=50", "theta=0.99", "records=1000000", "record_bytes=100"]


@dataclass(frozen=True)
class Tool:
    """A valgrind tool with its options, and the numbers read from its report, by column."""

    options: list[str]
    columns: dict[str, str]


def cache_tool(first: str, second: str, columns: tuple[str, str]) -> Tool:
    """Returns a simulation of two levels of caches, each given as bytes, ways and bytes a line."""
    options = ["--tool=cachegrind", "--cache-sim=yes", f"--D1={first}", f"--LL={second}"]
    return Tool(options, dict(zip(columns, ("D1  misses", "LLd misses"), strict=True)))


TOOLS: dict[str, list[Tool]] = {
    "instructions": [Tool(["--tool=callgrind"], {"instructions": "Collected"})],
    "memory": [
        cache_tool("49152,12,64", "2097152,16,64", ("L1 misses", "L2 misses")),
        cache_tool("262144,4,4096", "8388608,8,4096", ("4 KiB: TLB 1", "TLB 2")),
        cache_tool("67108864,4,2097152", "1073741824,8,2097152", ("2 MiB: TLB 1", "TLB 2")),
    ],
}


@dataclass(frozen=True)
class Counted:
    """The counts of one run, in the order of its tool's columns, and its number of commits."""

    numbers: list[int]
    commits: int


def count(binary: Path, workload: list[str], run: list[str], tool: Tool) -> Counted:
    """Returns the counts of one run under the tool. SystemExit with its output if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        name = tool.options[0].removeprefix("--tool=")
        command = ["valgrind", *tool.options, f"--{name}-out-file={folder}/out"]
        command += [str(binary), *workload, "--", *run]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [re.search(rf"{word}\s*:\s*([\d,]+)", done.stderr) for word in tool.columns.values()]
    numbers = [int(match.group(1).replace(",", "")) for match in found if match is not None]
    if done.returncode != 0 or len(numbers) < len(found):
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return Counted(numbers, int(json.loads(done.stdout)["commits"]))


def per_transaction(
    arguments: argparse.Namespace, workload: list[str], tool: Tool
) -> Sequence[float]:
    """Returns the tool's counts for one transaction, in the order of its columns."""
    run = [f"protocol={arguments.protocol}", "backoff=none", "workers=1"]
    loading = count(arguments.binary, workload, [*run, "seconds=0"], tool)
    running = count(arguments.binary, workload, [*run, f"seconds={arguments.seconds}"], tool)
    if running.commits == 0:
        raise SystemExit(f"nothing was committed in {arguments.seconds} s: give more --seconds")
    both = zip(running.numbers, loading.numbers, strict=True)
    return [(all_of_it - loaded) / running.commits for all_of_it, loaded in both]


def main() -> None:
    """Counts and prints the table."""
    parser = argparse.ArgumentParser(description="Counts what a transaction costs one worker.")
    parser.add_argument("what", choices=TOOLS)
    parser.add_argument("binary", type=Path, help="heddle_run_workload")
    parser.add_argument("--protocol", default="silo")
    parser.add_argument("--seconds", type=float, default=8.0, help="under valgrind, per workload")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    tools = TOOLS[arguments.what]
    columns = [column for tool in tools for column in tool.columns]
    print(f"{'per transaction':60}" + "".join(f"{column:>14}" for column in columns))
    for name, options in CASES.items():
        if arguments.only not in name:
            continue
        workload = options + (YCSB if "name=ycsb" in options else [])
        print(f"{name:60}", end="", flush=True)
        for tool in tools:
            counts = per_transaction(arguments, workload, tool)
            print("".join(f"{number:14,.1f}" for number in counts), end="", flush=True)
        print()


if __name__ == "__main__":
    main()
