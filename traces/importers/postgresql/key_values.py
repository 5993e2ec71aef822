"""The keys of accesses, out of the literals of a statement and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product, zip_longest

from traces.importers.numbers_as_text import whole
from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import (
    NO_CAST,
    NO_FORM,
    NO_ZONE,
    Access,
    Cast,
    KeyPart,
    Narrowing,
)
from traces.importers.postgresql.arrays import array_items
from traces.importers.postgresql.casts import cast_constant, stored_constant
from traces.importers.postgresql.column_types import Form, SqlType, sql_type
from traces.importers.postgresql.shapes import NULL
from traces.importers.postgresql.times_as_text import ZonelessError

KEYS_OF_ONE_STATEMENT_MAX = 1 << 16
"""A statement that names more keys is read so far."""

BETWEEN_COLUMNS = "\x1f"
"""Between the parts of a key of several columns, as in `traces.keys`."""

_NULL_STORED = "\x00"
"""NULL in a new row of a table whose key columns are not known."""

_Row = tuple[str | None, ...]

Unsure = Callable[[str, str], None]
"""Told of a guess: its reason and the value."""


@dataclass(frozen=True, slots=True)
class Step:
    """One access of a statement, with the places of its key's values.

    Attributes:
        code: of the access.
        place: the one literal whose value is the key; 0 where it takes more to make it.
        access: what the template says.
        slots: the shape's.
        form: of the one literal's column.
    """

    code: int
    place: int
    access: Access
    slots: tuple[tuple[int, ...], ...]
    form: Form | None = None


CUT = "..."
"""Stands for the value of a parameter that is cut short; as a literal it would have quotes."""


class UnknownValueError(LookupError):
    """A parameter's value is not in the log."""


class CutValueError(UnknownValueError):
    """A parameter's value is cut short."""


def keys_of(
    step: Step, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
) -> list[str]:
    """The keys of one access, as text: each value, with `BETWEEN_COLUMNS` between them.

    No row is equal to NULL, so a comparison with it has no key.

    Args:
        step: of the statement's plan.
        parts: the statement's.
        parameters: the values of `$1` and so on, as literals; None where they are not known.
        unsure: see `Unsure`.

    Raises:
        UnknownValueError: a parameter's value is needed and not known.
    """
    access = step.access
    statement = _Literals(step.slots, parts, parameters)
    columns = [statement.values(part, unsure) for part in access.key or ()]
    if access.kind == "scan":
        known = [[value for value in values if value is not None] for values in columns]
        return [BETWEEN_COLUMNS.join(values[0] for values in known)] if all(known) else []
    if access.kind == "insert":
        columns = [[_NULL_STORED if one is None else one for one in values] for values in columns]
    rows: Iterator[_Row] = _rows(access.key or (), columns)
    for narrowing in access.only:
        rows = _narrowed(rows, narrowing, statement, unsure)
    found = list(islice((row for row in rows if None not in row), KEYS_OF_ONE_STATEMENT_MAX))
    if access.moved is not None:
        moved = access.moved
        before = {row[: len(moved)] for row in found}
        after = dict.fromkeys(tuple(row[place] for place in moved) for row in found)
        found = [row for row in after if row not in before]
    return [BETWEEN_COLUMNS.join(one or "" for one in row) for row in found]


def holds(step: Step, parts: Sequence[str], parameters: Sequence[str] | None) -> bool:
    """Whether no condition compares with NULL; one whose value is not known is taken to hold."""
    statement = _Literals(step.slots, parts, parameters)
    for part in step.access.not_null:
        try:
            if all(literal is None for literal in statement.literals_of(part)):
                return False
        except UnknownValueError:
            continue
    return True


def literal_text(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str | None:
    """The value of the literal at a place of a statement; None for NULL.

    Raises:
        UnknownValueError: it is a parameter whose value is not known.
    """
    literal = _literal(place, parts, parameters)
    return None if literal is None else _text(literal)


def _literal(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str | None:
    """As `literal_text`, as it is written."""
    if place == NULL:
        return None
    literal = parts[abs(place)]
    if literal[0] == "$":
        number = int(literal[1:])
        if parameters is None or number > len(parameters):
            raise UnknownValueError(literal)
        literal = parameters[number - 1]
        if literal == "NULL":
            return None
        if literal == CUT:
            raise CutValueError(literal)
    return literal if place > 0 else literals.with_minus(literal)


def in_form(text: str, form: Form, unsure: Unsure) -> str:
    """A value in the form of its column's type, or as it is where that can't be told."""
    try:
        return form(text)
    except ZonelessError as error:
        unsure(NO_ZONE, text)
        return error.as_utc
    except (ValueError, OverflowError):
        unsure(NO_FORM, text)
        return text


def _rows(key: Sequence[KeyPart], columns: Sequence[list[str | None]]) -> Iterator[_Row]:
    """The rows that the values of some columns make: n-th with n-th within a list of rows."""
    if all(len(values) == 1 for values in columns):
        yield tuple([values[0] for values in columns])
        return
    if key[0].rows and all(part.rows == key[0].rows for part in key):
        yield from zip_longest(*columns)
        return
    places: dict[int, list[int]] = {}
    for place, part in enumerate(key):
        places.setdefault(part.rows or -place - 1, []).append(place)
    lists = [list(zip_longest(*(columns[place] for place in one))) for one in places.values()]
    order = [place for one in places.values() for place in one]
    at = sorted(range(len(order)), key=order.__getitem__)
    for chosen in product(*lists):
        row = [value for values in chosen for value in values]
        yield tuple(row[place] for place in at)


def _narrowed(
    rows: Iterator[_Row],
    narrowing: Narrowing,
    statement: _Literals,
    unsure: Unsure,
) -> Iterator[_Row]:
    """The rows that are, at some places, among those of another list."""
    key = [part for _, part in narrowing]
    columns = [statement.values(part, unsure) for part in key]
    among = set(_rows(key, columns))
    return (row for row in rows if tuple(row[place] for place, _ in narrowing) in among)


def _text(literal: str) -> str:
    """What a literal means; a number has one text, whatever the column's type is."""
    text = literals.value(literal)
    if literal[0] == "'":
        return text
    try:
        return whole(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class _Literals:
    """The literals of a statement, and what they stand for; see `keys_of`."""

    slots: tuple[tuple[int, ...], ...]
    parts: Sequence[str]
    parameters: Sequence[str] | None

    def values(self, part: KeyPart, unsure: Unsure) -> list[str | None]:
        """The values of a part of a key, in the form of its column."""
        if part.casts:
            casts = [self._type(one) for one in part.casts]
            make: Callable[[str], str] = partial(_cast, part=part, casts=casts, unsure=unsure)
        elif part.form is not None:
            make = partial(_formed, form=part.form, unsure=unsure)
        else:
            make = _text
        return [None if literal is None else make(literal) for literal in self.literals_of(part)]

    def literals_of(self, part: KeyPart) -> Iterator[str | None]:
        """The literals of a part; of an array, its items as literals."""
        if part.slot is None:
            yield from self._items(part, part.text if part.casts else literals.quoted(part.text))
            return
        for place in self.slots[part.slot]:
            literal = _literal(place, self.parts, self.parameters)
            if literal is None:
                yield None
            else:
                yield from self._items(part, literal)

    def _items(self, part: KeyPart, literal: str) -> Iterator[str | None]:
        if not part.is_array:
            yield literal
            return
        for item in array_items(literals.value(literal)):
            yield None if item is None else literals.quoted(item)

    def _type(self, cast: Cast) -> SqlType:
        if cast.is_array:
            return SqlType("")
        size = [literals.value(one or "") for part in cast.size for one in self.literals_of(part)]
        return sql_type(f"{cast.kind}({', '.join(size)})" if size else cast.kind)


def _formed(literal: str, *, form: Form, unsure: Unsure) -> str:
    return in_form(_text(literal), form, unsure)


def _cast(literal: str, *, part: KeyPart, casts: list[SqlType], unsure: Unsure) -> str:
    """A constant after its casts, or as it is written where that can't be told."""
    make = stored_constant if part.stored else cast_constant
    try:
        return make(literal, casts, part.column)
    except ZonelessError as error:
        unsure(NO_ZONE, literals.value(literal))
        return error.as_utc
    except (ValueError, OverflowError):
        unsure(NO_CAST, literals.value(literal))
        return _text(literal)
