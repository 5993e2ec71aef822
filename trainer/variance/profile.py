"""The variance profile of a recorded run: a variance tree for each transaction type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.recorded_events import RecordedEvents, Selection
from envs.result import Machine
from trainer.variance.critical_path import followed
from trainer.variance.factors import top_factors
from trainer.variance.step_labels import Leaf, path_of
from trainer.variance.steps import NONE, Integers, Part, Phase, Steps, Waits, steps_of
from trainer.variance.tree import TAIL, Floats, Label, Node, Path, variance_tree


@dataclass(frozen=True)
class TypeProfile:
    """Latency and its variance of one transaction type.

    Attributes:
        name: name of the type.
        latency_us: latency of each transaction in µs.
        tree: the variance tree.
        waits_us: mean time per transaction in which it waits for transactions of each type, in µs.
            The type `another` stands for unknown ones.
    """

    name: str
    latency_us: Floats
    tree: Node
    waits_us: Mapping[str, float]

    @property
    def sd_us(self) -> float:
        """Standard deviation of the latency in µs."""
        return float(np.sqrt(self.tree.variance))

    def percentile_us(self, percent: float) -> float:
        """Return a percentile of the latency in µs."""
        return float(np.percentile(self.latency_us, percent))

    def as_dict(self, k: int, d: float) -> dict[str, Any]:
        """Return the profile as JSON values, with the factors that algorithm 1 selects."""
        return {
            "transactions": int(self.latency_us.size),
            "mean_us": self.tree.mean_us,
            "sd_us": self.sd_us,
            "p50_us": self.percentile_us(50),
            "p99_us": self.percentile_us(100 * TAIL),
            "variance_us2": self.tree.variance,
            "factors": [factor.as_dict() for factor in top_factors(self.tree, k, d)],
            "waits_us": dict(self.waits_us),
            "tree": self.tree.as_dict(),
        }


@dataclass(frozen=True)
class Profile:
    """The variance profile of a run.

    Attributes:
        subject: name of the protocol or policy.
        machine: the machine.
        length_us: length of the recording in µs.
        events: number of recorded events.
        dropped: number of events that were not recorded; above 0 if the limit ended the run.
        unfinished: transactions that the recording cuts off.
        selection: the part of the run that was recorded.
        slowdown: mean latency of the recorded transactions ÷ that of all transactions of the run,
            in the mix of the recorded ones. It is above 1 if recording takes time.
        types: the types with at least two transactions, by name.
    """

    subject: str
    machine: Machine
    length_us: float
    events: int
    dropped: int
    unfinished: int
    selection: Selection
    slowdown: float
    types: Mapping[str, TypeProfile]

    @property
    def transactions(self) -> int:
        """The number of transactions in the profile."""
        return sum(int(kind.latency_us.size) for kind in self.types.values())

    def as_dict(self, k: int, d: float) -> dict[str, Any]:
        """Return the profile as JSON values."""
        return {
            "policy": self.subject,
            "recording": {
                "machine": self.machine.kind,
                "cores": self.machine.cores,
                "length_us": self.length_us,
                "events": self.events,
                "complete": self.dropped == 0,
                "transactions": self.transactions,
                "unfinished": self.unfinished,
                "share": self.selection.share,
                "types_with_accesses": [
                    name for name in self.types if self.selection.has_accesses_of(name)
                ],
                "slowdown": self.slowdown,
            },
            "types": {name: kind.as_dict(k, d) for name, kind in self.types.items()},
        }


def profile_of(recorded: RecordedEvents) -> Profile:
    """Return the variance profile of a recorded run."""
    steps = steps_of(recorded)
    leaves, times = step_times(steps)
    labels = [path_of(leaf, steps) for leaf in leaves]
    types = {}
    for number, name in enumerate(recorded.types):
        of_type = np.flatnonzero(steps.transactions.type == number)
        if of_type.size < 2:
            continue
        own = times[of_type] / recorded.ticks_per_us
        used = np.flatnonzero(own.getnnz(axis=0))
        own = own[:, used]
        paths, by_path = _merged([labels[at] for at in used], own)
        tree = variance_tree(Label(name, name), paths, by_path)
        latency = steps.transactions.latency[of_type] / recorded.ticks_per_us
        means = np.asarray(own.mean(axis=0)).ravel()
        waits = _waits([leaves[at] for at in used], means, recorded.types)
        types[name] = TypeProfile(name, latency, tree, waits)
    return Profile(
        subject=recorded.subject,
        machine=recorded.machine,
        length_us=recorded.length_us,
        events=int(recorded.events.size),
        dropped=recorded.dropped,
        unfinished=steps.unfinished,
        selection=recorded.selection,
        slowdown=_slowdown(recorded, types),
        types=types,
    )


def _slowdown(recorded: RecordedEvents, types: Mapping[str, TypeProfile]) -> float:
    """Return `Profile.slowdown`."""
    own = sum(float(kind.latency_us.sum()) for kind in types.values())
    of_all = sum(recorded.latency_us[name] * kind.latency_us.size for name, kind in types.items())
    return own / of_all if of_all > 0 else 1.0


def _merged(paths: list[Path], times: Any) -> tuple[list[Path], Any]:
    """Add up the columns of leaves that have the same path: a tree does not tell them apart."""
    from scipy.sparse import csr_matrix

    numbers = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    columns = [numbers[path] for path in paths]
    ones = (np.ones(len(paths)), (range(len(paths)), columns))
    return list(numbers), (times @ csr_matrix(ones, shape=(len(paths), len(numbers)))).tocsc()


def step_times(steps: Steps) -> tuple[list[Leaf], Any]:
    """Return the time that each transaction spends in each leaf of the variance trees.

    Returns:
        The leaves, and the times in ticks: a sparse matrix with a row for each transaction and a
        column for each leaf. A row adds up to the transaction's latency.
    """
    from scipy.sparse import coo_matrix

    rows, keys, ticks = (np.concatenate(column) for column in zip(*_cells(steps), strict=True))
    names, columns = np.unique(keys, return_inverse=True)
    count = len(steps.transactions)
    matrix = coo_matrix((ticks.astype(np.float64), (rows, columns)), shape=(count, names.size))
    numbers = np.unravel_index(names, _shape(steps))
    leaves = [Leaf(*(int(field) - 1 for field in leaf)) for leaf in zip(*numbers, strict=True)]
    return leaves, matrix.tocsr()


def _cells(steps: Steps) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Return transactions, leaves and ticks; a pair of the first two may occur more than once."""
    yield _admission(steps)
    segments = steps.segments
    counted = segments.transaction != NONE
    attempts = np.isin(segments.part, (Part.ABORTED, Part.LAST))
    waits = counted & attempts & (segments.waits != Waits.NOTHING)
    runs = np.flatnonzero(counted & ~waits)
    yield _summed(
        segments.transaction[runs],
        _keys(steps, runs, attempts[runs], np.full(runs.size, NONE)),
        segments.end[runs] - segments.begin[runs],
    )
    for pieces in followed(segments, np.flatnonzero(waits)):
        yield _summed(
            segments.transaction[pieces.wait],
            _keys(steps, pieces.wait, attempts[pieces.wait], pieces.step),
            pieces.ticks,
        )


def _admission(steps: Steps) -> tuple[Integers, Integers, Integers]:
    """Return the time from each transaction's arrival to its first attempt."""
    count = len(steps.transactions)
    before = steps.transactions.begun - steps.transactions.arrived
    leaf = [Part.ADMISSION, Phase.EXECUTION, NONE, Waits.NOTHING, NONE, NONE, NONE, NONE, NONE]
    key = np.ravel_multi_index([number + 1 for number in (*leaf, NONE)], _shape(steps))
    return np.arange(count), np.full(count, key, dtype=np.int64), before


def _keys(steps: Steps, at: Integers, in_attempt: NDArray[np.bool_], other: Integers) -> Integers:
    """Return the leaf of each segment `at`, with the segment `other` that ran meanwhile."""
    segments = steps.segments
    known = other != NONE

    def of_other(column: Integers) -> Integers:
        return np.where(known, column[np.where(known, other, 0)], NONE)

    # Whether a blocker's attempt aborts is decided later: its attempts count together.
    part = of_other(segments.part)
    columns = (
        segments.part[at],
        np.where(in_attempt, segments.phase[at], Phase.EXECUTION),
        segments.state[at],
        np.where(in_attempt, segments.waits[at], Waits.NOTHING),
        np.where(in_attempt, segments.blocker_type[at], NONE),
        np.where(part == Part.ABORTED, Part.LAST, part),
        of_other(segments.phase),
        of_other(segments.state),
        of_other(segments.waits),
        of_other(segments.type),
    )
    keys = np.ravel_multi_index([column + 1 for column in columns], _shape(steps))
    return np.asarray(keys, dtype=np.int64)


def _shape(steps: Steps) -> tuple[int, ...]:
    """Return the number of values of each attribute of a leaf, `NONE` included."""
    states = len(steps.recorded.signature.accesses) + len(steps.recorded.tables) + 1
    types = len(steps.recorded.types) + 1
    one = (len(Part) + 1, len(Phase) + 1, states, len(Waits) + 1, types)
    return one * 2


def _summed(rows: Integers, keys: Integers, ticks: Integers) -> tuple[Integers, Integers, Integers]:
    """Add up the cells of the same transaction and leaf."""
    if not rows.size:
        return rows, keys, ticks
    names, columns = np.unique(keys, return_inverse=True)
    cells, inverse = np.unique(rows * names.size + columns, return_inverse=True)
    total = np.bincount(inverse, ticks).astype(np.int64)
    return cells // names.size, names[cells % names.size], total


def _waits(leaves: list[Leaf], means: Floats, types: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for leaf, mean in zip(leaves, means, strict=True):
        if leaf.waits != Waits.NOTHING:
            name = "another" if leaf.blocker == NONE else types[leaf.blocker]
            found[name] = found.get(name, 0.0) + float(mean)
    return dict(sorted(found.items(), key=lambda item: -item[1]))
