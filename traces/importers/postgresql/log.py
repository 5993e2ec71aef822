"""Reads the entries of a log with statements into transactions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from traces.errors import TraceError, shown
from traces.importers.base import LeftOut
from traces.importers.log_clock import TWICE
from traces.importers.postgresql.columns import Columns
from traces.importers.postgresql.entries import (
    BACKEND,
    CLIENT,
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
    is_cut,
    parameters_in_context,
    statement_of,
)
from traces.importers.postgresql.log_forms import LogForms
from traces.importers.postgresql.records import Damage, Record
from traces.importers.postgresql.sessions import (
    Entry,
    Grouping,
    Session,
    Transaction,
    new_session,
)
from traces.importers.postgresql.stderr_log import UNKNOWN_VIRTUAL
from traces.importers.postgresql.templates import Templates
from traces.importers.postgresql.times import LogTimes, UnknownZoneError
from traces.importers.postgresql.transaction_types import TYPES_MAX, Types
from traces.importers.source_file import SourceFile

NO_ACCESS = "transaction without an access to a table"
OTHER_DATABASE = "statement of another database"
SECOND_DATABASE = "statement of a second database: its tables as those of the first (--database)"
CUT_STATEMENT = "statement that is cut short"
MISSING = "entries of a session that are missing"
REPEATED = "entry that was read before, or comes after later ones of its session"
UNENDED = "last entry of a file, without the end of its line: taken to be whole"
NO_FIRST_ENTRY = "session whose first entry is not told (%l): taken to begin where the log has it"
ALONE = "statement without a transaction's id (%v): taken to be one of its own"
NOT_EXACT = "entry that is not of the encoding"
TOO_MANY_TYPES = f"transaction of a type beyond the first {TYPES_MAX}"

DAMAGED_FIRST_MAX = 1000
"""A file whose first lines are no entries is rejected after this number of lines."""

_ERRORS = frozenset(("ERROR", "FATAL", "PANIC"))
_COMING = "authentication"
"""The command tag of a session that has not started to work (`log_connections`)."""

SESSIONS_MAX = 1 << 18
"""The number of sessions whose last entries are remembered."""

_RESTARTED = ("starting PostgreSQL", "database system was ")


class LogReader:
    """Reads the entries of logs, in their order, into tables of transactions.

    A session is identified by its slot in the server, of which there are `max_connections`; when
    another session uses the slot, the first has ended.

    Args:
        templates: receives the templates of the log.
        types: receives the types of the log.
        left_out: counts what does not become a transaction.
        times: parses times.
        forms: parses files into entries.
        database: the database whose statements are read; None: all.

    Attributes:
        statements: the number of statements that were read.
    """

    def __init__(
        self,
        templates: Templates,
        types: Types,
        left_out: LeftOut,
        times: LogTimes,
        forms: LogForms,
        database: str | None = None,
    ) -> None:
        self._types = types
        self._paths = templates.paths
        self._left_out = left_out
        self._times = times
        self._database = database
        self._forms = forms
        self._columns = Columns(templates, types)
        self._grouping = Grouping(
            templates, self._ended, self._unread, self._guessed, self._skipped
        )
        self._sessions: dict[str, Session] = {}
        self._first_database: str | None = None
        self._last_lines: dict[str, int] = {}
        self._made_virtuals = 0
        self._path = Path()
        self._line = 0
        self.statements = 0

    def tables(self, source: SourceFile) -> Iterator[pa.Table]:
        """Read one file.

        Raises:
            TraceError: it is not a log, or, if bad rows are errors, one is bad.
        """
        self._path = source.path
        well_formed = False
        damaged = 0
        for record in self._forms.records(source):
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
            if record.unended:
                self._guessed(UNENDED, record.fields[MESSAGE])
            try:
                self._entry(record)
            except UnknownZoneError as error:
                raise TraceError(f"{source.path}:{record.line}: {error}") from None
            except TraceError:
                raise
            except ValueError:
                self._unread("entry of an unknown form", ",".join(record.fields))
            if self._columns.full():
                yield self._columns.table()
        if damaged and not well_formed:
            raise self._no_log(last_damage)

    def last_table(self) -> pa.Table:
        """Return the remaining transactions at the end of the last file."""
        for session in self._sessions.values():
            self._grouping.end_of_log(session)
        self._sessions.clear()
        return self._columns.table()

    def _entry(self, record: Record) -> None:
        fields = record.fields
        message = fields[MESSAGE]
        line = int(fields[SESSION_LINE] or 0)
        if line and self._is_repeated(fields[SESSION], line, record):
            return
        place, _, virtual = fields[VIRTUAL_ID].partition("/")
        if not virtual:
            self._outside(fields, message)
            return
        if len(fields) > BACKEND and fields[BACKEND] != CLIENT:
            return
        session = self._session(place, fields, line)
        session.line = line + record.numbers - 1 if line else session.line + 1
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
        if not session.whole_is_known:
            session.whole_is_known = True
            self._guessed(NO_FIRST_ENTRY, statement.sql)
        if is_cut(statement.sql):
            self._unread(CUT_STATEMENT, statement.sql)
            statement = statement._replace(sql="")
        if virtual == UNKNOWN_VIRTUAL:
            virtual = self._made_virtual(session, statement)
        entry = Entry(self._us(fields[0]), virtual, fields[TAG])
        self._grouping.statement(session, statement, entry)

    def _us(self, time: str) -> int:
        """Return the time of an entry."""
        us = self._times.us(time)
        if self._times.is_guessed:
            self._guessed(TWICE, time)
        return us

    def _judge_database(self, database: str, message: str) -> None:
        """Count statements of further databases, whose tables are not distinguished by database."""
        if self._first_database is None:
            self._first_database = database
        elif database != self._first_database:
            self._guessed(SECOND_DATABASE, message)

    def _error(self, session: Session, fields: list[str], virtual: str) -> None:
        if self._database is None or fields[DATABASE] == self._database:
            statement = None
            if fields[QUERY]:
                statement = Statement(fields[QUERY], parameters_in_context(fields[CONTEXT]))
            if virtual == UNKNOWN_VIRTUAL:
                virtual = self._made_virtual(session, None)
            entry = Entry(self._us(fields[0]), virtual, fields[TAG])
            self._grouping.error(session, fields[STATE], statement, entry)
        if fields[SEVERITY] != "ERROR":
            self._grouping.end(session, lost=True)

    def _is_repeated(self, name: str, line: int, record: Record) -> bool:
        """Whether an earlier file, which overlaps with this one, has the entry."""
        last = self._last_lines.get(name, 0)
        if line <= last:
            self._unread(REPEATED, f"entry {line} of session {name} follows entry {last}")
            return True
        self._last_lines[name] = line + record.numbers - 1
        if len(self._last_lines) > SESSIONS_MAX:
            del self._last_lines[next(iter(self._last_lines))]
        return False

    def _made_virtual(self, session: Session, statement: Statement | None) -> str:
        """Return an id for a transaction if the log has none.

        Args:
            session: the session.
            statement: the statement of the entry; None: the entry is an error.
        """
        transaction = session.transaction
        if transaction is not None and transaction.ending is None:
            fails = statement is None and transaction.current is not None
            if transaction.explicit or fails:
                return transaction.virtual
        if statement is not None and statement.extended:
            self._guessed(ALONE, statement.sql)
        self._made_virtuals += 1
        return str(self._made_virtuals)

    def _session(self, place: str, fields: list[str], line: int) -> Session:
        name = fields[SESSION]
        session = self._sessions.get(place)
        if session is None or session.name != name:
            if session is not None:
                self._grouping.end(session)
            role = fields[USER]
            path = self._paths.of_role(role)
            session = self._sessions[place] = new_session(name, role, path)
            is_coming = fields[TAG] == _COMING
            session.whole = line <= 1 or is_coming
            session.whole_is_known = line > 0 or is_coming
        elif line and line != session.line + 1:
            self._unread(MISSING, f"entry {line} of session {name} follows entry {session.line}")
        return session

    def _outside(self, fields: list[str], message: str) -> None:
        """Handle an entry of the server, or of a session that starts or ends."""
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
        type_ = self._types.of(transaction.codes)
        if type_ is None:
            self._unread(TOO_MANY_TYPES, f"session {session.name}")
        else:
            self._columns.add(session, transaction, type_, outcome)

    def _unread(self, reason: str, text: str) -> None:
        self._left_out.bad(reason, 1, [f"{self._path}:{self._line}: {reason}: {shown(text)}"])

    def _guessed(self, reason: str, text: str) -> None:
        self._left_out.guess(reason, 1, [f"{self._path}:{self._line}: {reason}: {shown(text)}"])

    def _skipped(self, reason: str) -> None:
        self._left_out.skip(reason, 1)

    def _no_log(self, damage: Damage) -> TraceError:
        return TraceError(
            f"{self._path}:{damage.line}: is not a known log of PostgreSQL: "
            f"{shown(damage.text)}; name a .csv or .json file of log_directory, or give what SHOW "
            "log_line_prefix prints with --log-line-prefix"
        )
