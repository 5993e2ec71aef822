"""The manifest of a trace, `trace.json`."""

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
"""The importer of a trace that the engine recorded."""


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
    """A transaction type; its accesses are empty where they are unknown."""

    name: str
    accesses: tuple[Access, ...] = ()


@dataclass(frozen=True)
class Source:
    """The origin of a trace.

    Attributes:
        importer: the format's name, or the generator's if the trace is synthetic.
        files: base names of the sources; their directories are private.
        left_out: rows left out, by reason.
        guessed: rows imported with something that is uncertain, by reason.
    """

    importer: str
    files: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    guessed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The description of a trace.

    Attributes:
        name: a name for display; by default the name of its folder.
        source: the origin.
        types: the transaction types, with their accesses where these are known; a workload's
            signature is derived from them.
        synthetic: whether the trace was generated.
        heddle_version: the version of Heddle that wrote it.
        schema_version: the version of its Parquet files, see `traces.schema`.
    """

    name: str
    source: Source
    types: tuple[TransactionType, ...]
    synthetic: bool = False
    heddle_version: str = field(default_factory=_heddle_version)
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> str:
        """Return the text of `trace.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the `trace.json` of a trace.

    Raises:
        TraceError: the file is missing or unreadable, or one of its keys is invalid.
    """
    path = folder / FILE_NAME
    if path.exists() and not path.is_file():
        raise TraceError(f"{path}: is not a regular file; import the trace again")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TraceError(
            f"{folder}: is not a trace: it has no {FILE_NAME}; create one with heddle trace import"
        ) from None
    except OSError as error:
        raise TraceError(f"{path}: can't be read: {why(error)}") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path}: is not UTF-8 text; import the trace again") from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON: {error}; import the trace again") from None
    return _manifest(_Place(path, "", document))


@dataclass(frozen=True)
class _Place:
    """A value in the document and its path."""

    path: Path
    key: str
    value: Any

    def wrong(self, wanted: str) -> TraceError:
        where = f"{self.key}: " if self.key else ""
        return TraceError(f"{self.path}: {where}must be {wanted}, not {shown(self.value)}")

    def at(self, key: str) -> _Place:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        if key not in self.value:
            raise TraceError(f"{self.path}: {self._below(key)} is missing")
        return _Place(self.path, self._below(key), self.value[key])

    def items(self) -> list[_Place]:
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [_Place(self.path, f"{self.key}[{i}]", item) for i, item in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a string that is not empty")
        return self.value

    def whole(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise self.wrong("an integer, 0 or more")
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
            f"{place.path}: schema_version: {shown(version_place.value)} is not supported; this "
            f"Heddle reads version {SCHEMA_VERSION}; use the Heddle that wrote the trace"
        )
    return Manifest(
        name=place.at("name").text(),
        source=_source(place.at("source")),
        types=tuple(_type(type_) for type_ in _named_once(place.at("types"))),
        synthetic=place.at("synthetic").flag(),
        heddle_version=place.at("heddle_version").text(),
    )


def _source(place: _Place) -> Source:
    # Traces of earlier versions do not count guesses.
    importer = place.at("importer").text()
    has_guesses = "guessed" in place.value
    return Source(
        importer=importer,
        files=tuple(entry.text() for entry in place.at("files").items()),
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
        accesses=tuple(_access(access, number) for number, access in enumerate(accesses)),
    )


def _access(place: _Place, number: int) -> Access:
    if place.at("access").whole() != number:
        raise place.at("access").wrong(f"{number}, because accesses are numbered in order")
    kind = place.at("kind")
    if kind.value not in ACCESS_KINDS:
        raise kind.wrong(f"one of {', '.join(ACCESS_KINDS)}")
    return Access(number, place.at("name").text(), place.at("table").text(), kind.value)


def _named_once(place: _Place) -> list[_Place]:
    seen = set()
    for entry in place.items():
        name = entry.at("name")
        if name.text() in seen:
            raise name.wrong("unique")
        seen.add(name.value)
    return place.items()
