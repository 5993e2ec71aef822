"""What statements touch, as data."""

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
"""Reasons of what is in the trace and not certain; the others are of what is not in it."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast that a statement writes around a constant.

    Attributes:
        kind: the type, without its size.
        size: the numbers in parentheses behind it.
        is_array: whether it is of arrays of `kind`.
    """

    kind: str
    size: tuple[KeyPart, ...] = ()
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Where the value of one key column comes from.

    Attributes:
        slot: the slot of the statement's shape that has it; None for `text`.
        text: the value itself, where it is a constant of the template.
        is_array: whether the slot holds an array, each item of which is a value: `= ANY($1)`.
        form: of the column's type; None: values are equal where their texts are.
        rows: the number of a list of rows, such as `VALUES`: the n-th values of all parts with
            one number belong together. 0: a value that stands in no list.
        casts: around the value, the innermost first; of an array, those of its items. Where there
            are some, `text` is a literal, and `column` and `stored` stand in for `form`.
        column: the column's type; None: not known.
        stored: whether the value is written into the column, or compared with it.
        in_list: whether it stands in `IN (…)`, where several numbers take the type of the column.
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
"""Places of a key, and what is at them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a value has to be.

    Attributes:
        operator: `=`, `<>`, `<`, `<=`, `>`, `>=`, or `AT_MOST` of
            `traces.importers.postgresql.fulfilment`.
        part: what it is compared with; of several values, `<>` holds if it holds for each.
    """

    operator: str
    part: KeyPart


@dataclass(frozen=True, slots=True)
class Test:
    """Conditions on one column or constant, without which a statement touches no row.

    Attributes:
        equal: what it is equal to; empty: it is in a range.
        compared: what else holds for it.
        column: its type; None: not known, or it is a constant.
    """

    equal: tuple[KeyPart, ...]
    compared: tuple[Comparison, ...] = ()
    column: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What the values at one place of a key have to be.

    Attributes:
        place: of the key.
        comparison: the condition.
        column: the type of the key's column; None: not known.
    """

    place: int
    comparison: Comparison
    column: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """How many rows of a query pass.

    Attributes:
        rows: the most that pass; None: all.
        skipped: how many before them do not pass; None: none.
        unclear: whether the statement does not say how many.
    """

    rows: KeyPart | None = None
    skipped: KeyPart | None = None
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One access that a statement makes, or several to rows of one table.

    Attributes:
        table: its name.
        kind: one of `traces.schema.ACCESS_KINDS`.
        key: the parts of the key, in its order. A scan's are those of the first of its range, as
            far as they are known. None: the database makes the key, as a sequence does.
        only: what the parts at some places of the key have to be, too: each a list of rows.
        moved: where an update sets the key, the places of the parts of the new one. The key is
            then that of the row before, with further parts after it. None: the key stays.
        not_null: values without which no row is touched: of conditions on other columns.
        tests: conditions without which no row is touched.
        filters: conditions on values of the key; of a scan, other lower bounds of its first row.
        limits: where rows are locked, how many of them.
        within: whether the access is made if no more rows are named than pass `limits`, or else
            if more are.
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
    """What statements of one shape touch.

    Attributes:
        made: the accesses, in the order in which they are made: of one statement, reads first.
        faults: what could not be read off.
        guesses: what was read off, and is not certain.
        guessed: tables whose keys were to be guessed, and could not yet be.
        of_rows: those of `faults` and `guesses` that are none where no row is touched.
    """

    made: tuple[Access, ...] = ()
    faults: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()
    of_rows: frozenset[str] = frozenset()
