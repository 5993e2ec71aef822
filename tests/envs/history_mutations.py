"""Measure how often the checker detects a changed history, by the kind of change.

`python -m tests.envs.history_mutations` prints the table of docs/checking.md;
`test_history_mutations.py` tests the checker against it. A serializable history is changed in one
place, as by a faulty engine or a damaged file, and checked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine import RunOptions, run_trial
from envs.history import ENDS, FLAGS, KINDS, History

READ, MISS, WRITE, REMOVE, RANGE = (
    KINDS.index(kind) for kind in ("read", "miss", "write", "remove", "range")
)
COMMITTED, ABORTED = ENDS.index("committed"), ENDS.index("aborted")
WORKLOADS: dict[str, dict[str, str]] = {
    "generic": {"name": "generic", "ordered_keys": "6", "hash_keys": "3"},
    "smallbank": {"name": "smallbank", "accounts": "20", "hot_accounts": "4"},
    "tpcc": {"name": "tpcc", "mix": "full"},
}
SECONDS = {"generic": 0.0005, "smallbank": 0.0002, "tpcc": 0.0003}


@dataclass(frozen=True)
class Draft:
    """A history to change, and the first operation of each of its attempts."""

    history: History
    random: np.random.Generator

    @property
    def attempts(self) -> np.ndarray:
        return self.history.attempts

    @property
    def operations(self) -> np.ndarray:
        return self.history.operations

    def flagged(self, *names: str) -> np.ndarray:
        """Return which operations have one of the flags."""
        bits = sum(FLAGS[name] for name in names)
        return (self.operations["flags"] & bits) != 0

    def owners(self) -> np.ndarray:
        """Return the attempt of each operation."""
        return np.repeat(np.arange(len(self.attempts)), self.attempts["operations"])

    def committed_reads(self) -> np.ndarray:
        """Return the reads of a numbered version."""
        plain = ~self.flagged("uncommitted", "own")
        return np.flatnonzero((self.operations["kind"] == READ) & plain)

    def committed_writes(self) -> np.ndarray:
        writes = (self.operations["kind"] == WRITE) & ~self.flagged("own")
        return np.flatnonzero(writes)

    def any_of(self, places: np.ndarray) -> int | None:
        return None if len(places) == 0 else int(self.random.choice(places))

    def same_row(self, at: int, places: np.ndarray) -> np.ndarray:
        """Return the other operations on the record of operation `at`."""
        ops = self.operations
        same = (
            (ops["table"][places] == ops["table"][at])
            & (ops["key"][places] == ops["key"][at])
            & (ops["place"][places] == ops["place"][at])
            & (places != at)
        )
        return places[same]

    def without(self, dropped: np.ndarray) -> History:
        """Return the history without some operations."""
        attempts = self.attempts.copy()
        gone = np.bincount(self.owners()[dropped], minlength=len(attempts))
        attempts["operations"] -= gone.astype(attempts["operations"].dtype)
        return replace(
            self.history, attempts=attempts, operations=np.delete(self.operations, dropped)
        )


Mutation = Callable[[Draft], History | None]
"""Changes a history in one place; returns None if there is no such place."""


def read_another_version(draft: Draft) -> History | None:
    reads = draft.committed_reads()
    at = draft.any_of(reads)
    if at is None:
        return None
    others = draft.same_row(at, np.concatenate([reads, draft.committed_writes()]))
    others = others[draft.operations["version"][others] != draft.operations["version"][at]]
    other = draft.any_of(others)
    if other is None:
        return None
    for field in ("version", "digest", "bytes"):
        draft.operations[field][at] = draft.operations[field][other]
    return draft.history


def swap_versions_of_writes(draft: Draft) -> History | None:
    writes = draft.committed_writes()
    at = draft.any_of(writes)
    other = None if at is None else draft.any_of(draft.same_row(at, writes))
    if at is None or other is None:
        return None
    versions = draft.operations["version"]
    versions[at], versions[other] = versions[other], versions[at]
    return draft.history


def make_a_version_twice(draft: Draft) -> History | None:
    writes = draft.committed_writes()
    at = draft.any_of(writes)
    other = None if at is None else draft.any_of(draft.same_row(at, writes))
    if at is None or other is None:
        return None
    draft.operations["version"][at] = draft.operations["version"][other]
    return draft.history


def _change_digest(draft: Draft, places: np.ndarray) -> History | None:
    at = draft.any_of(places[draft.operations["bytes"][places] != 0])
    if at is None:
        return None
    draft.operations["digest"][at] ^= 1 << int(draft.random.integers(32))
    return draft.history


def change_content_of_a_read(draft: Draft) -> History | None:
    return _change_digest(draft, draft.committed_reads())


def change_content_of_a_write(draft: Draft) -> History | None:
    return _change_digest(draft, draft.committed_writes())


def read_another_row(draft: Draft) -> History | None:
    reads = draft.committed_reads()
    reads = reads[~draft.flagged("of_range")[reads]]
    at, other = draft.any_of(reads), draft.any_of(reads)
    ops = draft.operations
    if at is None or other is None or ops["key"][at] == ops["key"][other]:
        return None
    ops["key"][at] = ops["key"][other]
    ops["table"][at] = ops["table"][other]
    return draft.history


def miss_a_row_that_was_read(draft: Draft) -> History | None:
    reads = draft.committed_reads()
    at = draft.any_of(reads[~draft.flagged("of_range")[reads]])
    if at is None:
        return None
    ops, attempt = draft.operations, draft.attempts[draft.owners()[at]]
    ops["kind"][at], ops["place"][at] = MISS, 0
    ops["digest"][at] = ops["bytes"][at] = 0
    ops["version"][at] = (int(attempt["began"]) + int(attempt["ended"])) // 2
    return draft.history


def _range_of(draft: Draft, at: int) -> int:
    while draft.operations["kind"][at] != RANGE:
        at -= 1
    return at


def drop_a_row_of_a_range(draft: Draft) -> History | None:
    at = draft.any_of(np.flatnonzero(draft.flagged("of_range") & ~draft.flagged("own")))
    if at is None:
        return None
    draft.operations["digest"][_range_of(draft, at)] -= 1
    return draft.without(np.array([at]))


def drop_a_row_of_a_range_and_not_its_count(draft: Draft) -> History | None:
    at = draft.any_of(np.flatnonzero(draft.flagged("of_range")))
    return None if at is None else draft.without(np.array([at]))


def drop_a_write(draft: Draft) -> History | None:
    at = draft.any_of(draft.committed_writes())
    return None if at is None else draft.without(np.array([at]))


def drop_a_delete(draft: Draft) -> History | None:
    removes = (draft.operations["kind"] == REMOVE) & ~draft.flagged("own")
    at = draft.any_of(np.flatnonzero(removes))
    return None if at is None else draft.without(np.array([at]))


def write_without_its_insert(draft: Draft) -> History | None:
    at = draft.any_of(np.flatnonzero(draft.flagged("inserted")))
    if at is None:
        return None
    draft.operations["flags"][at] &= ~np.uint8(FLAGS["inserted"])
    return draft.history


def _writer(draft: Draft) -> int | None:
    return draft.any_of(np.unique(draft.owners()[draft.committed_writes()]))


def abort_a_writer(draft: Draft) -> History | None:
    attempt = _writer(draft)
    if attempt is None:
        return None
    draft.attempts["end"][attempt] = ABORTED
    return draft.without(np.flatnonzero(draft.owners() == attempt))


def roll_a_writer_back(draft: Draft) -> History | None:
    attempt = _writer(draft)
    if attempt is None:
        return None
    draft.attempts["end"][attempt] = ENDS.index("rolled_back")
    return draft.history


def take_uncommitted_from_another(draft: Draft) -> History | None:
    at = draft.any_of(np.flatnonzero(draft.flagged("uncommitted")))
    if at is None:
        return None
    draft.operations["version"][at] ^= np.uint64(1 << int(draft.random.integers(4, 8)))
    return draft.history


def end_before_the_beginning(draft: Draft) -> History | None:
    ended = np.flatnonzero(draft.attempts["ended"] > draft.attempts["began"])
    at = draft.any_of(ended)
    if at is None:
        return None
    began, end = draft.attempts["began"][at], draft.attempts["ended"][at]
    draft.attempts["began"][at], draft.attempts["ended"][at] = end, began
    return draft.history


def end_before_the_writers_began(draft: Draft) -> History | None:
    """Move a reader to the begin of the run, with its times."""
    reads = draft.committed_reads()
    at = draft.any_of(reads[draft.operations["version"][reads] >= draft.history.first_version])
    if at is None:
        return None
    attempt = draft.owners()[at]
    draft.attempts["began"][attempt], draft.attempts["ended"][attempt] = 0, 1
    return draft.history


MUTATIONS: dict[str, Mutation] = {
    "read of another version of the row": read_another_version,
    "versions of two writes swapped": swap_versions_of_writes,
    "a version made twice": make_a_version_twice,
    "content of a read": change_content_of_a_read,
    "content of a write": change_content_of_a_write,
    "read of another row": read_another_row,
    "read turned into a miss": miss_a_row_that_was_read,
    "row of a range dropped, and counted less": drop_a_row_of_a_range,
    "row of a range dropped": drop_a_row_of_a_range_and_not_its_count,
    "write dropped": drop_a_write,
    "delete dropped": drop_a_delete,
    "insert turned into a write": write_without_its_insert,
    "writer aborted": abort_a_writer,
    "writer rolled back": roll_a_writer_back,
    "uncommitted read of another writer": take_uncommitted_from_another,
    "end before the beginning": end_before_the_beginning,
    "reader moved before its writers": end_before_the_writers_began,
}


@dataclass(frozen=True)
class Detected:
    """The number of changed histories, and how many the checker reported."""

    changed: int
    reported: int

    @property
    def missed(self) -> float:
        return 1 - self.reported / self.changed if self.changed else float("nan")


def record(workload: str, protocol: str, seed: int) -> History:
    """Return the history of a short run on 8 virtual cores."""
    options = RunOptions(protocol=protocol, seconds=SECONDS[workload], seed=seed)
    told = run_trial(WORKLOADS[workload], 8, seed, {"kind": "virtual"}, options)
    if told["findings"]:
        raise AssertionError(told["findings"])
    return History.from_engine(told["history"])


def copied(history: History) -> History:
    return replace(history, attempts=history.attempts.copy(), operations=history.operations.copy())


def changes(
    history: History, mutation: Mutation, count: int, random: np.random.Generator
) -> Iterator[History]:
    """Yield at most `count` histories, each changed in one place."""
    for _ in range(count):
        changed = mutation(Draft(copied(history), random))
        if changed is not None:
            yield changed


def detect(histories: list[History], count: int, seed: int = 1) -> dict[str, Detected]:
    """Change each history `count` times by each kind, and check the results."""
    found = {}
    for name, mutation in MUTATIONS.items():
        random = np.random.default_rng(seed)
        verdicts = [
            bool(changed.check()["anomalies"])
            for history in histories
            for changed in changes(history, mutation, count, random)
        ]
        found[name] = Detected(len(verdicts), sum(verdicts))
    return found


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="changes a history and kind")
    parser.add_argument("--runs", type=int, default=5, help="histories a workload and protocol")
    options = parser.parse_args()
    histories = [
        record(workload, protocol, seed)
        for workload in WORKLOADS
        for protocol in ("silo", "mvto")
        for seed in range(1, options.runs + 1)
    ]
    print("| Changed | Histories | Not reported |\n|---|--:|--:|")
    for name, detected in detect(histories, options.count).items():
        print(f"| {name} | {detected.changed:,} | {detected.missed:.1%} |")


if __name__ == "__main__":
    _main()
