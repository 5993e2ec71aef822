"""The keys of accesses, out of the literals of a statement and its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest

from traces.importers.numbers_as_text import whole
from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import NO_FORM, NO_ZONE, Access, KeyPart, Narrowing
from traces.importers.postgresql.column_types import Form
from traces.importers.postgresql.shapes import NULL
from traces.importers.postgresql.times_as_text import ZonelessError

KEYS_OF_ONE_STATEMENT_MAX = 1 << 16
"""A statement that names more keys is read so far."""

BETWEEN_COLUMNS = "\x1f"
"""Between the parts of a key of several columns, as in `traces.keys`."""

_NULL_STORED = "\x00"
"""NULL in a new row of a table whose key columns are not known."""

_ARRAY_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

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
    columns = [
        [
            _formed(value, part.form, unsure)
            for value in _values(part, step.slots, parts, parameters)
        ]
        for part in access.key or ()
    ]
    if access.kind == "scan":
        known = [[value for value in values if value is not None] for values in columns]
        return [BETWEEN_COLUMNS.join(values[0] for values in known)] if all(known) else []
    if access.kind == "insert":
        columns = [[_NULL_STORED if one is None else one for one in values] for values in columns]
    rows: Iterator[_Row] = _rows(access.key or (), columns)
    for narrowing in access.only:
        rows = _narrowed(rows, narrowing, step.slots, parts, parameters, unsure)
    found = list(islice((row for row in rows if None not in row), KEYS_OF_ONE_STATEMENT_MAX))
    if access.moved is not None:
        moved = access.moved
        before = {row[: len(moved)] for row in found}
        after = dict.fromkeys(tuple(row[place] for place in moved) for row in found)
        found = [row for row in after if row not in before]
    return [BETWEEN_COLUMNS.join(one or "" for one in row) for row in found]


def holds(step: Step, parts: Sequence[str], parameters: Sequence[str] | None) -> bool:
    """Whether no condition compares with NULL; one whose value is not known is taken to hold."""
    for part in step.access.not_null:
        try:
            if all(one is None for one in _values(part, step.slots, parts, parameters)):
                return False
        except UnknownValueError:
            continue
    return True


def literal_text(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str | None:
    """The value of the literal at a place of a statement; None for NULL.

    Raises:
        UnknownValueError: it is a parameter whose value is not known.
    """
    if place == NULL:
        return None
    literal = parts[place] if place > 0 else parts[-place]
    if literal[0] == "$":
        number = int(literal[1:])
        if parameters is None or number > len(parameters):
            raise UnknownValueError(literal)
        literal = parameters[number - 1]
        if literal == "NULL":
            return None
        if literal == CUT:
            raise CutValueError(literal)
    text = literals.value(literal)
    if place < 0:
        text = f"-{text}"
    return text if literal[0] == "'" else _number(text)


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
    slots: tuple[tuple[int, ...], ...],
    parts: Sequence[str],
    parameters: Sequence[str] | None,
    unsure: Unsure,
) -> Iterator[_Row]:
    """The rows that are, at some places, among those of another list."""
    key = [part for _, part in narrowing]
    columns = [
        [_formed(value, part.form, unsure) for value in _values(part, slots, parts, parameters)]
        for part in key
    ]
    among = set(_rows(key, columns))
    return (row for row in rows if tuple(row[place] for place, _ in narrowing) in among)


def _number(text: str) -> str:
    """A number that stands in a statement as one: its type is known whatever the column's is."""
    try:
        return whole(text)
    except ValueError:
        return text


def _formed(text: str | None, form: Form | None, unsure: Unsure) -> str | None:
    return text if text is None or form is None else in_form(text, form, unsure)


def _values(
    part: KeyPart,
    slots: tuple[tuple[int, ...], ...],
    parts: Sequence[str],
    parameters: Sequence[str] | None,
) -> Iterator[str | None]:
    if part.slot is None:
        yield part.text
        return
    for place in slots[part.slot]:
        text = literal_text(place, parts, parameters)
        if text is None or not part.is_array:
            yield text
            continue
        for item in _ARRAY_ITEM.finditer(text):
            if item[1] is not None:
                yield _ESCAPED.sub(r"\1", item[1])
            elif item[2].strip():
                yield None if item[2].strip().upper() == "NULL" else item[2].strip()
