"""The keys of accesses, out of the literals of a statement and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import Access, KeyPart
from traces.importers.postgresql.shapes import NULL

KEYS_OF_ONE_STATEMENT_MAX = 1 << 16
"""A statement that names more keys is read so far."""

BETWEEN_COLUMNS = "\x1f"
"""Between the parts of a key of several columns, as in `traces.keys`."""

_ARRAY_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)')


@dataclass(frozen=True, slots=True)
class Step:
    """One access of a statement, with the places of its key's values.

    Attributes:
        code: of the access.
        place: the one literal whose value is the key; 0 where it takes more to make it.
        access: what the template says.
        slots: the shape's.
    """

    code: int
    place: int
    access: Access
    slots: tuple[tuple[int, ...], ...]


class UnknownValueError(LookupError):
    """A parameter's value is not in the log."""


def keys_of(step: Step, parts: Sequence[str], parameters: Sequence[str] | None) -> list[str]:
    """The keys of one access, as text: each value, with `BETWEEN_COLUMNS` between them.

    Args:
        step: of the statement's plan.
        parts: the statement's.
        parameters: the values of `$1` and so on, as literals; None where they are not known.

    Raises:
        UnknownValueError: a parameter's value is needed and not known.
    """
    columns = [list(_values(part, step.slots, parts, parameters)) for part in step.access.key or ()]
    if step.access.kind == "scan":
        return [BETWEEN_COLUMNS.join(values[0] for values in columns if values)]
    rows = zip(*columns, strict=False) if step.access.by_row else product(*columns)
    return [BETWEEN_COLUMNS.join(row) for row in islice(rows, KEYS_OF_ONE_STATEMENT_MAX)]


def literal_text(place: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str:
    """The value of the literal at a place of a statement.

    Raises:
        UnknownValueError: it is a parameter whose value is not known.
    """
    if place == NULL:
        return ""
    literal = parts[place] if place > 0 else parts[-place]
    if literal[0] == "$":
        number = int(literal[1:])
        if parameters is None or number > len(parameters):
            raise UnknownValueError(literal)
        literal = parameters[number - 1]
    text = literals.value(literal)
    return text if place > 0 else f"-{text}"


def _values(
    part: KeyPart,
    slots: tuple[tuple[int, ...], ...],
    parts: Sequence[str],
    parameters: Sequence[str] | None,
) -> Iterator[str]:
    if part.slot is None:
        yield part.text
        return
    for place in slots[part.slot]:
        text = literal_text(place, parts, parameters)
        if not part.is_array:
            yield text
            continue
        for item in _ARRAY_ITEM.finditer(text):
            yield item[1].replace("\\", "") if item[1] is not None else item[2].strip()
