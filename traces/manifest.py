"""What a trace says about itself: `trace.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from traces.errors import TraceError, shown, why
from traces.schema import ACCESS_KINDS, SCHEMA_VERSION

FILE_NAME = "trace.json"

RECORDER = "heddle trace record"
"""The source of a trace that the engine wrote."""


def _heddle_version() -> str:
    try:
        return version("heddle")
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class Access:
    """One statement of a transaction type.

    Attributes:
        access: its number in the type, from 0.
        name: unique in its type, such as `update_stock`.
        table: the table it touches.
        kind: one of `traces.schema.ACCESS_KINDS`.
    """

    access: int
    name: str
    table: str
    kind: str


@dataclass(frozen=True)
class TransactionType:
    """A kind of transaction; no accesses where they are not known."""

    name: str
    accesses: tuple[Access, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where a trace came from.

    Attributes:
        importer: the format's name; a generator's name where the trace is synthetic.
        files: base names of what was read; paths are nobody's business.
        left_out: what was not taken over: how many, by reason.
        guessed: what was taken over with something that is not certain: how many, by reason.
    """

    importer: str
    files: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    guessed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a trace is.

    Attributes:
        name: for people; by default its folder's.
        source: where it came from.
        types: its transaction types, with their accesses where these are known: what a
            workload's signature is made of.
        synthetic: whether it was made up.
        heddle_version: of the Heddle that wrote it.
        schema_version: of its Parquet files, see `traces.schema`.
    """

    name: str
    source: Source
    types: tuple[TransactionType, ...]
    synthetic: bool = False
    heddle_version: str = field(default_factory=_heddle_version)
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> str:
        """As the text of `trace.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the `trace.json` of a trace.

    Raises:
        TraceError: there is none, it can't be read, or a key of it is at fault.
    """
    path = folder / FILE_NAME
    if path.exists() and not path.is_file():
        raise TraceError(f"{path}: is not a regular file; import the trace anew")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TraceError(
            f"{folder}: is no trace: it has no {FILE_NAME}; make one with heddle trace import"
        ) from None
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: is not UTF-8 text; import the trace anew") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON: {error}; import the trace anew") from None
    return _manifest(_Place(path, "", document))


@dataclass(frozen=True)
class _Place:
    """A value in the document, and the way to it."""

    path: Path
    key: str
    value: Any

    def wrong(self, wanted: str) -> TraceError:
        where = f"{self.key}: " if self.key else ""
        return TraceError(f"{self.path}: {where}must be {wanted}, is {shown(self.value)}")

    def at(self, key: str) -> _Place:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        if key not in self.value:
            raise TraceError(f"{self.path}: {self._below(key)} is missing")
        return _Place(self.path, self._below(key), self.value[key])

    def items(self) -> list[_Place]:
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [_Place(self.path, f"{self.key}[{i}]", one) for i, one in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a text that is not empty")
        return self.value

    def whole(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self.wrong("a whole number, 0 or more")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def _below(self, key: str) -> str:
        return f"{self.key}.{key}" if self.key else key


def _manifest(place: _Place) -> Manifest:
    version_place = place.at("schema_version")
    if version_place.value != SCHEMA_VERSION:
        raise TraceError(
            f"{place.path}: schema_version: {shown(version_place.value)} is unknown to this "
            f"Heddle, which reads {SCHEMA_VERSION}; use the Heddle that wrote it"
        )
    return Manifest(
        name=place.at("name").text(),
        source=_source(place.at("source")),
        types=tuple(_type(one) for one in _named_once(place.at("types"))),
        synthetic=place.at("synthetic").flag(),
        heddle_version=place.at("heddle_version").text(),
    )


def _source(place: _Place) -> Source:
    # Traces that were made before guesses were counted have none.
    importer = place.at("importer").text()
    has_guesses = "guessed" in place.value
    return Source(
        importer=importer,
        files=tuple(one.text() for one in place.at("files").items()),
        left_out=_counts(place.at("left_out")),
        guessed=_counts(place.at("guessed")) if has_guesses else {},
    )


def _counts(place: _Place) -> dict[str, int]:
    if not isinstance(place.value, dict):
        raise place.wrong("an object")
    return {reason: place.at(reason).whole() for reason in place.value}


def _type(place: _Place) -> TransactionType:
    accesses = _named_once(place.at("accesses"))
    return TransactionType(
        name=place.at("name").text(),
        accesses=tuple(_access(one, number) for number, one in enumerate(accesses)),
    )


def _access(place: _Place, number: int) -> Access:
    if place.at("access").whole() != number:
        raise place.at("access").wrong(f"{number}: accesses are numbered in their order")
    kind = place.at("kind")
    if kind.value not in ACCESS_KINDS:
        raise kind.wrong(f"one of {', '.join(ACCESS_KINDS)}")
    return Access(number, place.at("name").text(), place.at("table").text(), kind.value)


def _named_once(place: _Place) -> list[_Place]:
    seen = set()
    for one in place.items():
        name = one.at("name")
        if name.text() in seen:
            raise name.wrong("a name that no other has")
        seen.add(name.value)
    return place.items()
