"""Exceptions that Python raises between any two steps: no transaction keeps its place."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import random
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from heddle_client import Scheduler
from tests.scale import scaled

INTERRUPTS = scaled(1_000)
LONGEST_S = 60e-6
"""Several times what a transaction takes, so that each of its steps is interrupted."""


class Interrupt(BaseException):
    """As KeyboardInterrupt, but none of a person."""


@pytest.fixture(name="_interrupts")
def raised_by_the_alarm() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # libraries have functions called by it, in which Python ignores exceptions
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.enable()
    signal.signal(signal.SIGALRM, before)


def held(scheduler: Scheduler) -> tuple[int, int, int, str | None]:
    metrics = scheduler.metrics()
    core = scheduler._core
    return metrics.running, metrics.waiting, core.keys, core.surrounding()


NOTHING = (0, 0, 0, None)


def set_off(chance: random.Random) -> None:
    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, LONGEST_S))


@pytest.mark.usefixtures("_interrupts")
@pytest.mark.parametrize("mode", ["smf", "locks"])
def test_an_interrupt_between_any_two_steps_leaves_no_place(mode: str) -> None:
    scheduler = Scheduler(mode=mode, concurrency=1)
    chance = random.Random(3)
    inside = 0
    interrupted = 0
    while interrupted < INTERRUPTS:
        entered = False
        try:
            set_off(chance)
            for _ in range(100):
                entered = False
                with scheduler.transaction("pay", keys=[1, 2]):
                    entered = True
        except Interrupt:
            # Here the exception still has the frames of the transaction.
            assert held(scheduler) == NOTHING
            interrupted += 1
            inside += entered
        assert held(scheduler) == NOTHING
    assert 0 < inside < INTERRUPTS


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_of_one_that_waits_leaves_no_place() -> None:
    scheduler = Scheduler(mode="locks", concurrency=1)
    chance = random.Random(4)
    end = threading.Event()

    def compete() -> None:
        while not end.is_set():
            with scheduler.transaction("pay", keys=[1]):
                time.sleep(20e-6)

    competitor = threading.Thread(target=compete)
    competitor.start()
    try:
        interrupted = 0
        while interrupted < INTERRUPTS:
            with contextlib.suppress(Interrupt):
                try:
                    set_off(chance)
                    for _ in range(100):
                        with scheduler.transaction("pay", keys=[1]):
                            pass
                finally:
                    interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        end.set()
        competitor.join(20)
    assert not competitor.is_alive()
    assert held(scheduler) == NOTHING


def test_exceptions_of_other_threads_leave_no_place() -> None:
    scheduler = Scheduler(mode="locks", concurrency=2)
    end = threading.Event()
    caught = [0] * 4
    strays: list[BaseException] = []

    def transact() -> None:
        with scheduler.transaction("pay", keys=[1], shared=[2]):
            pass

    def work(number: int) -> None:
        while not end.is_set():
            try:
                while not end.is_set():
                    transact()
            except Interrupt:
                caught[number] += 1

    def guarded(number: int) -> None:
        while not end.is_set():
            try:
                work(number)
            except Interrupt:  # in the handler of the one before
                caught[number] += 1
            except BaseException as error:
                strays.append(error)
                raise

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    chance = random.Random(5)
    deadline = time.monotonic() + 60
    while sum(caught) < INTERRUPTS and time.monotonic() < deadline:
        target = chance.choice(threads).ident
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(target or 0), ctypes.py_object(Interrupt)
        )
        time.sleep(chance.uniform(0, 200e-6))
    time.sleep(0.05)  # the last ones arrive before the threads end
    end.set()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert sum(caught) >= INTERRUPTS
    assert strays == []
    assert held(scheduler) == NOTHING


def test_cancelled_tasks_leave_no_place() -> None:
    scheduler = Scheduler(mode="locks", concurrency=2)
    chance = random.Random(6)

    async def pay(key: int) -> None:
        async with scheduler.transaction("pay", keys=[key], shared=[9]):
            await asyncio.sleep(0)

    async def cancel_some() -> int:
        tasks = [asyncio.create_task(pay(chance.randrange(3))) for _ in range(INTERRUPTS)]
        cancelled = 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            cancelled += chance.choice(tasks).cancel()
        return cancelled

    assert asyncio.run(cancel_some()) > INTERRUPTS // 10
    assert held(scheduler) == NOTHING


def test_an_interrupt_in_the_call_that_starts_another_comes_after_it() -> None:
    scheduler = Scheduler(mode="locks")
    core = scheduler._core
    calls = []

    def start() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise Interrupt

    def pay() -> None:
        with scheduler.transaction("pay", keys=[1]):
            ticket, started = core.submit([1], [], True)
            assert not started
            assert core.on_start(ticket, start)
        for _ in range(1_000):  # until Python raises it, after a call
            len(calls)

    with pytest.raises(Interrupt):
        pay()
    assert len(calls) == 2
    assert scheduler.metrics().running == 1
