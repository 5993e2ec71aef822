"""Instructions per transaction, one worker, by callgrind: the engine's steady measure of cost.

    make instructions

Each workload runs twice, once loading the database only and once running transactions as well; the
difference, divided by the commits, is what a transaction costs, input generation included.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

CASES: dict[str, list[str]] = {
    "TPC-C NewOrder+Payment, 1 warehouse": ["name=tpcc", "mix=new_order_payment"],
    "TPC-C read-write mix, 1 warehouse": ["name=tpcc", "mix=read_write"],
    "TPC-C full mix, 1 warehouse": ["name=tpcc", "mix=full"],
    "YCSB 16 ops, 50/50 read/RMW, theta 0.99, 1 M x 100 B, hash": ["name=ycsb", "index=hash"],
    "YCSB the same, ordered index": ["name=ycsb", "index=ordered"],
}
YCSB = ["operations=16", "read=50", "rmw=50", "theta=0.99", "records=1000000", "record_bytes=100"]


def count(binary: Path, workload: list[str], run: list[str]) -> tuple[int, int]:
    """Returns (instructions, commits) of one run under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command += [str(binary), *workload, "--", *run]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return int(collected.group(1)), int(json.loads(done.stdout)["commits"])


def main() -> None:
    """Counts, prints the table and leaves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("binary", type=Path, help="heddle_run_workload")
    parser.add_argument("--protocol", default="silo")
    parser.add_argument("--seconds", type=float, default=8.0, help="under callgrind, per workload")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    for name, options in CASES.items():
        if arguments.only not in name:
            continue
        workload = options + (YCSB if "name=ycsb" in options else [])
        run = [f"protocol={arguments.protocol}", "backoff=none", "workers=1"]
        loaded, _ = count(arguments.binary, workload, [*run, "seconds=0"])
        total, commits = count(arguments.binary, workload, [*run, f"seconds={arguments.seconds}"])
        print(f"{name:60} {(total - loaded) / commits:10,.0f} instructions/transaction")


if __name__ == "__main__":
    main()
