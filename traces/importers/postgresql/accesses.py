"""The accesses of statements as data."""

from __future__ import annotations

from dataclasses import dataclass

from traces.importers.postgresql.column_types import Form, SqlType

NOT_PARSED = "statement that can't be parsed"
KEY_NOT_NAMED = "write that does not name the keys of its rows"
LOCK_NOT_NAMED = "rows locked to be written, whose keys the statement does not name"
FUNCTION = "call of a function whose statements are not in the log"
TABLE_LOCKED = "table locked as a whole"
SESSION_LOCKED = "advisory lock that a session holds beyond its transaction"
ADVISORY_NOT_NAMED = "advisory lock of a computed key"
EXECUTED = "EXECUTE of a statement that is not in the log"

TRIGGER = "write whose triggers use tables: their statements are not in the log"
CASCADE = "delete that foreign keys carry on to other tables"
KEY_FOLLOWED = "update of a key that foreign keys carry on to other tables"
RULE = "write to a table with rules (CREATE RULE): as if it had none"
VIEW_WRITTEN = "write to a view of more than one table"

SKIPPED_ROWS = "row locked unless another transaction holds it (SKIP LOCKED, pg_try_…): as locked"
DOES_NOTHING = "insert that leaves a row that is there (DO NOTHING): as an insert"
OTHER_KEY = "upsert by other columns than the primary key: as a row of its own, of these columns"
NO_DEFINITION = "access to a table without a definition: its key is guessed (--schema)"
NO_FORM = "value in no known form of its column's type: compared as it is written"
NO_CAST = "value whose cast can't be worked out: compared as it is written"
NOT_EVALUATED = "condition that can't be worked out: as fulfilled"
NO_ZONE = "time without a zone for a column with one: in UTC"
OFF_THE_PATH = "table that is not on the search path: as the one of that name (--search-path)"
OF_SEVERAL = "table of several schemas, none on the search path: as the first (--search-path)"

GUESSES = frozenset(
    {
        *(SKIPPED_ROWS, DOES_NOTHING, OTHER_KEY, NO_DEFINITION, NO_FORM, NO_CAST, NO_ZONE),
        *(NOT_EVALUATED, RULE, OFF_THE_PATH, OF_SEVERAL),
    }
)
"""Reasons of guesses, whose rows are in the trace; the other reasons are of rows left out."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast of a constant in a statement.

    Attributes:
        kind: the type, without its size.
        size: the numbers in parentheses after it.
        is_array: whether the type is an array of `kind`.
    """

    kind: str
    size: tuple[KeyPart, ...] = ()
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The source of the value of one key column.

    Attributes:
        slot: the slot of the statement's shape that has the value; None for `text`.
        text: the value itself, if it is a constant of the template.
        is_array: whether the slot holds an array whose items are values: `= ANY($1)`.
        form: the form of the column's type; None: values are equal if their texts are.
        rows: the number of a list of rows, such as `VALUES`: the n-th values of all parts with the
            same number form a row. 0: the value is in no list.
        casts: the casts of the value, the innermost first; of an array, those of its items. If
            there are any, `text` is a literal, and `column` and `stored` replace `form`.
        column: the column's type; None: unknown.
        stored: whether the value is written into the column, or compared with it.
        in_list: whether it is in `IN (…)`, where several numbers take the type of the column.
    """

    slot: int | None
    text: str = ""
    is_array: bool = False
    form: Form | None = None
    rows: int = 0

    casts: tuple[Cast, ...] = ()
    column: SqlType | None = None
    stored: bool = False
    in_list: bool = False


Narrowing = tuple[tuple[int, KeyPart], ...]
"""Positions of a key, and the sources of their values."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that a value must fulfil.

    Attributes:
        operator: `=`, `<>`, `<`, `<=`, `>`, `>=`, or `AT_MOST` of
            `traces.importers.postgresql.fulfilment`.
        part: the other side; of several values, `<>` holds if it holds for each.
    """

    operator: str
    part: KeyPart


@dataclass(frozen=True, slots=True)
class Test:
    """Conditions on a column or a constant, without which a statement accesses no row.

    Attributes:
        equal: the values that it equals; empty: it is in a range.
        compared: further comparisons.
        column: the column's type; None: unknown, or a constant.
    """

    equal: tuple[KeyPart, ...]
    compared: tuple[Comparison, ...] = ()
    column: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on the values at one position of a key.

    Attributes:
        place: the position.
        comparison: the condition.
        column: the type of the key's column; None: unknown.
    """

    place: int
    comparison: Comparison
    column: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """The number of rows that a query returns.

    Attributes:
        rows: the maximum number; None: all.
        skipped: the number of rows before them that are skipped; None: none.
        unclear: whether the statement leaves the number open.
    """

    rows: KeyPart | None = None
    skipped: KeyPart | None = None
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a statement, or several to rows of one table.

    Attributes:
        table: the table's name.
        kind: one of `traces.schema.ACCESS_KINDS`.
        key: the parts of the key, in its order. Of a scan, those of the first row of its range that
            are known. None: the database generates the key, for example from a sequence.
        only: lists of rows that restrict the parts at some positions of the key.
        moved: if an update sets the key, the positions of the parts of the new one. The key is then
            that of the old row, followed by further parts. None: the key is unchanged.
        not_null: values of conditions on other columns; if one is NULL, no row is accessed.
        tests: conditions without which no row is accessed.
        filters: conditions on values of the key; of a scan, other lower bounds of its first row.
        limits: the limits of the number of locked rows.
        within: whether the access is made if at most as many rows are named as `limits` permit;
            otherwise it is made if there are more.
    """

    table: str
    kind: str
    key: tuple[KeyPart, ...] | None
    only: tuple[Narrowing, ...] = ()
    moved: tuple[int, ...] | None = None
    not_null: tuple[KeyPart, ...] = ()
    tests: tuple[Test, ...] = ()
    filters: tuple[Filter, ...] = ()
    limits: tuple[Limit, ...] = ()
    within: bool = True


@dataclass(frozen=True, slots=True)
class Accesses:
    """The accesses of statements of one shape.

    Attributes:
        made: the accesses in order; reads come first.
        faults: the reasons of what is left out.
        guesses: the reasons of what is guessed.
        guessed: tables whose keys have to be guessed but could not be yet.
        of_rows: the reasons of `faults` and `guesses` that apply only if a row is accessed.
    """

    made: tuple[Access, ...] = ()
    faults: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()
    of_rows: frozenset[str] = frozenset()
