"""Groups the interleaved statements of sessions into transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from traces.importers.postgresql.accesses import GUESSES, KEY_NOT_NAMED
from traces.importers.postgresql.catalog import PUBLIC, split_name
from traces.importers.postgresql.constants import CutValueError, UnknownValueError
from traces.importers.postgresql.entries import Statement
from traces.importers.postgresql.key_values import (
    KEYS_OF_ONE_STATEMENT_MAX,
    Step,
    key_at,
    keys_of,
)
from traces.importers.postgresql.names import path_of
from traces.importers.postgresql.search_path import PathSetting, SearchPath
from traces.importers.postgresql.statement_kinds import Control
from traces.importers.postgresql.templates import Planned, Template, Templates
from traces.importers.postgresql.temporary_tables import TEMPORARY

COMMITTED, ROLLED_BACK, ABORTED = range(3)
"""How a transaction ended, as indices of `traces.schema.OUTCOMES`."""

ACCESSES_MAX = 1 << 20
"""The maximum number of accesses of a transaction; further ones are left out."""

NO_VALUE = "parameter whose value is not in the log"
CUT_VALUE = "parameter whose value is cut short (log_parameter_max_length)"
NO_END = "transaction whose end is not in the log"
NO_BEGIN = "transaction that began before the log"
TOO_LONG = f"access beyond the {ACCESSES_MAX}th of a transaction"
REFUSED = "statement that PostgreSQL refused"

OUTSIDE = "0"
"""The local id if there is no transaction."""

_INSIDE = "idle in transaction"
_REFUSED_STATES = "42"
"""Classes of errors of statements that never ran: syntax, unknown tables, missing rights."""
_FAILED_ALREADY = "25P02"


@dataclass(slots=True)
class Transaction:
    """A transaction, while it runs and after it has ended.

    Attributes:
        begin_us: its start: microseconds since 1970 (UTC).
        virtual: its local id in the server, or `OUTSIDE`: unknown.
        explicit: whether it runs until a statement ends it.
        whole: whether its start is in the log.
        codes: the codes of its accesses, in their order.
        keys: the keys of its accesses, as text.
        failed: the state of the error that made it fail; empty: none.
        ending: how it ends, unless the statement that ends it fails.
        chained: whether another transaction starts at its end.
        path: the search path, if the transaction has set it.
        kept_path: the search path after it, if it commits.
        current: the statement whose success is not yet known.
        before_current: the number of accesses before that statement.
    """

    begin_us: int
    virtual: str
    explicit: bool = False
    whole: bool = True
    codes: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    failed: str = ""
    ending: int | None = None
    chained: bool = False
    path: SearchPath | None = None
    kept_path: SearchPath | None = None
    current: str | None = None
    before_current: int = 0

    def forget_current(self) -> None:
        """Discard the current statement, which never ran."""
        del self.codes[self.before_current :]
        del self.keys[self.before_current :]


@dataclass(slots=True)
class Session:
    """A session and its current transaction.

    Attributes:
        name: the session id of the log.
        number: the id as an integer: its start and its process.
        line: the number of its last entry.
        whole: whether the log covers it from a point between two transactions.
        whole_is_known: whether the log determines `whole`, or the guess was counted.
        begun_us: the start of its last transaction.
        transaction: its current transaction.
        role: its role.
        first_path: its initial search path.
        path: the search path outside of a transaction.
        temporary: the names of its temporary tables.
    """

    name: str
    number: int
    line: int = 0
    whole: bool = True
    whole_is_known: bool = True
    begun_us: int = 0
    transaction: Transaction | None = None
    role: str = ""
    first_path: SearchPath = (PUBLIC,)
    path: SearchPath = (PUBLIC,)
    temporary: set[str] = field(default_factory=set)

    @property
    def search_path(self) -> SearchPath:
        """The search path in effect."""
        within = self.transaction.path if self.transaction is not None else None
        return self.path if within is None else within

    def begin(self, begin_us: int, virtual: str) -> Transaction:
        """Begin a transaction, which starts no earlier than the last."""
        # Times of entries are cut to milliseconds, but durations are not.
        self.begun_us = max(begin_us, self.begun_us)
        self.transaction = Transaction(self.begun_us, virtual)
        return self.transaction


class Entry(NamedTuple):
    """What an entry of the log tells about its session.

    Attributes:
        at_us: when it was written: microseconds since 1970 (UTC).
        virtual: the local id of the session's transaction in the server, or `OUTSIDE`.
        tag: the command tag, which may show whether the session is in a transaction.
    """

    at_us: int
    virtual: str
    tag: str


Ended = Callable[[Session, Transaction, int], None]
"""Called with each transaction that has ended: session, transaction, outcome."""

Unread = Callable[[str, str], None]
"""Called with the reason and the text of what can't be read."""

Guessed = Callable[[str, str], None]
"""Called with the reason and the text of what is guessed."""

Skipped = Callable[[str], None]
"""Called with the reason of what is no transaction by nature."""


def new_session(name: str, role: str = "", path: SearchPath = (PUBLIC,)) -> Session:
    """Create a session from its id, which is its start and its process in hexadecimal digits.

    Args:
        name: the id.
        role: its role.
        path: its search path.

    Raises:
        ValueError: the id is invalid.
    """
    start, _, process = name.partition(".")
    number = (int(start, 16) << 24 | int(process, 16)) & ((1 << 63) - 1)
    return Session(name, number, role=role, first_path=path, path=path)


class Grouping:
    """Groups the statements of sessions into transactions.

    If an entry is written before its statement runs, the statement has succeeded when the session
    continues without an error; so a transaction ends with the session's next entry.

    Args:
        templates: the templates of the log.
        ended: see `Ended`.
        unread: see `Unread`.
        guessed: see `Guessed`.
        skipped: see `Skipped`.
    """

    def __init__(
        self,
        templates: Templates,
        ended: Ended,
        unread: Unread,
        guessed: Guessed,
        skipped: Skipped,
    ) -> None:
        self._templates = templates
        self._ended = ended
        self._unread = unread
        self._guessed = guessed
        self._skipped = skipped

    def statement(self, session: Session, statement: Statement, entry: Entry) -> None:
        """Add a statement that is about to run, or has run."""
        path = session.search_path
        parts, plans = self._templates.statements(statement.sql, path)
        before = session.transaction
        # Most statements continue the transaction of the previous one.
        if before is not None and (before.ending is not None or entry.virtual != before.virtual):
            self._continue(session, entry, bool(plans) and plans[0].template.ends)
            if session.search_path != path:
                path = session.search_path
                parts, plans = self._templates.statements(statement.sql, path)
        begin_us = entry.at_us - (statement.took_us or 0)
        last = len(plans) - 1
        for place in range(len(plans)):
            if session.search_path != path:  # an earlier statement of the same text set it
                path = session.search_path
                _, plans = self._templates.statements(statement.sql, path)
            planned = plans[place]
            control = planned.template.control
            transaction = session.transaction
            if transaction is None:
                transaction = session.begin(begin_us, entry.virtual)
                if not session.whole or entry.tag.startswith(_INSIDE):
                    self._judge_begin(session, transaction, statement, entry, control)
            transaction.before_current = len(transaction.codes)
            if control is not Control.NONE:
                self._control(session, transaction, control)
                if place != last:
                    self._finish_ending(session, entry)
            elif not transaction.failed:
                self._touch(session, transaction, planned, parts, statement.parameters)
                if planned.path is not None:
                    self._set_path(session, transaction, planned.path, parts, statement.parameters)
        transaction = session.transaction
        if transaction is None:
            return
        transaction.current = statement.sql if statement.took_us is None else None
        if statement.took_us is None:
            return
        if transaction.ending is not None:
            self._finish_ending(session, entry)
        elif not transaction.explicit and entry.virtual == OUTSIDE:
            self._finish(session, COMMITTED)

    def error(
        self, session: Session, state: str, statement: Statement | None, entry: Entry
    ) -> None:
        """Add an error that made a statement and its transaction fail.

        Args:
            session: the session.
            state: the SQLSTATE of the error.
            statement: the failed statement, if the entry names it.
            entry: the entry of the error.
        """
        if state == _FAILED_ALREADY:
            return
        refused = state.startswith(_REFUSED_STATES)
        current = session.transaction.current if session.transaction is not None else None
        if statement is not None and current != statement.sql:
            if refused:
                self._continue(session, entry)
            else:
                self.statement(session, statement, entry)
        elif refused and session.transaction is not None:
            session.transaction.forget_current()
        if refused:
            self._skipped(REFUSED)
        transaction = session.transaction
        if transaction is None:
            return
        transaction.failed = state
        transaction.current = None
        if refused and not transaction.explicit and not transaction.codes:
            session.transaction = None
        elif transaction.ending is not None or not transaction.explicit:
            self._finish(session, ABORTED)

    def end(self, session: Session, lost: bool = False) -> None:
        """Add the end of a session.

        Args:
            session: the session.
            lost: whether the server terminated it, or crashed.
        """
        transaction = session.transaction
        if transaction is None:
            return
        if (transaction.explicit and transaction.ending is None) or lost:
            self._finish(session, ABORTED)
        else:
            self._finish(session, COMMITTED if transaction.ending is None else transaction.ending)

    def end_of_log(self, session: Session) -> None:
        """Add the end of the log to a session."""
        transaction = session.transaction
        if transaction is None:
            return
        if transaction.explicit and transaction.ending is None:
            session.transaction = None
            self._skipped(NO_END)
        else:
            self.end(session)

    def _continue(self, session: Session, entry: Entry, ends: bool = False) -> None:
        """Finish what was to end before the session's next entry.

        Args:
            session: the session.
            entry: the next entry.
            ends: whether the entry's statement ends the transaction; an entry written after it
                already has the id of the next transaction.
        """
        transaction = session.transaction
        if transaction is None:
            return
        transaction.current = None
        if transaction.ending is not None:
            self._finish_ending(session, entry)
        elif entry.virtual == transaction.virtual:
            return
        elif not transaction.explicit:
            self._finish(session, COMMITTED)
        elif not ends and OUTSIDE not in (entry.virtual, transaction.virtual):
            session.transaction = None
            self._skipped(NO_END)

    def _judge_begin(
        self,
        session: Session,
        transaction: Transaction,
        statement: Statement,
        entry: Entry,
        control: Control,
    ) -> None:
        """Determine whether a transaction that seems to start here started before the log."""
        inside = statement.took_us is None and entry.tag.startswith(_INSIDE)
        alone = entry.tag == "idle" or entry.virtual == OUTSIDE or control is Control.BEGIN
        transaction.explicit = inside
        transaction.whole = not inside and (session.whole or alone)
        session.whole = True

    def _control(self, session: Session, transaction: Transaction, control: Control) -> None:
        if control is Control.BEGIN:
            transaction.explicit = True
        elif control is Control.ROLLBACK_TO:
            transaction.failed = ""
        elif control is Control.HAND_OVER:
            session.transaction = None
            self._skipped(NO_END)
        else:
            commits = control in (Control.COMMIT, Control.COMMIT_AND_CHAIN)
            wished = COMMITTED if commits else ROLLED_BACK
            transaction.ending = ABORTED if transaction.failed else wished
            transaction.chained = control in (
                Control.COMMIT_AND_CHAIN,
                Control.ROLLBACK_AND_CHAIN,
            )

    def _finish_ending(self, session: Session, entry: Entry) -> None:
        transaction = session.transaction
        if transaction is None or transaction.ending is None:
            return
        self._finish(session, transaction.ending)
        if transaction.chained:
            session.begin(entry.at_us, entry.virtual).explicit = True

    def _finish(self, session: Session, outcome: int) -> None:
        transaction = session.transaction
        session.transaction = None
        if transaction is None:
            return
        if outcome == COMMITTED and transaction.kept_path is not None:
            session.path = transaction.kept_path
        if not transaction.whole:
            self._skipped(NO_BEGIN)
        else:
            self._ended(session, transaction, outcome)

    def _touch(
        self,
        session: Session,
        transaction: Transaction,
        planned: Planned,
        parts: list[str],
        parameters: list[str] | None,
    ) -> None:
        template = planned.template
        if template.temporary is not None:
            session.temporary.add(template.temporary)
        elif session.temporary:
            self._forget_temporary(session, template)
        if session.temporary and template.codes and self._is_temporary(session, template):
            self._skipped(TEMPORARY)
            return
        text = template.text
        steps = planned.steps_of(parts, parameters, self._report)
        for reason in planned.reasons(steps):
            self._report(reason, text)
        if len(transaction.codes) >= ACCESSES_MAX:
            self._unread(TOO_LONG, text)
            return
        try:
            for step in steps:
                if session.temporary and _bare(step.access.table) in session.temporary:
                    continue
                if step.place:
                    key = key_at(step, parts, parameters, self._report)
                    if key is None:
                        continue  # the key equals no row
                    transaction.codes.append(step.code)
                    transaction.keys.append(key)
                else:
                    keys = self._keys(session, transaction, step, parts, parameters)
                    transaction.codes += [step.code] * len(keys)
                    transaction.keys += keys
        except UnknownValueError as error:
            del transaction.codes[len(transaction.keys) :]
            is_cut = isinstance(error, CutValueError)
            self._unread(CUT_VALUE if is_cut else NO_VALUE, text)

    def _report(self, reason: str, text: str) -> None:
        """Report the reason of a guess or an omission."""
        (self._guessed if reason in GUESSES else self._unread)(reason, text)

    def _forget_temporary(self, session: Session, template: Template) -> None:
        if template.dropped is None:
            session.temporary.clear()
        else:
            session.temporary -= template.dropped

    def _is_temporary(self, session: Session, template: Template) -> bool:
        """Whether a statement accesses only temporary tables of its session."""
        made = template.accesses.made
        return all(_bare(access.table) in session.temporary for access in made)

    def _set_path(
        self,
        session: Session,
        transaction: Transaction,
        setting: PathSetting,
        parts: list[str],
        parameters: list[str] | None,
    ) -> None:
        try:
            schemas = setting.schemas(parts, parameters)
        except LookupError:
            return
        path = session.first_path
        if schemas is not None:
            path = path_of(schemas, session.role, self._templates.keys.catalog)
        transaction.path = path
        if not setting.local:
            transaction.kept_path = path

    def _keys(
        self,
        session: Session,
        transaction: Transaction,
        step: Step,
        parts: list[str],
        parameters: list[str] | None,
    ) -> list[str]:
        if step.access.key is None:
            # A generated key is unique.
            rows = max(map(len, step.slots), default=1) if step.access.kind == "insert" else 1
            made = f"{session.name}.{session.line}.{len(transaction.keys)}"
            return [f"{made}.{row}" for row in range(rows)]
        keys = keys_of(step, parts, parameters, self._report)
        if len(keys) == KEYS_OF_ONE_STATEMENT_MAX:
            self._unread(KEY_NOT_NAMED, step.access.table)
        return keys


def _bare(table: str) -> str:
    """Return a table's name without its schema."""
    return split_name(table)[1]
