"""The mapping of `heddle trace import --format access-log`: a YAML file that assigns columns."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from traces.errors import TraceError, shown
from traces.importers.byte_order import read_text
from traces.importers.key_columns import NO_VALUE
from traces.importers.log_times import EPOCH, ISO, UNITS, TimeForm
from traces.importers.mapping_text import load_text
from traces.importers.source_file import check_source
from traces.schema import ACCESS_KINDS, OUTCOMES

LOGS = ("csv", "jsonl", "parquet")
ACCESS_KEYS = ("table", "key", "kind")
BYTES_MAX = 1 << 20
GAP_MS = 60_000
"""The default of the longest pause within a transaction that has an id."""

KEYS = (
    "log",
    "delimiter",
    "time",
    "session",
    "user",
    "type",
    "transaction",
    "gap_ms",
    "table",
    "key",
    "kind",
    "statement",
    "parameters",
    "outcome",
    "numbers",
    "no_value",
)
KIND_WORDS = {**{kind: kind for kind in ACCESS_KINDS}, "select": "read"}


@dataclass(frozen=True)
class Word:
    """The source of a word: a column or a constant.

    Attributes:
        column: the column's name; None for a constant.
        value: the constant.
        words: the meanings of the column's words, in lower case; empty: words mean themselves.
    """

    column: str | None = None
    value: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AccessLogMapping:
    """The assignment of a log's columns; see docs/traces.md.

    Attributes:
        log: `csv`, `jsonl`, `parquet`, or None: by the ending of the file's name.
        delimiter: the delimiter of CSV.
        time, time_form: when a row's access was made.
        session, user: columns that together name one.
        type: the transaction's type.
        transaction: columns that together name a transaction; empty: session and gap define it.
        gap_ms: a longer pause separates two transactions.
        table, key, kind: the access; all None and empty if unknown.
        statement: a name for the access.
        parameters: columns with parameters of the request.
        outcome: how the transaction ended.
        numbers: columns of keys whose values are numbers in any notation.
        no_value: texts that stand for a missing value.
    """

    time: str
    time_form: TimeForm
    session: tuple[str, ...]
    gap_ms: float
    transaction: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    type: Word = field(default_factory=lambda: Word(value="transaction"))
    table: Word | None = None
    key: tuple[str, ...] = ()
    kind: Word | None = None
    statement: str | None = None
    parameters: tuple[str, ...] = ()
    outcome: Word | None = None
    log: str | None = None
    delimiter: str = ","
    numbers: tuple[str, ...] = ()
    no_value: tuple[str, ...] = NO_VALUE

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose values become keys, without duplicates."""
        return tuple(dict.fromkeys((*self.key, *self.session, *self.transaction, *self.user)))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are named, without duplicates."""
        words = [word.column for word in (self.type, self.table, self.kind, self.outcome) if word]
        several = (*self.session, *self.user, *self.transaction, *self.key, *self.parameters)
        named = [self.time, *several, *words, self.statement]
        return tuple(dict.fromkeys(name for name in named if name))


def small_letters(word: str) -> str:
    """Return a word in lower case, as words are compared."""
    return str(pc.utf8_lower(pa.scalar(word)))


def load_mapping(path: Path) -> AccessLogMapping:
    """Read a mapping.

    Raises:
        TraceError: the file can't be read, or one of its keys is invalid.
    """
    check_source(path)
    if path.stat().st_size > BYTES_MAX:
        raise TraceError(f"{path}: is too long for a mapping; is it the log?")
    try:
        document = load_text(read_text(path, "write it in UTF-8"))
    except (yaml.YAMLError, RecursionError) as error:
        words = " ".join(str(error).split())
        raise TraceError(f"{path}: is not YAML: {words}") from None
    return _Reader(path, document).mapping()


class _Reader:
    """Reads the document key by key."""

    def __init__(self, path: Path, document: Any) -> None:
        self._path = path
        if not isinstance(document, dict):
            raise TraceError(f"{path}: must have keys such as time: and session:")
        self._document: dict[str, Any] = document
        self._refuse_unknown(document, KEYS, "")

    def mapping(self) -> AccessLogMapping:
        self._require_together()
        transaction = self._columns("transaction")
        session = self._columns("session") or transaction
        if not session:
            raise self._wrong("session", "given: the column that names a session")
        time, form = self._time()
        return AccessLogMapping(
            time=time,
            time_form=form,
            session=session,
            gap_ms=self._gap(bool(transaction)),
            transaction=transaction,
            user=self._columns("user"),
            type=self._word("type", None) or Word(value="transaction"),
            table=self._word("table", None),
            key=self._columns("key"),
            kind=self._word("kind", ACCESS_KINDS, KIND_WORDS),
            statement=self._text("statement"),
            parameters=self._columns("parameters"),
            outcome=self._word("outcome", OUTCOMES, {value: value for value in OUTCOMES}),
            log=self._choice("log", LOGS),
            delimiter=self._delimiter(),
            numbers=self._numbers(),
            no_value=self._no_value(),
        )

    def _time(self) -> tuple[str, TimeForm]:
        value = self._document.get("time")
        if isinstance(value, str) and value:
            return value, TimeForm()
        if not isinstance(value, dict):
            raise self._wrong("time", "a column's name, or column:, format:, unit: and zone:")
        self._refuse_unknown(value, ("column", "format", "unit", "zone"), "time.")
        self._refuse_empty(value, "time.")
        column = self._text("time.column", value.get("column"))
        if column is None:
            raise self._wrong("time.column", "given: the column of the time")
        form = self._text("time.format", value.get("format")) or ISO
        if form not in (ISO, EPOCH) and "%" not in form:
            raise self._wrong("time.format", f"{ISO}, {EPOCH}, or such as %d/%m/%Y %H:%M:%S", form)
        unit = self._choice("time.unit", tuple(UNITS), value.get("unit")) or "s"
        time = TimeForm(form, unit, self._zone(value.get("zone")))
        if not time.is_readable():
            raise self._wrong("time.format", "a format of Python's strptime", form)
        return column, time

    def _zone(self, value: Any) -> ZoneInfo:
        name = self._text("time.zone", value) or "UTC"
        try:
            return ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            raise self._wrong("time.zone", "a zone such as Europe/Berlin", name) from None

    def _gap(self, has_ids: bool) -> float:
        value = self._document.get("gap_ms")
        if value is None and has_ids:
            return GAP_MS
        if value is None:
            raise self._wrong(
                "gap_ms",
                "the longest pause within a transaction, where no transaction: names one; it is "
                "missing",
            )
        try:
            gap = float(value)
        except (ValueError, TypeError):
            gap = 0
        if not 0 < gap < 1e12:
            raise self._wrong("gap_ms", "a number above 0", value)
        return gap

    def _delimiter(self) -> str:
        value = self._text("delimiter") or ","
        if len(value.encode()) != 1 or value in '"\r\n':
            raise self._wrong("delimiter", "one character", value)
        return value

    def _require_together(self) -> None:
        given = {key: self._document[key] for key in ACCESS_KEYS if key in self._document}
        self._refuse_empty(given, "")
        missing = [key for key in ACCESS_KEYS if key not in self._document]
        if given and missing:
            raise self._wrong(
                missing[0], f"given too: {', '.join(ACCESS_KEYS)} say together what was accessed"
            )

    def _columns(self, key: str) -> tuple[str, ...]:
        value = self._document.get(key)
        if value is None:
            return ()
        several = value if isinstance(value, list) else [value]
        if not several or not all(isinstance(word, str) and word for word in several):
            raise self._wrong(key, "a column's name, or a list of them", value)
        return tuple(several)

    def _numbers(self) -> tuple[str, ...]:
        numbers = self._columns("numbers")
        keys = [*self._columns("key"), *self._columns("session"), *self._columns("transaction")]
        for column in numbers:
            if column not in (*keys, *self._columns("user")):
                raise self._wrong(
                    "numbers", "a column of key, session, transaction or user", column
                )
        return numbers

    def _no_value(self) -> tuple[str, ...]:
        words = self._document.get("no_value", list(NO_VALUE))
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self._wrong("no_value", "a list of words, such as [NULL, '-']", words)
        return tuple(words)

    def _word(
        self, key: str, meanings: Collection[str] | None, words: Mapping[str, str] | None = None
    ) -> Word | None:
        """Return a word, which must mean one of `meanings`; `words` have default meanings."""
        value = self._document.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value:
            return Word(column=value, words=words or {})
        if not isinstance(value, dict) or ("column" in value) == ("value" in value):
            raise self._wrong(key, "a column's name, or column:, or value:", value)
        self._refuse_unknown(value, ("column", "value", "words"), f"{key}.")
        self._refuse_empty(value, f"{key}.")
        constant = self._text(f"{key}.value", value.get("value"))
        if constant is not None:
            if meanings and constant not in meanings:
                raise self._wrong(f"{key}.value", f"one of {', '.join(meanings)}", constant)
            return Word(value=constant)
        said = self._said_words(key, value.get("words"), meanings)
        return Word(column=self._text(f"{key}.column", value["column"]), words=said or words or {})

    def _said_words(
        self, key: str, value: Any, meanings: Collection[str] | None
    ) -> Mapping[str, str]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(f"{key}.words", "words of the log, each with its meaning", value)
        for word, meaning in value.items():
            if not isinstance(meaning, str) or (meanings and meaning not in meanings):
                wanted = f"one of {', '.join(meanings)}" if meanings else "a text"
                raise self._wrong(f"{key}.words.{word}", wanted, meaning)
        words: dict[str, str] = {}
        for word, meaning in value.items():
            if words.setdefault(small_letters(word), meaning) != meaning:
                raise self._wrong(f"{key}.words.{word}", "unique, ignoring case")
        return words

    def _text(self, key: str, value: Any = None) -> str | None:
        value = self._document.get(key) if "." not in key else value
        if value is not None and (not isinstance(value, str) or not value):
            raise self._wrong(key, "a text", value)
        return value

    def _choice(self, key: str, choices: tuple[str, ...], value: Any = None) -> str | None:
        text = self._text(key, value)
        if text is not None and text not in choices:
            raise self._wrong(key, f"one of {', '.join(choices)}", text)
        return text

    def _refuse_unknown(
        self, document: Mapping[Any, Any], known: tuple[str, ...], below: str
    ) -> None:
        for key in document:
            if key not in known:
                close = difflib.get_close_matches(str(key), known, 1)
                meant = f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"
                raise TraceError(f"{self._path}: {below}{key}: is not a key of a mapping; {meant}")

    def _refuse_empty(self, document: Mapping[str, Any], below: str) -> None:
        for key, value in document.items():
            if value is None:
                raise self._wrong(f"{below}{key}", "given a value, or left out")

    def _wrong(self, key: str, wanted: str, value: Any = None) -> TraceError:
        found = "" if value is None else f", not {shown(value)}"
        return TraceError(f"{self._path}: {key}: must be {wanted}{found}")
