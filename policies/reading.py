"""Convert JSON values to a policy document, and check its structure.

Every field must be present, known and of the right JSON type. The engine's validator checks the
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from policies.document import (
    DOCUMENT_KIND,
    PRIOR_ABORTS,
    SCHEMA_VERSION,
    BackoffRow,
    CcRow,
    PolicyDocument,
)
from policies.errors import PolicyFileError, shown
from policies.json_text import JsonPath
from policies.signature import Signature


class ShapeError(Exception):
    """A field is missing, unknown or of the wrong JSON type.

    Attributes:
        path: position of the field.
    """

    def __init__(self, path: JsonPath, message: str) -> None:
        super().__init__(message)
        self.path = path


_TOP = (
    "schema_version",
    "kind",
    "name",
    "signature",
    "cc",
    "backoff",
    "protocol",
    "schedule",
    "provenance",
)
_CC_ROW = (
    "state",
    "type",
    "access",
    "wait",
    "read_version",
    "write_visibility",
    "early_validation",
)
_BACKOFF_ROW = ("initial_us", "abort", "commit")


def read_document(value: Any) -> PolicyDocument:
    """Convert parsed JSON to a policy document.

    Raises:
        ShapeError: a field is missing, unknown or of the wrong JSON type.
    """
    top = _object(value, (), "the document")
    if top.get("kind") != DOCUMENT_KIND:
        raise ShapeError(("kind",), f'must be "{DOCUMENT_KIND}"; this is not a policy file')
    version = top.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise ShapeError(
            ("schema_version",),
            f"is {shown(version)}, and this version of heddle reads {SCHEMA_VERSION}; use the "
            "version of heddle that wrote the file",
        )
    _exact_keys(top, _TOP, (), optional=("protocol", "schedule", "provenance"))
    try:
        signature = Signature.from_dict(_object(top["signature"], ("signature",), "it"))
    except PolicyFileError as error:
        raise ShapeError(("signature",), str(error)) from None
    rows = _list(top["cc"], ("cc",))
    backoff = _object(top["backoff"], ("backoff",), "it")
    schedule = top.get("schedule")
    return PolicyDocument(
        name=_text(top["name"], ("name",)),
        signature=signature,
        cc=tuple(_cc_row(row, number) for number, row in enumerate(rows)),
        backoff={name: _backoff_row(row, name) for name, row in backoff.items()},
        schedule=None if schedule is None else _object(schedule, ("schedule",), "it"),
        provenance=_object(top.get("provenance") or {}, ("provenance",), "it"),
        protocol=_protocol(top.get("protocol")),
    )


def _protocol(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    path = ("protocol",)
    section = _object(value, path, "it")
    _exact_keys(section, ("name", "options"), path)
    options = _object(section["options"], (*path, "options"), "it")
    return {
        "name": _text(section["name"], (*path, "name")),
        "options": {key: _text(text, (*path, "options", key)) for key, text in options.items()},
    }


def _cc_row(value: Any, number: int) -> CcRow:
    path = ("cc", number)
    row = _object(value, path, "the row")
    _exact_keys(row, _CC_ROW, path)
    wait = _object(row["wait"], (*path, "wait"), "it")
    for name, until in wait.items():
        if isinstance(until, bool) or not isinstance(until, int | str):
            raise ShapeError(
                (*path, "wait", name),
                f'is {shown(until)}; it must be "NO_WAIT", "COMMIT" or a state number',
            )
    for field in ("read_version", "write_visibility"):
        if row[field] is not None:
            _text(row[field], (*path, field))
    if not isinstance(row["early_validation"], bool):
        raise ShapeError(
            (*path, "early_validation"),
            f"is {shown(row['early_validation'])}; it must be true or false",
        )
    return CcRow(
        state=_whole(row["state"], (*path, "state")),
        type=_text(row["type"], (*path, "type")),
        access=_text(row["access"], (*path, "access")),
        wait=wait,
        read_version=row["read_version"],
        write_visibility=row["write_visibility"],
        early_validation=row["early_validation"],
    )


def _backoff_row(value: Any, name: str) -> BackoffRow:
    path = ("backoff", name)
    row = _object(value, path, "the row")
    _exact_keys(row, _BACKOFF_ROW, path)
    return BackoffRow(
        initial_us=_number(row["initial_us"], (*path, "initial_us")),
        abort=_alphas(row["abort"], (*path, "abort")),
        commit=_alphas(row["commit"], (*path, "commit")),
    )


def _alphas(value: Any, path: JsonPath) -> tuple[float, float, float]:
    cells = _list(value, path)
    if len(cells) != PRIOR_ABORTS:
        raise ShapeError(
            path, f"has {len(cells)} cells; it must have 3, for 0, 1, and 2 or more prior aborts"
        )
    numbers = tuple(_number(cell, (*path, place)) for place, cell in enumerate(cells))
    return cast(tuple[float, float, float], numbers)


def _exact_keys(
    data: Mapping[str, Any],
    keys: tuple[str, ...],
    path: JsonPath,
    optional: tuple[str, ...] = (),
) -> None:
    for key in keys:
        if key not in data and key not in optional:
            raise ShapeError((*path, key), "is missing; add it")
    for key in data:
        if key not in keys:
            raise ShapeError(
                (*path, key), f"is unknown; remove it (the fields are {', '.join(keys)})"
            )


def _object(value: Any, path: JsonPath, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ShapeError(path, f"{what} must be a JSON object")
    return value


def _list(value: Any, path: JsonPath) -> list[Any]:
    if not isinstance(value, list):
        raise ShapeError(path, "must be a JSON list")
    return value


def _text(value: Any, path: JsonPath) -> str:
    if not isinstance(value, str):
        raise ShapeError(path, f"is {shown(value)}; it must be a string")
    return value


def _whole(value: Any, path: JsonPath) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ShapeError(path, f"is {shown(value)}; it must be a whole number")
    return value


def _number(value: Any, path: JsonPath) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ShapeError(path, f"is {shown(value)}; it must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ShapeError(path, f"is {shown(value)}; it must be a number in range") from None
