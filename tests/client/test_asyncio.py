"""Transactions of asyncio tasks."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from heddle_client import Scheduler, TransactionTimeoutError


def idle(scheduler: Scheduler) -> bool:
    metrics = scheduler.metrics()
    return (metrics.running, metrics.waiting, scheduler._core.keys) == (0, 0, 0)


async def until_waiting(scheduler: Scheduler, number: int) -> None:
    async with asyncio.timeout(10):
        while scheduler.metrics().waiting != number:
            await asyncio.sleep(0)


def test_conflicting_tasks_take_turns() -> None:
    scheduler = Scheduler(concurrency=3, barrier=1_000_000, longest_wait=600)
    inside = [0] * 4
    most = 0

    async def work(number: int) -> None:
        nonlocal most
        for turn in range(10):
            key = (number + turn) % 4
            async with scheduler.transaction("update", keys=[key]):
                inside[key] += 1
                most = max(most, sum(inside))
                await asyncio.sleep(0)
                assert inside[key] == 1
                inside[key] -= 1

    async def all_of_them() -> None:
        await asyncio.gather(*map(work, range(20)))

    asyncio.run(all_of_them())
    assert most == 3
    assert idle(scheduler)


def test_a_cancelled_task_leaves_the_queue() -> None:
    scheduler = Scheduler(mode="locks")

    async def pay() -> None:
        async with scheduler.transaction("pay", keys=[1]):
            await asyncio.sleep(0)

    async def cancelled() -> None:
        async with scheduler.transaction("pay", keys=[1]):
            tasks = [asyncio.create_task(pay(), context=contextvars.Context()) for _ in range(3)]
            await until_waiting(scheduler, 3)
            tasks[0].cancel()
            await until_waiting(scheduler, 2)
        # The second has been started by the release, and is cancelled before it runs.
        assert scheduler.metrics().running == 1
        tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in results] == [asyncio.CancelledError] * 2 + [type(None)]

    asyncio.run(cancelled())
    assert idle(scheduler)
    assert scheduler.metrics().started == 3


def test_a_thread_starts_a_task() -> None:
    scheduler = Scheduler()
    entered, end = threading.Event(), threading.Event()

    def block() -> None:
        with scheduler.transaction("pay", keys=[1]):
            entered.set()
            end.wait(10)

    async def pay() -> None:
        asyncio.get_running_loop().call_later(0.01, end.set)
        async with scheduler.transaction("pay", keys=[1], timeout=10):
            assert end.is_set()

    thread = threading.Thread(target=block)
    thread.start()
    assert entered.wait(10)
    asyncio.run(pay())
    thread.join()
    assert idle(scheduler)
    assert scheduler.metrics().timed_out == 0


def test_a_closed_loop_leaves_nothing_behind() -> None:
    scheduler = Scheduler()
    ticket, _ = scheduler._core.submit([1], [], True)

    async def pay() -> None:
        async with scheduler.transaction("pay", keys=[1]):
            pytest.fail("its loop is closed")

    loop = asyncio.new_event_loop()
    task = loop.create_task(pay())
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    loop.close()
    scheduler._core.release(ticket)
    assert idle(scheduler)
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_time_outs_in_a_loop() -> None:
    async def pay(scheduler: Scheduler) -> int:
        scheduler._core.submit([1], [], True)
        async with scheduler.transaction("pay", keys=[1], timeout=0.01):
            return scheduler.metrics().running

    assert asyncio.run(pay(Scheduler())) == 2
    assert asyncio.run(pay(Scheduler(longest_wait=0.005))) == 2
    locks = Scheduler(mode="locks")
    with pytest.raises(TransactionTimeoutError):
        asyncio.run(pay(locks))
    assert locks.metrics().waiting == 0


def test_a_decorated_coroutine() -> None:
    scheduler = Scheduler()

    @scheduler.transaction("pay", keys=lambda account: [account])
    async def pay(account: int) -> tuple[int, int]:
        await asyncio.sleep(0)
        return account, scheduler.metrics().running

    assert asyncio.run(pay(7)) == (7, 1)
    assert idle(scheduler)


def test_a_task_inside_a_transaction_passes_through_until_that_ends() -> None:
    scheduler = Scheduler(concurrency=1)

    async def inner(after: asyncio.Event) -> int:
        await after.wait()
        async with scheduler.transaction("inner"):
            return scheduler.metrics().passed_through

    async def outer() -> tuple[int, int]:
        now, later = asyncio.Event(), asyncio.Event()
        now.set()
        async with scheduler.transaction("outer"):
            inside = await asyncio.create_task(inner(now))
            task = asyncio.create_task(inner(later))
        later.set()
        return inside, await task

    assert asyncio.run(outer()) == (1, 1)
    assert scheduler.metrics().started == 2
    assert idle(scheduler)
