from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from trainer.schedule.batch import PROTOCOLS, Batch, Numbers, Operation, make_batch
from trainer.schedule.policies import POLICIES, Task, tabu
from trainer.schedule.policies.annealing import accepts
from trainer.schedule.policies.composite import composite
from trainer.schedule.policies.conflicts import key_sets
from trainer.schedule.policies.ldsf import ldsf
from trainer.schedule.policies.moves import Pair, exchanged, random_pair
from trainer.schedule.policies.ts_defer import ts_defer
from trainer.schedule.policies.ts_kd import ts_kd

FILLER: Operation = ("*", None)
SEARCHES = ("genetic", "annealing", "tabu", "mcts")


def drawn_batch(size: int, seed: int = 1) -> Batch:
    """Draw short transactions on a few hot keys."""
    drawn = np.random.default_rng(seed)
    made = []
    for _ in range(size):
        names = drawn.choice(["r", "w", "*"], int(drawn.integers(1, 7)))
        made.append([(str(name), int(drawn.integers(5))) for name in names])
    return make_batch(made)


def alternating(pairs: int) -> Batch:
    """Return the batch of figure 1 of the SMF paper, lengthened."""
    fill = [FILLER] * 6
    one: Sequence[Operation] = [("r", "x"), *fill, ("w", "z")]
    return make_batch([one, [("r", "z"), *fill, ("w", "x")]] * pairs)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_policy_orders_every_transaction_once(name: str, protocol: str) -> None:
    for size in (1, 2, 40):
        order = POLICIES[name].order(Task(drawn_batch(size), protocol, evaluations=150))
        assert sorted(order.tolist()) == list(range(size))


@pytest.mark.parametrize("name", POLICIES)
def test_the_seed_determines_the_order_and_global_state_is_unchanged(name: str) -> None:
    batch = drawn_batch(30)
    state = random.getstate()
    first, again = (
        POLICIES[name].order(Task(batch, seed=3, evaluations=120)).tolist() for _ in range(2)
    )
    assert first == again
    assert random.getstate() == state


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("fifo", "random")])
def test_a_stopped_policy_still_returns_an_order(name: str) -> None:
    order = POLICIES[name].order(Task(drawn_batch(30), proceed=lambda done: False))
    assert sorted(order.tolist()) == list(range(30))


@pytest.mark.parametrize("name", [*SEARCHES, "neh", "full_insertion", "smf", "composite"])
def test_planning_policies_find_the_schedule_of_figure_1(name: str) -> None:
    batch = alternating(10)
    task = Task(batch, evaluations=2000)
    as_they_come = task.makespan(POLICIES["fifo"].order(task))
    assert task.makespan(POLICIES[name].order(task)) < 0.9 * as_they_come


@pytest.mark.parametrize("name", SEARCHES)
def test_more_evaluations_find_no_longer_schedules(name: str) -> None:
    found = []
    for evaluations in (1, 3000):
        task = Task(drawn_batch(40, seed=5), evaluations=evaluations)
        found.append(task.makespan(POLICIES[name].order(task)))
    assert found[1] < found[0]


def test_tabu_search_of_a_small_batch_does_not_get_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[tuple[int, ...]] = []

    def noted(order: Numbers, places: Pair) -> Numbers:
        states.append(tuple(order.tolist()))
        return exchanged(order, places)

    monkeypatch.setattr(tabu, "exchanged", noted)
    tabu.tabu(Task(drawn_batch(8), evaluations=20_000))
    # 399 steps; if all exchanges became tabu, the search would stop changing after the 28th.
    assert len(set(states)) > 200


@pytest.mark.parametrize("name", ["ldsf", "ts_defer", "ts_kd"])
def test_a_policy_is_stopped_soon(name: str) -> None:
    asked: list[float] = []

    def proceed(done: float) -> bool:
        asked.append(done)
        return len(asked) < 5

    order = POLICIES[name].order(Task(drawn_batch(50), proceed=proceed))
    assert sorted(order.tolist()) == list(range(50))
    assert 5 <= len(asked) <= 7


def test_annealing_accepts_worse_orders_less_often_over_time() -> None:
    assert accepts(0, 1.0, 0.999)
    assert accepts(-5, 0.1, 0.999)
    assert accepts(1, 1.0, 0.36)
    assert not accepts(1, 1.0, 0.37)
    assert not accepts(1, 0.1, 0.001)


def test_hot_keys_are_accessed_by_a_hundredth_of_the_transactions() -> None:
    hot, cold = [("w", "hot")], [[("w", f"cold {number}")] * 2 for number in range(250)]
    batch = make_batch([*[hot] * 3, *cold, cold[0]])
    as_they_come = np.arange(len(batch))
    assert Task(batch).makespan(as_they_come) == 4
    assert Task(batch).hot_problem.makespan(as_they_come) == 3
    assert Task(batch.only_keys(batch.users < 3)).makespan(as_they_come) == 4


def test_moves() -> None:
    generator = np.random.default_rng(1)
    for _ in range(50):
        first, second = random_pair(3, generator)
        assert 0 <= first < second < 3
    order = np.array([5, 6, 7], np.uint32)
    assert exchanged(order, (0, 2)).tolist() == [7, 6, 5]
    assert order.tolist() == [5, 6, 7]


def test_conflicts_need_a_write() -> None:
    reads, writes, other = key_sets(make_batch([[("r", "x")], [("w", "x")], [("w", "y")]]))
    assert reads.conflicts(writes)
    assert writes.conflicts(reads)
    assert writes.conflicts(writes)
    assert not reads.conflicts(reads)
    assert not writes.conflicts(other)


def test_ts_defer_defers_transactions_with_conflicts() -> None:
    batch = make_batch([[("w", "x")], [("w", "x")], [("w", "y")]])
    orders = {tuple(ts_defer(Task(batch, seed=seed)).tolist()) for seed in range(40)}
    assert orders == {(0, 1, 2), (0, 2, 1)}


def test_ldsf_prefers_the_transaction_with_most_waiters() -> None:
    batch = make_batch([[("w", "x")], [("w", "y")], *[[("r", "y")]] * 3, [("r", "x")]])
    assert ldsf(Task(batch)).tolist()[:2] == [1, 0]


def test_ts_kd_leaves_transactions_that_fit_no_partition() -> None:
    batch = make_batch([[("w", "x")], [("w", "y")], [("w", "x"), ("w", "y")], [("w", "x")]])
    assert ts_kd(Task(batch)).tolist() == [0, 1, 3, 2]


@pytest.mark.parametrize("weight", [-0.001, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["delay", "work", "length", "bound"])
def test_invalid_weights_are_refused(name: str, weight: float) -> None:
    order = composite(**{name: weight})
    with pytest.raises(ValueError, match=f"{name} is .*must be 0 or more"):
        order(Task(drawn_batch(5)))


def test_the_weights_of_the_composite_rule_have_an_effect() -> None:
    batch = drawn_batch(60)
    weights = {"delay": 1, "work": 8, "length": 1, "bound": 1}

    def order(**changes: float) -> list[int]:
        return composite(samples=0, **(weights | changes))(Task(batch)).tolist()

    assert all(order(**{name: 0}) != order() for name in weights)
