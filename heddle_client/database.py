"""A transaction of a driver's connection, with the savepoints that separate several callers'."""

from __future__ import annotations

from typing import Any, Protocol


class OuterTransaction(Protocol):
    """One transaction of the database, in which several callers' run one after the other."""

    def begin(self) -> None:
        """Begin it."""

    def commit(self) -> None:
        """Commit it."""

    def roll_back(self) -> None:
        """Roll it back; a failure is ignored, the connection is then of no use."""

    def set_savepoint(self) -> None:
        """Set the first savepoint."""

    def move_savepoint(self) -> None:
        """Keep what has been done since the savepoint, and set it again."""

    def return_to_savepoint(self) -> None:
        """Undo what has been done since the savepoint."""

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the database has refused the whole transaction because of others."""


class PsycopgTransaction:
    """One of psycopg, which refuses `commit()` and `rollback()` inside it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._block = connection.transaction()

    def begin(self) -> None:
        """Begin it."""
        self._block.__enter__()

    def commit(self) -> None:
        """Commit it."""
        self._block.__exit__(None, None, None)

    def roll_back(self) -> None:
        """Roll it back."""
        try:
            # Python raises no error of this kind: it tells psycopg to undo the block.
            self._block.__exit__(Exception, Exception(), None)
        except Exception:
            self._connection.close()

    def set_savepoint(self) -> None:
        """Set the first savepoint."""
        self._execute("SAVEPOINT heddle")

    def move_savepoint(self) -> None:
        """Set the savepoint again."""
        self._execute("RELEASE SAVEPOINT heddle; SAVEPOINT heddle")

    def return_to_savepoint(self) -> None:
        """Undo what has been done since."""
        self._execute("ROLLBACK TO SAVEPOINT heddle")

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""
        return bool(self._connection.closed)

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the error is of SQLSTATE class 40, transaction rollback."""
        return (getattr(error, "sqlstate", None) or "").startswith("40")

    def _execute(self, statements: str) -> None:
        self._connection.execute(statements, prepare=False)  # two statements cannot be prepared


class SqliteTransaction:
    """One of sqlite3, which takes the write lock when it begins."""

    _BUSY_OR_LOCKED = (5, 6)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def begin(self) -> None:
        """Begin it."""
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit it."""
        self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Roll it back."""
        try:
            self._connection.rollback()
        except Exception:
            self._connection.close()

    def set_savepoint(self) -> None:
        """Set the first savepoint."""
        self._connection.execute("SAVEPOINT heddle")

    def move_savepoint(self) -> None:
        """Set the savepoint again."""
        self._connection.execute("RELEASE heddle")
        self._connection.execute("SAVEPOINT heddle")

    def return_to_savepoint(self) -> None:
        """Undo what has been done since."""
        self._connection.execute("ROLLBACK TO heddle")

    @property
    def lost(self) -> bool:
        """A database in a file has no connection to lose."""
        return False

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the error is SQLITE_BUSY or SQLITE_LOCKED."""
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in self._BUSY_OR_LOCKED


def outer_transaction(connection: Any) -> OuterTransaction:
    """Return a transaction of a connection, which has not begun.

    Raises:
        TypeError: the connection is of another driver.
    """
    if hasattr(connection, "pgconn"):
        return PsycopgTransaction(connection)
    if hasattr(connection, "in_transaction"):
        return SqliteTransaction(connection)
    raise TypeError(
        f"a connection is a {type(connection).__module__}.{type(connection).__qualname__}: "
        "give connections of psycopg or sqlite3"
    )
