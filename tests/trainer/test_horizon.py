"""The length of rungs, found on tables whose fitness changes during a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from envs import MeasuringError, Subject
from envs.round import Outcome
from trainer.evaluation.horizon import Horizon, find_horizon, lengths, mistake

SUBJECTS = [
    Subject(name, "silo", None, "none", 0.0) for name in ("steady", "slow to settle", "bad")
]


class Machine:
    """The second subject reaches its fitness only in runs of `settles_s`; the third is poor."""

    def __init__(self, settles_s: float, *, failing: Sequence[int] = ()) -> None:
        self.settles_s = settles_s
        self.failing = failing
        self.lengths: list[float] = []

    def __call__(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        self.lengths.append(seconds)
        settled = min(1.0, seconds / self.settles_s)
        for index, fitness in enumerate((1.0, 1.2 * settled, 0.1 / settled)):
            failed: Any = MeasuringError("no")
            yield index, failed if index in self.failing else SimpleNamespace(fitness=fitness)


def found_on(machine: Machine, within: float = 0.1) -> Horizon:
    return find_horizon(
        machine,
        SUBJECTS,
        slice_seconds=0.003,
        warmup=0.002,
        longest_seconds=0.05,
        within=within,
        seed=1,
    )


def test_lengths_double_and_stay_below_the_longest() -> None:
    assert lengths(0.003, 0.05) == [1, 2, 4, 8, 16]
    assert lengths(0.003, 0.006) == [1]
    assert lengths(0.003, 0.001) == [1]


@pytest.mark.parametrize(("settles_s", "slices"), [(0.001, 1), (0.003, 1), (0.01, 4), (0.04, 16)])
def test_rungs_last_until_the_slowest_table_settles(settles_s: float, slices: int) -> None:
    machine = Machine(settles_s)
    found = found_on(machine)
    assert found.slices == slices
    assert found.error <= 0.1
    tried = lengths(0.003, 0.05).index(slices) + 1
    assert len(machine.lengths) == 1 + tried, "none longer than needed"


def test_without_a_sufficient_length_the_longest_is_chosen() -> None:
    found = found_on(Machine(1.0), within=0.0)
    assert found.slices == 16
    assert found.shortest_error == pytest.approx(0.05 / 0.003 - 1)


def test_a_table_bad_in_short_and_long_runs_is_ignored() -> None:
    assert mistake({0: 1.0, 1: 0.01}, {0: 1.0, 1: 0.4}) == 0.0


def test_a_table_good_only_in_short_runs_counts() -> None:
    assert mistake({0: 1.0, 1: 0.9}, {0: 1.0, 1: 0.3}) == pytest.approx(2.0)


def test_tables_that_cannot_run_are_left_out() -> None:
    assert found_on(Machine(0.04, failing=[1, 2])).slices == 1
    assert found_on(Machine(0.04, failing=[0, 1, 2])) == Horizon(1, 0.0, 0.0)
