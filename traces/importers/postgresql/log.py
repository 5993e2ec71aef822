"""A csvlog with statements, read entry by entry into transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from traces.errors import TraceError, shown
from traces.importers.base import LeftOut
from traces.importers.postgresql.columns import Columns
from traces.importers.postgresql.entries import (
    BACKEND,
    CONTEXT,
    DATABASE,
    DETAIL,
    MESSAGE,
    QUERY,
    SESSION,
    SESSION_LINE,
    SEVERITY,
    STATE,
    TAG,
    USER,
    VIRTUAL_ID,
    Statement,
    parameters_in_context,
    statement_of,
)
from traces.importers.postgresql.records import Damage, Record, read_records
from traces.importers.postgresql.sessions import (
    Entry,
    Grouping,
    Session,
    Transaction,
    new_session,
)
from traces.importers.postgresql.templates import Templates
from traces.importers.postgresql.times import LogTimes, UnknownZoneError
from traces.importers.postgresql.transaction_types import TYPES_MAX, Types

NO_ACCESS = "transaction without an access to a table"
OTHER_DATABASE = "statement of another database"
SECOND_DATABASE = "statement of a second database: its tables as those of the first (--database)"
MISSING = "entries of a session that are missing"
NOT_EXACT = "entry that is not of the encoding"
TOO_MANY_TYPES = f"transaction of a type beyond the first {TYPES_MAX}"

DAMAGED_FIRST_MAX = 1000
"""A file that begins with more lines that are no entries is no log."""

_ERRORS = frozenset(("ERROR", "FATAL", "PANIC"))
_COMING = "authentication"
"""The command tag of a session that has not begun to work (`log_connections`)."""

_CLIENT = "client backend"
_RESTARTED = ("starting PostgreSQL", "database system was ")


class LogReader:
    """Reads the entries of logs, in their order, into tables of transactions.

    Sessions are told apart by their place in the server, of which there are no more than
    `max_connections`: a place that another session has taken has been left.

    Args:
        templates: filled with the log's.
        types: filled with the log's.
        left_out: where to count what does not become a transaction.
        times: reads the times of
        database: whose statements to read; None: those of all.
        encoding: of the log.

    Attributes:
        statements: how many statements were read.
    """

    def __init__(
        self,
        templates: Templates,
        types: Types,
        left_out: LeftOut,
        times: LogTimes,
        database: str | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self._types = types
        self._paths = templates.paths
        self._left_out = left_out
        self._times = times
        self._database = database
        self._encoding = encoding
        self._columns = Columns(templates, types)
        self._grouping = Grouping(
            templates, self._ended, self._unread, self._guessed, self._skipped
        )
        self._sessions: dict[str, Session] = {}
        self._first_database: str | None = None
        self._path = Path()
        self._line = 0
        self.statements = 0

    def tables(self, path: Path, lines: Iterable[bytes]) -> Iterator[pa.Table]:
        """Read one file.

        Args:
            path: its name, for messages.
            lines: its lines.

        Raises:
            TraceError: it is no csvlog; or the first thing that can't be read, if that is asked.
        """
        self._path = path
        well_formed = False
        damaged = 0
        for record in read_records(lines, self._encoding):
            self._line = record.line
            if isinstance(record, Damage):
                damaged += 1
                if not well_formed and damaged > DAMAGED_FIRST_MAX:
                    raise self._no_log(record)
                self._unread(record.reason, record.text)
                last_damage = record
                continue
            well_formed = True
            if not record.exact:
                self._unread(NOT_EXACT, record.fields[MESSAGE])
            try:
                self._entry(record)
            except UnknownZoneError as error:
                raise TraceError(f"{path}:{record.line}: {error}") from None
            except TraceError:
                raise
            except ValueError:
                self._unread("entry of an unknown form", ",".join(record.fields))
            if self._columns.full():
                yield self._columns.table()
        if damaged and not well_formed:
            raise self._no_log(last_damage)

    def last_table(self) -> pa.Table:
        """What is left at the end of the last file."""
        for session in self._sessions.values():
            self._grouping.end_of_log(session)
        self._sessions.clear()
        return self._columns.table()

    def _entry(self, record: Record) -> None:
        fields = record.fields
        message = fields[MESSAGE]
        place, _, virtual = fields[VIRTUAL_ID].partition("/")
        if not virtual:
            self._outside(fields, message)
            return
        if len(fields) > BACKEND and fields[BACKEND] != _CLIENT:
            return
        session = self._session(place, fields)
        if fields[SEVERITY] in _ERRORS:
            self._error(session, fields, virtual)
            return
        statement = statement_of(message, fields[DETAIL])
        if statement is None:
            return
        if self._database is not None and fields[DATABASE] != self._database:
            self._skipped(OTHER_DATABASE)
            return
        self._judge_database(fields[DATABASE], message)
        self.statements += 1
        entry = Entry(self._times.us(fields[0]), virtual, fields[TAG])
        self._grouping.statement(session, statement, entry)

    def _judge_database(self, database: str, message: str) -> None:
        """Where several databases are read, tables of one name are taken as one."""
        if self._first_database is None:
            self._first_database = database
        elif database != self._first_database:
            self._guessed(SECOND_DATABASE, message)

    def _error(self, session: Session, fields: list[str], virtual: str) -> None:
        if self._database is None or fields[DATABASE] == self._database:
            statement = None
            if fields[QUERY]:
                statement = Statement(fields[QUERY], parameters_in_context(fields[CONTEXT]))
            entry = Entry(self._times.us(fields[0]), virtual, fields[TAG])
            self._grouping.error(session, fields[STATE], statement, entry)
        if fields[SEVERITY] != "ERROR":
            self._grouping.end(session, lost=True)

    def _session(self, place: str, fields: list[str]) -> Session:
        name = fields[SESSION]
        line = int(fields[SESSION_LINE])
        session = self._sessions.get(place)
        if session is None or session.name != name:
            if session is not None:
                self._grouping.end(session)
            role = fields[USER]
            path = self._paths.of_role(role)
            session = self._sessions[place] = new_session(name, role, path)
            session.whole = line == 1 or fields[TAG] == _COMING
        elif line != session.line + 1:
            self._unread(MISSING, f"entry {line} of session {name} follows entry {session.line}")
        session.line = line
        return session

    def _outside(self, fields: list[str], message: str) -> None:
        """An entry of a session that is coming or going, or of the server itself."""
        name = fields[SESSION]
        if message.startswith("disconnection: ") or fields[SEVERITY] in _ERRORS:
            for place, session in self._sessions.items():
                if session.name == name:
                    self._grouping.end(session)
                    del self._sessions[place]
                    return
        elif message.startswith(_RESTARTED):
            for session in self._sessions.values():
                self._grouping.end(session, lost=True)
            self._sessions.clear()

    def _ended(self, session: Session, transaction: Transaction, outcome: int) -> None:
        if not transaction.codes:
            self._skipped(NO_ACCESS)
            return
        one = self._types.of(transaction.codes)
        if one is None:
            self._unread(TOO_MANY_TYPES, f"session {session.name}")
        else:
            self._columns.add(session, transaction, one, outcome)

    def _unread(self, reason: str, text: str) -> None:
        self._left_out.bad(reason, 1, [f"{self._path}:{self._line}: {reason}: {shown(text)}"])

    def _guessed(self, reason: str, text: str) -> None:
        self._left_out.guess(reason, 1, [f"{self._path}:{self._line}: {reason}: {shown(text)}"])

    def _skipped(self, reason: str) -> None:
        self._left_out.skip(reason, 1)

    def _no_log(self, damage: Damage) -> TraceError:
        return TraceError(
            f"{self._path}:{damage.line}: is no csvlog of PostgreSQL: {shown(damage.text)}; "
            "set log_destination = 'csvlog' and name a .csv file of log_directory"
        )
