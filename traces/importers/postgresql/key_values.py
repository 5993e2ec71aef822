"""Computes the keys of accesses from the literals and parameters of a statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest

from traces.importers.postgresql.accesses import (
    LOCK_NOT_NAMED,
    Access,
    KeyPart,
    Limit,
    Narrowing,
)
from traces.importers.postgresql.constants import (
    Constants,
    UnknownValueError,
    Unsure,
    formed,
    literal_at,
)
from traces.importers.postgresql.fulfilment import fulfilling, greatest, may_hold

KEYS_OF_ONE_STATEMENT_MAX = 1 << 16
"""The maximum number of keys of a statement; further keys are ignored."""

BETWEEN_COLUMNS = "\x1f"
"""Separates the parts of a key of several columns, as in `traces.keys`."""

_NULL_STORED = "\x00"
"""NULL in a new row of a table with unknown key columns."""

_Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """An access of a statement, with the positions of its key's values.

    Attributes:
        code: the code of the access.
        place: the only literal whose value is the key; 0 if the key is computed otherwise.
        access: the access of the template.
        slots: the slots of the shape.
        is_tested: whether conditions may exclude all rows.
    """

    code: int
    place: int
    access: Access
    slots: tuple[tuple[int, ...], ...]
    is_tested: bool = False


def key_at(
    step: Step, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
) -> str | None:
    """Return the key of a step with one position; None: no row has it. See `keys_of`."""
    literal = literal_at(step.place, parts, parameters)
    if literal is None or step.access.key is None:
        return None
    return formed(literal, step.access.key[0], unsure)


def keys_of(
    step: Step, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
) -> list[str]:
    """Return the keys of an access as text: the values, separated by `BETWEEN_COLUMNS`.

    NULL equals no row, so a comparison with it yields no key.

    Args:
        step: the step of the statement's plan.
        parts: the parts of the statement.
        parameters: the values of `$1` and so on, as literals; None: unknown.
        unsure: see `Unsure`.

    Raises:
        UnknownValueError: the value of a parameter is needed but unknown.
    """
    access = step.access
    statement = Constants(step.slots, parts, parameters)
    if access.kind == "scan":
        return _first_of_range(access, statement, unsure)
    columns = [statement.values(part, unsure) for part in access.key or ()]
    if access.kind == "insert":
        columns = [
            [_NULL_STORED if value is None else value for value in values] for values in columns
        ]
    rows: Iterator[_Row] = _rows(access.key or (), columns)
    for narrowing in access.only:
        rows = _narrowed(rows, narrowing, statement, unsure)
    for filter_ in access.filters:
        among = fulfilling((access.key or ())[filter_.place], filter_, statement)
        if among is not None:
            rows = _at(rows, filter_.place, among)
    found = list(islice((row for row in rows if None not in row), KEYS_OF_ONE_STATEMENT_MAX))
    if access.limits:
        passes = all(_passes(limit, len(found), statement) for limit in access.limits)
        if found and not passes and not access.within:
            unsure(LOCK_NOT_NAMED, access.table)
        if passes != access.within:
            return []
    if access.moved is not None:
        moved = access.moved
        before = {row[: len(moved)] for row in found}
        after = dict.fromkeys(tuple(row[place] for place in moved) for row in found)
        found = [row for row in after if row not in before]
    return [BETWEEN_COLUMNS.join(value or "" for value in row) for row in found]


def holds(
    step: Step, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
) -> bool:
    """Whether rows can fulfil all conditions; a condition that can't be evaluated holds."""
    statement = Constants(step.slots, parts, parameters)
    for part in step.access.not_null:
        try:
            if all(literal is None for literal in statement.literals_of(part)):
                return False
        except UnknownValueError:
            continue
    return all(may_hold(test, statement, unsure) for test in step.access.tests)


def _passes(limit: Limit, count: int, statement: Constants) -> bool:
    """Whether a limit certainly permits this number of rows."""
    if limit.unclear:
        return False
    try:
        if limit.skipped is not None:
            (skipped,) = statement.literals_of(limit.skipped)
            if skipped is not None and int(skipped.strip("'")) > 0:
                return False
        if limit.rows is None:
            return True
        (rows,) = statement.literals_of(limit.rows)
        return rows is None or count <= int(rows.strip("'"))
    except (UnknownValueError, ValueError):
        return False


def _first_of_range(access: Access, statement: Constants, unsure: Unsure) -> list[str]:
    """Return the known part of the key of the first row of a scan."""
    columns = [statement.bounds(part, unsure) for part in access.key or ()]
    known = [[value for value in values if value is not None] for values in columns]
    if not all(known):
        return []
    first = [values[0] for values in known]
    if access.filters and access.key:
        place = access.filters[0].place
        parts = [access.key[place], *(filter_.comparison.part for filter_ in access.filters)]
        first[place] = greatest(parts, access.filters[0].column, statement, unsure)
    return [BETWEEN_COLUMNS.join(first)]


def _rows(key: Sequence[KeyPart], columns: Sequence[list[str | None]]) -> Iterator[_Row]:
    """Yield the rows of some columns' values; in a list of rows, n-th values belong together."""
    if all(len(values) == 1 for values in columns):
        yield tuple([values[0] for values in columns])
        return
    if key[0].rows and all(part.rows == key[0].rows for part in key):
        yield from zip_longest(*columns)
        return
    places: dict[int, list[int]] = {}
    for place, part in enumerate(key):
        places.setdefault(part.rows or -place - 1, []).append(place)
    lists = [list(zip_longest(*(columns[place] for place in column))) for column in places.values()]
    order = [place for column in places.values() for place in column]
    at = sorted(range(len(order)), key=order.__getitem__)
    for chosen in product(*lists):
        row = [value for values in chosen for value in values]
        yield tuple(row[place] for place in at)


def _narrowed(
    rows: Iterator[_Row],
    narrowing: Narrowing,
    statement: Constants,
    unsure: Unsure,
) -> Iterator[_Row]:
    """Keep the rows that match another list at some positions."""
    key = [part for _, part in narrowing]
    columns = [statement.values(part, unsure) for part in key]
    among = set(_rows(key, columns))
    return (row for row in rows if tuple(row[place] for place, _ in narrowing) in among)


def _at(rows: Iterator[_Row], place: int, among: Collection[str]) -> Iterator[_Row]:
    """Keep the rows that have one of these values at a position."""
    return (row for row in rows if row[place] in among)
