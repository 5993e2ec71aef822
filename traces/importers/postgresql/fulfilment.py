"""Evaluates conditions on constants: those of a statement, and those on its key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces.importers.postgresql.accesses import NOT_EVALUATED, Filter, KeyPart, Test
from traces.importers.postgresql.casts import Value
from traces.importers.postgresql.column_types import SqlType
from traces.importers.postgresql.comparing import IncomparableError, fulfils, of_type
from traces.importers.postgresql.constants import Constants, UnknownValueError, Unsure

AT_MOST = "limit"
"""The operator of `LIMIT`: it holds unless no row passes, and compares nothing."""


def may_hold(test: Test, statement: Constants, unsure: Unsure) -> bool:
    """Whether some value may fulfil the conditions of a test."""
    doubts: list[str] = []
    try:
        if test.compared and test.compared[0].operator == AT_MOST:
            (limit,) = statement.literals_of(test.equal[0])
            return limit is None or limit.strip("'") != "0"
        if not test.equal:
            return _is_range(test, statement)
        values = list(_typed(test.equal[0], statement, test, doubts))
        for other in test.equal[1:]:
            among = {text for text, _ in _typed(other, statement, test, doubts)}
            values = [candidate for candidate in values if candidate[0] in among]
        for comparison in test.compared:
            others = list(statement.typed(comparison.part))
            values = [
                value
                for value in values
                if _compares(value[1], comparison.operator, others, doubts)
            ]
    except UnknownValueError:
        return True
    except (ValueError, OverflowError) as error:
        doubts.append(str(error))
    if doubts:
        if test.equal:
            unsure(NOT_EVALUATED, doubts[0])
        return True
    return bool(values)


def fulfilling(part: KeyPart, filter_: Filter, statement: Constants) -> set[str] | None:
    """Return the values of a part of a key that may fulfil a condition; None: unknown."""
    test = Test((part,), (filter_.comparison,), filter_.column)
    doubts: list[str] = []
    try:
        others = list(statement.typed(filter_.comparison.part))
        return {
            text
            for text, value in _typed(part, statement, test, doubts)
            if _compares(value, filter_.comparison.operator, others, doubts)
        }
    except (UnknownValueError, ValueError, OverflowError):
        return None  # `may_hold` reports it


def greatest(
    parts: Sequence[KeyPart], column: SqlType | None, statement: Constants, unsure: Unsure
) -> str:
    """Return the greatest of some bounds of a column; the first if the order is unknown."""
    bounds: list[tuple[str, Value]] = []
    try:
        for part in parts:
            texts = statement.bounds(part, unsure)
            for text, value in zip(texts, statement.typed(part), strict=True):
                if text is not None and value is not None:
                    typed = value if column is None else of_type(value, column.family)
                    bounds.append((text, typed))
        most = bounds[0]
        for bound in bounds[1:]:
            if fulfils(bound[1], ">", most[1]):
                most = bound
        return most[0]
    except (UnknownValueError, ValueError, OverflowError) as error:
        unsure(NOT_EVALUATED, str(error))
        return statement.bounds(parts[0], unsure)[0] or ""


def _typed(
    part: KeyPart, statement: Constants, test: Test, doubts: list[str]
) -> Iterator[tuple[str, Value]]:
    """Return the values of a part, in the form of its column and with their types."""

    def unsure(reason: str, text: str) -> None:
        doubts.append(f"{text!r}: {reason}")

    texts = statement.values(part, unsure)
    if test.column is not None:
        family = test.column.family
        return ((text, Value(family, text)) for text in texts if text is not None)
    pairs = zip(texts, statement.typed(part), strict=True)
    return ((text, value) for text, value in pairs if text is not None and value is not None)


def _compares(value: Value, operator: str, others: list[Value | None], doubts: list[str]) -> bool:
    """Whether a comparison with all other values holds; true if that is unknown."""
    try:
        return all(other is not None and fulfils(value, operator, other) for other in others)
    except IncomparableError as error:
        doubts.append(str(error))
        return True


def _is_range(test: Test, statement: Constants) -> bool:
    """Whether no lower bound is above an upper one."""
    bounds: list[tuple[str, Value]] = []
    for comparison in test.compared:
        for value in statement.typed(comparison.part):
            if value is not None:
                typed = value if test.column is None else of_type(value, test.column.family)
                bounds.append((comparison.operator, typed))
    for low, least in bounds:
        for high, most in bounds:
            if low[0] != ">" or high not in ("<", "<="):
                continue
            operator = "<=" if low == ">=" and high == "<=" else "<"
            if not fulfils(least, operator, most):
                return False
    return True
