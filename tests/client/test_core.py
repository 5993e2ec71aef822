"""The core of the client's scheduler against a model, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heddle_client._scheduler import Core
from tests.client.model import Model

KEYS = st.frozensets(st.integers(0, 2), max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), KEYS, KEYS),
        st.tuples(st.just("release"), st.integers(0, 9)),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
    ),
    max_size=60,
)


def run(model: Model, steps: list[tuple]) -> None:
    for name, *arguments in steps:
        if name == "submit":
            model.submit(*arguments)
            continue
        tickets = list(model.running if name == "release" else model.waiting)
        if tickets:
            getattr(model, name)(tickets[arguments[0] % len(tickets)])
    model.drain()


@given(STEPS, st.sampled_from(["fifo", "smf", "locks"]), st.integers(1, 5))
@settings(max_examples=300)
def test_it_starts_exactly_those_that_may_start(steps: list, mode: str, concurrency: int) -> None:
    run(Model(mode, concurrency), steps)


@given(STEPS, st.integers(0, 3), st.integers(1, 5))
@settings(max_examples=300)
def test_at_most_barrier_later_ones_start_before_the_oldest(
    steps: list, barrier: int, concurrency: int
) -> None:
    run(Model("smf", concurrency, barrier), steps)


def test_the_barrier_is_reached_and_ends_the_overtaking() -> None:
    core = Core()
    core.configure("smf", 0, 2, 3_600)
    core.submit([1], [], True)
    oldest, started = core.submit([1], [], True)
    assert not started
    assert core.submit([2], [], True)[1]
    assert core.submit([3], [], True)[1]
    assert not core.cancel(oldest)  # the second overtaking made it due, and a place was free
    assert core.counters()["forced"] == 1
    assert core.counters()["overtakings"] == 2


def test_cancelled_transactions_do_not_count_as_overtaking() -> None:
    core = Core()
    core.configure("smf", 0, 2, 3_600)
    core.submit([1], [], True)
    oldest, _ = core.submit([1], [], True)
    for _ in range(5):
        assert core.cancel(core.submit([1], [], True)[0])
    assert core.submit([2], [], True)[1]
    assert core.cancel(oldest)


def test_in_a_long_queue_for_a_key_none_is_due() -> None:
    core = Core()
    core.configure("smf", 0, 3, 3_600)
    tickets = [core.submit([1], [], True)[0] for _ in range(20)]
    for ticket in tickets:
        for key in (2, 3):  # two starts behind each, 38 in all behind the last
            other, started = core.submit([key], [], True)
            assert started
            core.release(other)
        core.release(ticket)
    assert core.counters()["forced"] == 0


def test_behind_one_that_cannot_start_after_all_the_next_starts() -> None:
    core = Core()
    core.configure("smf", 2, 1_000, 3_600)
    first, _ = core.submit([1], [], True)
    second, _ = core.submit([9], [], True)
    core.submit([2], [], True)
    both, _ = core.submit([1, 2], [], True)
    last, _ = core.submit([1], [], True)
    core.release(first)  # starts the third; the fourth has both keys free, but no place
    core.release(second)
    assert not core.cancel(last)
    assert core.cancel(both)


def test_behind_one_that_waits_for_another_key_the_next_starts() -> None:
    core = Core()
    core.configure("smf", 0, 1_000, 3_600)
    first, _ = core.submit([1], [], True)
    core.submit([2], [], True)
    core.submit([1, 2], [], True)
    last, _ = core.submit([1], [], True)
    core.release(first)
    assert not core.cancel(last)


def test_after_the_longest_wait_the_oldest_ignores_conflicts() -> None:
    core = Core()
    core.configure("smf", 0, 32, 0.0)
    core.submit([1], [], True)
    assert core.submit([1], [], True)[1]
    assert core.counters()["forced"] == 1


def test_the_longest_wait_does_not_exceed_the_bound() -> None:
    core = Core()
    core.configure("smf", 1, 32, 0.0)
    first, _ = core.submit([1], [], True)
    second, started = core.submit([2], [], True)
    assert not started
    assert core.poll(second) is not None
    core.release(first)
    assert core.poll(second) is None


def test_locks_wait_behind_earlier_waiting_ones() -> None:
    core = Core()
    core.configure("locks", 0, 0, 0.0)
    core.submit([1], [], True)
    assert not core.submit([1, 2], [], True)[1]
    assert not core.submit([2], [], True)[1]
    core.configure("smf", 0, 1_000, 3_600)
    assert core.counters()["running"] == 2  # key 2 is free


def test_unscheduled_transactions_wait_for_places_only() -> None:
    core = Core()
    core.configure("smf", 2, 32, 3_600)
    first, _ = core.submit([1], [], True)
    assert core.submit([1], [], False)[1]
    assert not core.submit([2], [], False)[1]
    core.release(first)
    assert core.counters()["running"] == 2
    core.configure("locks", 0, 32, 3_600)
    core.submit([5], [], True)
    assert not core.submit([5], [], False)[1]


def test_releasing_twice_is_an_error() -> None:
    core = Core()
    ticket, _ = core.submit([1], [], True)
    core.release(ticket)
    with pytest.raises(ValueError, match="release a transaction once"):
        core.release(ticket)
