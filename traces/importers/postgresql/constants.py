"""Evaluates the constants of a statement: its literals and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from traces.importers.numbers_as_text import double, real, whole
from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import NO_CAST, NO_FORM, NO_ZONE, Cast, KeyPart
from traces.importers.postgresql.arrays import array_items
from traces.importers.postgresql.casts import (
    Value,
    cast_constant,
    stored_constant,
    value_after,
)
from traces.importers.postgresql.column_types import NoRowError, SqlType, sql_type
from traces.importers.postgresql.shapes import NULL
from traces.importers.postgresql.times_as_text import ZonelessError

Unsure = Callable[[str, str], None]
"""Called with a reason of `accesses`, and the value or the table concerned."""

CUT = "..."
"""The marker of a truncated parameter; a real literal would have quotes."""


class UnknownValueError(LookupError):
    """The value of a parameter is not in the log."""


class CutValueError(UnknownValueError):
    """The value of a parameter is truncated."""


def literal_text(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str | None:
    """Return the value of the literal at a position of a statement; None for NULL.

    Raises:
        UnknownValueError: it is a parameter whose value is unknown.
    """
    literal = literal_at(place, parts, parameters)
    return None if literal is None else _text(literal)


def literal_at(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str | None:
    """Return `literal_text` as the statement writes it."""
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


def formed(literal: str, part: KeyPart, unsure: Unsure) -> str | None:
    """Return a constant without casts in the form of its column's type.

    Returns:
        The literal itself if its form is unknown; None: no value of the column equals it.
    """
    if part.column is not None and literal[0] != "'":
        return _cast(literal, part=part, casts=[], unsure=unsure)
    text = _text(literal)
    if part.form is None:
        return text
    try:
        return part.form(text)
    except ZonelessError as error:
        unsure(NO_ZONE, text)
        return error.as_utc
    except NoRowError:
        return None
    except (ValueError, OverflowError):
        unsure(NO_FORM, text)
        return text


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of one statement.

    Attributes:
        slots: the slots of its shape.
        parts: the parts of the statement.
        parameters: the values of `$1` and so on, as literals; None: unknown.
    """

    slots: tuple[tuple[int, ...], ...]
    parts: Sequence[str]
    parameters: Sequence[str] | None

    def values(self, part: KeyPart, unsure: Unsure) -> list[str | None]:
        """Return the values of a part of a key, in the form of its column; None: equal to no value.

        Raises:
            UnknownValueError: one is a parameter whose value is unknown.
        """
        if part.casts:
            casts = self._casts(part)
            make: Callable[[str], str | None] = partial(
                _cast, part=part, casts=casts, unsure=unsure
            )
        else:
            make = partial(formed, part=part, unsure=unsure)
            self._doubt_parameters(part, unsure)
        return [None if literal is None else make(literal) for literal in self.literals_of(part)]

    def _doubt_parameters(self, part: KeyPart, unsure: Unsure) -> None:
        """Report parameters that may be of `double precision`, if that matters."""
        if part.column is None or part.column.family != "real" or part.slot is None or part.stored:
            return
        for place in self.slots[part.slot]:
            if place == NULL or self.parts[abs(place)][0] != "$":
                continue
            literal = literal_at(place, self.parts, self.parameters)
            if literal is None or literal[0] != "'" or part.is_array:
                continue
            try:
                text = literals.value(literal)
                if real(text) != double(text):
                    unsure(NO_CAST, text)
            except ValueError:
                continue  # `formed` reports it

    def bounds(self, part: KeyPart, unsure: Unsure) -> list[str | None]:
        """Return `values`, including those that equal no value of the column, unchanged."""
        made = self.values(part, unsure)
        written = [
            None if literal is None else _text(literal) for literal in self.literals_of(part)
        ]
        return [text if value is None else value for value, text in zip(made, written, strict=True)]

    def typed(self, part: KeyPart) -> Iterator[Value | None]:
        """Yield the values of a part, with their types; None for NULL.

        Raises:
            UnknownValueError: one is a parameter whose value is unknown.
            ValueError: one is unknown after its casts.
        """
        casts = self._casts(part)
        for literal in self.literals_of(part):
            yield None if literal is None else value_after(literal, casts)

    def literals_of(self, part: KeyPart) -> Iterator[str | None]:
        """Yield the literals of a part; of an array, its items as literals."""
        if part.slot is None:
            yield from self._items(part, part.text if part.casts else literals.quoted(part.text))
            return
        for place in self.slots[part.slot]:
            literal = literal_at(place, self.parts, self.parameters)
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

    def _casts(self, part: KeyPart) -> list[SqlType]:
        return [self._type(cast) for cast in part.casts]

    def _type(self, cast: Cast) -> SqlType:
        if cast.is_array:
            return SqlType("")
        size = [
            literals.value(literal or "")
            for part in cast.size
            for literal in self.literals_of(part)
        ]
        return sql_type(f"{cast.kind}({', '.join(size)})" if size else cast.kind)


def _text(literal: str) -> str:
    """Return the value of a literal; numbers have one text, whatever the column's type."""
    text = literals.value(literal)
    if literal[0] == "'":
        return text
    try:
        return whole(text)
    except ValueError:
        return text


def _cast(literal: str, *, part: KeyPart, casts: list[SqlType], unsure: Unsure) -> str | None:
    """Return a constant after its casts, or unchanged if the result is unknown."""
    make = stored_constant if part.stored else cast_constant
    try:
        return make(literal, casts, part.column)
    except ZonelessError as error:
        unsure(NO_ZONE, literals.value(literal))
        return error.as_utc
    except NoRowError:
        if part.in_list and not casts and part.form is not None:
            unsure(NO_CAST, literals.value(literal))
            return part.form(_text(literal))
        return None
    except (ValueError, OverflowError):
        unsure(NO_CAST, literals.value(literal))
        return _text(literal)
