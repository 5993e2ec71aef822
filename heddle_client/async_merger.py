"""Transactions of several tasks of asyncio that the database commits as one."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import weakref
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from heddle_client.database import awaited_transaction
from heddle_client.merging import Call, Group, Groups, Merging, run_alone
from heddle_client.transaction import Transaction

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

Result = TypeVar("Result")
Connect = Callable[[], AbstractAsyncContextManager[Any]]


class TaskCall(Call):
    """A transaction that a task waits for."""

    def __init__(self, transaction: Transaction, function: Callable[[Any], Any]) -> None:
        super().__init__(transaction)
        self._function = function
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._woken = self._loop.create_future()
        self._is_woken = False
        """Whether it has been woken: a cancellation may end the future before."""
        self._task: asyncio.Task[Any] | None = None
        """Runs its function, in a group."""

    def wake(self) -> None:
        """Let its task continue."""
        self._is_woken = True
        if not self._woken.done():
            with suppress(RuntimeError):  # the loop is closed, and the task will never run
                self._woken.set_result(None)

    def let_go(self) -> None:
        """Let its task continue."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.wake)

    async def wait(self) -> bool:
        """Suspend the task until it is woken.

        A cancellation waits for the end of the group if the function has ended: it can then not be
        undone by itself, and the caller has to be able to read what it has written. A second
        cancellation does not wait.
        """
        try:
            await self._woken
        except asyncio.CancelledError:
            if not self._is_woken and self._task is not None and self._task.done():
                self._woken = self._loop.create_future()
                await self._woken
            raise
        self._woken = self._loop.create_future()
        self._is_woken = False
        return True

    async def apply(self, connection: Any, inside: Transaction | None) -> Any:
        """Run its function: alone in the task that waits for it, else in one of its own.

        The function then ends in order if its caller is cancelled, even more than once.
        """
        if inside is None:
            return await self._call(connection)
        run = self._run_inside(connection, inside)
        self._task = self._loop.create_task(run, context=self._context)
        try:
            return await self._task
        except asyncio.CancelledError as error:
            leader = asyncio.current_task()
            if leader is not None and leader.cancelling():
                raise
            raise _CancelledError from error

    def leave(self) -> None:
        """Cancel its function."""
        if self._task is not None:
            with suppress(RuntimeError):
                self._task.cancel()

    async def _run_inside(self, connection: Any, inside: Transaction) -> Any:
        included = inside._include(self.transaction._type)
        try:
            return await self._call(connection)
        finally:
            if included is not None:
                included.end()

    async def _call(self, connection: Any) -> Any:
        made = self._function(connection)
        if not isinstance(made, Awaitable):
            raise TypeError(
                f"transaction {self.transaction._type!r}: its function has returned a "
                f"{type(made).__name__}: give an async function, or use Merger in threads"
            )
        return await made


class _CancelledError(Exception):
    """The function was cancelled."""


class _LoopGroups(Groups):
    """Those of an event loop."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.leaders: set[asyncio.Task[None]] = set()
        """A loop refers only weakly to its tasks."""

    def led(self, group: Group, leader: asyncio.Task[None]) -> None:
        """Forget a leader, and end the group of one that was cancelled before it began."""
        self.leaders.discard(leader)
        self.end(group)


class AsyncMerger(Merging):
    """Runs transactions of asyncio's tasks, several in one transaction of the database.

    A task of its own runs a group, so that it survives the cancellation of any caller. Each event
    loop has groups of its own. `docs/client-library.md` describes what happens if a call fails.

    Args:
        scheduler: its policy has `merge`, and `concurrency`, the groups at a time; None: one.
        connect: returns an asynchronous context manager of a connection, such as the method
            `acquire` of a pool of asyncpg, or `connection` of psycopg's AsyncConnectionPool. If an
            exception ends its block, it must roll back or close the connection.
    """

    def __init__(self, scheduler: Scheduler, connect: Connect) -> None:
        super().__init__(scheduler, connect)

    async def run(
        self,
        type: str,  # noqa: A002 (the word of the field)
        function: Callable[..., Awaitable[Result]],
        *args: Any,
        keys: Iterable[Hashable] = (),
        shared: Iterable[Hashable] = (),
    ) -> Result:
        """Return what `await function(connection, *args)` does, after its effects have committed.

        The function may run in another task, with a copy of the context of this one, and a second
        time if its group has failed. It must neither commit nor roll back.

        Args:
            type: name of the transaction type, as in the policy.
            function: executes the statements of the transaction.
            args: its arguments behind the connection.
            keys: what it may write.
            shared: what it only reads.

        Raises:
            InDoubtError: the connection was lost, or a function of the group has ended the
                database's transaction. The call is not repeated.
            CancelledError: this task was cancelled. If the function had not ended, its effects are
                undone. Else the transaction is over, and may have committed.
            Exception: what the function raised; its effects are undone. Or what the database raised
                at the commit of this transaction alone.
        """
        transaction = self._scheduler.transaction(type, keys, shared)
        call = TaskCall(transaction, lambda connection: function(connection, *args))
        try:
            result: Result = await self._run(self._groups(), call)
        except _CancelledError as error:
            raise asyncio.CancelledError from error.__cause__
        return result

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, weakref.ref[_LoopGroups]
        ] = weakref.WeakKeyDictionary()
        """Only the tasks of a loop refer to its groups: they all end with a loop that is closed."""

    def _groups(self) -> _LoopGroups:
        """Return those of the loop that runs: its connections are of no use in another."""
        loop = asyncio.get_running_loop()
        with self._lock:
            known = self._loops.get(loop)
            groups = None if known is None else known()
            if groups is None:
                groups = _LoopGroups(self._scheduler)
                self._loops[loop] = weakref.ref(groups)
            return groups

    def _all_groups(self) -> list[_LoopGroups]:
        with self._lock:
            found = [known() for known in self._loops.values()]
        return [groups for groups in found if groups is not None]

    def _let_go(self) -> None:
        for groups in self._all_groups():
            groups.let_go()

    async def _start(self, groups: Groups, group: Group, call: Call) -> None:
        if len(group.calls) == 1:
            await self._lead(groups, group)
            return
        assert isinstance(groups, _LoopGroups)
        leader = asyncio.get_running_loop().create_task(self._lead(groups, group))
        groups.leaders.add(leader)
        leader.add_done_callback(partial(groups.led, group))
        try:
            await call.wait()
        except BaseException:
            groups.withdraw(call)
            raise

    async def _connect_group(self, group: Group) -> None:
        async with self._admission(group.calls) as inside, self._connect() as connection:
            await self._merge(group, inside, connection, awaited_transaction(connection))

    async def _connect_alone(self, call: Call) -> Any:
        async with call.transaction, self._connect() as connection:
            return await run_alone(call, connection, awaited_transaction(connection))
