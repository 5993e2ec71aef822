"""A transaction of a driver's connection, with the savepoints that separate several callers'.

The functions of blocking drivers are coroutines that never suspend, so that `merging.py` serves
threads and tasks alike.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol

UNANSWERED = ("08", "57P")
"""SQLSTATE classes of PostgreSQL after which a commit may have been done: the connection is lost,
or the server ends it."""
CANCELLED = "57014"
"""SQLSTATE of a statement that is cancelled, perhaps in place of the one before it, because the
server gets a cancellation on a connection of its own."""


class OuterTransaction(Protocol):
    """One transaction of the database, in which several callers' run one after the other."""

    async def begin(self) -> None:
        """Begin it."""

    async def commit(self) -> None:
        """Commit it."""

    async def roll_back(self) -> None:
        """Roll it back; a failure is ignored, the connection is then of no use."""

    async def set_savepoint(self) -> None:
        """Set the first savepoint."""

    async def move_savepoint(self) -> None:
        """Keep what has been done since the savepoint, and set it again."""

    async def return_to_savepoint(self) -> None:
        """Undo what has been done since the savepoint."""

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the database has refused the whole transaction because of others."""

    def is_refusal(self, error: BaseException) -> bool:
        """Whether the error of a commit says that the transaction has not committed."""


class _PostgresqlTransaction:
    """What the drivers of PostgreSQL have in common: errors with a SQLSTATE."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._block = connection.transaction()
        self._committing = False

    async def set_savepoint(self) -> None:
        """Set the first savepoint."""
        await self._execute("SAVEPOINT heddle")

    async def move_savepoint(self) -> None:
        """Set the savepoint again."""
        await self._execute("RELEASE SAVEPOINT heddle; SAVEPOINT heddle")

    async def return_to_savepoint(self) -> None:
        """Undo what has been done since."""
        try:
            await self._execute("ROLLBACK TO SAVEPOINT heddle")
        except Exception as error:
            if _sqlstate(error) != CANCELLED:
                raise
            await self._execute("ROLLBACK TO SAVEPOINT heddle")

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""
        raise NotImplementedError

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the error is of SQLSTATE class 40, transaction rollback."""
        return _sqlstate(error).startswith("40")

    def is_refusal(self, error: BaseException) -> bool:
        """Whether the server has answered with an error, and has kept the connection."""
        state = _sqlstate(error)
        return bool(state) and not state.startswith(UNANSWERED) and not self.lost

    async def _execute(self, statements: str) -> None:
        raise NotImplementedError


class PsycopgTransaction(_PostgresqlTransaction):
    """One of psycopg, which refuses `commit()` and `rollback()` inside it."""

    _IDLE = 0

    async def begin(self) -> None:
        """Begin it."""
        await self._enter()

    async def commit(self) -> None:
        """Commit it."""
        self._committing = True
        await self._exit(None, None)

    async def roll_back(self) -> None:
        """Roll it back. A commit that was refused has done it."""
        if self._committing and self._connection.pgconn.transaction_status == self._IDLE:
            return
        try:
            # Python raises no error of this kind: it tells psycopg to undo the block.
            await self._exit(Exception, Exception())
        except Exception:
            await self._close()

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""
        return bool(self._connection.closed)

    async def _enter(self) -> None:
        self._block.__enter__()

    async def _exit(self, kind: type[Exception] | None, error: Exception | None) -> None:
        self._block.__exit__(kind, error, None)

    async def _close(self) -> None:
        self._connection.close()

    async def _execute(self, statements: str) -> None:
        self._connection.execute(statements, prepare=False)  # two statements cannot be prepared


class AsyncPsycopgTransaction(PsycopgTransaction):
    """One of psycopg's AsyncConnection."""

    async def _enter(self) -> None:
        await self._block.__aenter__()

    async def _exit(self, kind: type[Exception] | None, error: Exception | None) -> None:
        await self._block.__aexit__(kind, error, None)

    async def _close(self) -> None:
        await self._connection.close()

    async def _execute(self, statements: str) -> None:
        await self._connection.execute(statements, prepare=False)


class AsyncpgTransaction(_PostgresqlTransaction):
    """One of asyncpg. A `connection.transaction()` inside it is a savepoint of its own."""

    async def begin(self) -> None:
        """Begin it."""
        await self._block.start()

    async def commit(self) -> None:
        """Commit it."""
        self._committing = True
        await self._block.commit()

    async def roll_back(self) -> None:
        """Roll it back, unless a commit that was refused has done it."""
        try:
            if not self._committing:
                await self._block.rollback()
            elif self._connection.is_in_transaction():
                # asyncpg rolls no transaction back whose commit has failed or was cancelled.
                await self._connection.execute("ROLLBACK")
        except Exception:
            with suppress(Exception):
                self._connection.terminate()

    @property
    def lost(self) -> bool:
        """Whether the connection is gone. A pool takes one back that the server has closed."""
        try:
            return bool(self._connection.is_closed())
        except Exception:
            return True

    async def _execute(self, statements: str) -> None:
        await self._connection.execute(statements)


class SqliteTransaction:
    """One of sqlite3, which takes the write lock when it begins."""

    _BUSY_OR_LOCKED = (5, 6)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def begin(self) -> None:
        """Begin it."""
        self._connection.execute("BEGIN IMMEDIATE")

    async def commit(self) -> None:
        """Commit it."""
        self._connection.execute("COMMIT")

    async def roll_back(self) -> None:
        """Roll it back."""
        try:
            self._connection.rollback()
        except Exception:
            self._connection.close()

    async def set_savepoint(self) -> None:
        """Set the first savepoint."""
        self._connection.execute("SAVEPOINT heddle")

    async def move_savepoint(self) -> None:
        """Set the savepoint again."""
        self._connection.execute("RELEASE heddle")
        self._connection.execute("SAVEPOINT heddle")

    async def return_to_savepoint(self) -> None:
        """Undo what has been done since."""
        self._connection.execute("ROLLBACK TO heddle")

    @property
    def lost(self) -> bool:
        """A database in a file has no connection to lose."""
        return False

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the error is SQLITE_BUSY or SQLITE_LOCKED."""
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in self._BUSY_OR_LOCKED

    def is_refusal(self, error: BaseException) -> bool:
        """A commit that raises an error has not been done."""
        return isinstance(error, Exception)


def blocking_transaction(connection: Any) -> OuterTransaction:
    """Return a transaction of a connection for threads, which has not begun.

    Raises:
        TypeError: the connection is of another driver.
    """
    if hasattr(connection, "pgconn") and not _suspends(connection):
        return PsycopgTransaction(connection)
    if hasattr(connection, "in_transaction") and not _suspends(connection):
        return SqliteTransaction(connection)
    raise TypeError(
        f"a connection is a {_name(connection)}: give connections of psycopg or sqlite3, or use "
        "AsyncMerger for one of asyncio"
    )


def awaited_transaction(connection: Any) -> OuterTransaction:
    """Return a transaction of a connection for tasks of asyncio, which has not begun.

    Raises:
        TypeError: the connection is of another driver.
    """
    if hasattr(connection, "pgconn") and _suspends(connection):
        return AsyncPsycopgTransaction(connection)
    if hasattr(connection, "is_in_transaction"):
        return AsyncpgTransaction(connection)
    raise TypeError(
        f"a connection is a {_name(connection)}: give an AsyncConnection of psycopg or a "
        "connection of asyncpg, or use Merger in threads"
    )


def _suspends(connection: Any) -> bool:
    return _is_asynchronous(getattr(type(connection), "execute", None))


@lru_cache
def _is_asynchronous(function: Any) -> bool:
    return inspect.iscoroutinefunction(function)


def _name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""
