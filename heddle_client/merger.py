"""Transactions of several threads that the database commits as one."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from heddle_client.database import blocking_transaction
from heddle_client.merging import Call, Group, Groups, Merging, run_alone
from heddle_client.transaction import Transaction

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

Result = TypeVar("Result")
Connect = Callable[[], AbstractContextManager[Any]]

PATIENCE_S = 1.0
"""Between two checks of a thread that waits, whether an interrupt has ended its leader."""


class ThreadCall(Call):
    """A transaction that a thread waits for."""

    def __init__(self, transaction: Transaction, function: Callable[[Any], Any]) -> None:
        super().__init__(transaction)
        self._function = function
        self._gate = threading.Lock()
        self._gate.acquire()

    def wake(self) -> None:
        """Let its thread continue."""
        if self._gate.locked():
            self._gate.release()

    def let_go(self) -> None:
        """Let its thread continue."""
        self.wake()

    def leave(self) -> None:
        """Let its function end: nothing can stop another thread."""

    async def wait(self) -> bool:
        """Block the thread until it is woken, or its leader is to be checked."""
        return self._gate.acquire(timeout=PATIENCE_S)

    async def apply(self, connection: Any, inside: Transaction | None) -> Any:
        """Call its function in the thread that leads."""
        try:
            result = self._function(connection)
        except StopIteration as error:
            raise _StoppedError(error) from None
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError(
                f"transaction {self.transaction._type!r}: its function is a coroutine: use "
                "AsyncMerger"
            )
        return result


class _StoppedError(Exception):
    """A function has raised StopIteration, which a coroutine cannot pass on."""


class Merger(Merging):
    """Runs transactions of threads, several in one transaction of the database.

    The thread of the oldest call that waits runs a group. `docs/client-library.md` describes what
    happens if a call fails. `AsyncMerger` is the same for asyncio.

    Args:
        scheduler: its policy has `merge`, and `concurrency`, the groups at a time; None: one.
        connect: returns a context manager of a connection, such as the method `connection` of a
            pool of psycopg. The connection is of psycopg or sqlite3. If an exception ends its
            block, it must roll back or close the connection.
    """

    def __init__(self, scheduler: Scheduler, connect: Connect) -> None:
        super().__init__(scheduler, connect)

    def run(
        self,
        type: str,  # noqa: A002 (the word of the field)
        function: Callable[..., Result],
        *args: Any,
        keys: Iterable[Hashable] = (),
        shared: Iterable[Hashable] = (),
    ) -> Result:
        """Return what `function(connection, *args)` returns, after its effects have committed.

        The function may run in another thread, and a second time if its group has failed. It must
        neither commit nor roll back.

        Args:
            type: name of the transaction type, as in the policy.
            function: executes the statements of the transaction.
            args: its arguments behind the connection.
            keys: what it may write.
            shared: what it only reads.

        Raises:
            InDoubtError: the connection was lost, or a function of the group has ended the
                database's transaction. The call is not repeated.
            Exception: what the function raised; its effects are undone. Or what the database raised
                at the commit of this transaction alone.
        """
        transaction = self._scheduler.transaction(type, keys, shared)
        call = ThreadCall(transaction, lambda connection: function(connection, *args))
        coroutine = self._run(self._groups, call)
        try:
            coroutine.send(None)  # it never suspends
        except StopIteration as end:
            result: Result = end.value
            return result
        except _StoppedError as error:
            raise error.args[0] from None
        raise AssertionError("a transaction of a thread has suspended")

    def _reset(self) -> None:
        self._groups = Groups(self._scheduler)

    def _let_go(self) -> None:
        self._groups.let_go()

    async def _start(self, groups: Groups, group: Group, call: Call) -> None:
        await self._lead(groups, group)

    async def _connect_group(self, group: Group) -> None:
        with self._admission(group.calls) as inside, self._connect() as connection:
            await self._merge(group, inside, connection, blocking_transaction(connection))

    async def _connect_alone(self, call: Call) -> Any:
        with call.transaction, self._connect() as connection:
            return await run_alone(call, connection, blocking_transaction(connection))
