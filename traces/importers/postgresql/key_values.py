"""The keys of accesses, out of the literals of a statement and its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from traces.importers.numbers_as_text import whole
from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import NO_FORM, NO_ZONE, Access, KeyPart
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
    rows = zip(*_in_rows(columns), strict=False) if access.by_row else product(*columns)
    keys = [
        BETWEEN_COLUMNS.join(row)
        for row in islice(rows, KEYS_OF_ONE_STATEMENT_MAX)
        if None not in row
    ]
    if access.besides is not None:
        others = Step(step.code, 0, Access(access.table, "read", access.besides), step.slots)
        known_keys = set(keys_of(others, parts, parameters, unsure))
        keys = [key for key in keys if key not in known_keys]
    return keys


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


def _in_rows(columns: list[list[str | None]]) -> list[list[str | None]]:
    """Columns of equal length: a constant stands in every row."""
    rows = max(map(len, columns), default=0)
    return [values * rows if len(values) == 1 else values for values in columns]


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
