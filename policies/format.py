"""Load, check and save policy files.

A policy file is a JSON document in UTF-8. `save` writes its canonical text, which is the same for
equal documents and has one table row per line, so that line-based tools can compare two policies.
The engine's validator decides which values are allowed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from policies.document import PolicyDocument
from policies.errors import PolicyFileError, cut, refuse_special, write_failure_reason
from policies.json_text import POLICY, DocumentKind, JsonPath, line_of, parse
from policies.reading import ShapeError, read_document
from policies.signature import Signature


def load(
    path: str | os.PathLike[str], signature: Signature | None = None, *, check: bool = True
) -> PolicyDocument:
    """Load a policy file.

    Args:
        path: path of the file.
        signature: signature that the policy must fit; None for the file's own signature.
        check: validate the values with the engine. Otherwise only the structure is checked, and the
            compiled engine is not needed.

    Returns:
        The policy.

    Raises:
        PolicyFileError: the file cannot be read, is no policy, is not valid, or is for another
            workload. The message names the file, line, row and field at fault, and how to correct
            it.
        ImportError: `check` is set and the engine is not built.
    """
    return from_json(read_text(Path(path)), str(path), signature, check=check)


def from_json(
    text: str, source: str = "policy", signature: Signature | None = None, *, check: bool = True
) -> PolicyDocument:
    """Read a policy from the JSON text of a policy file.

    Args:
        text: JSON text.
        source: name of the text in messages.
        signature: as for `load`.
        check: as for `load`.

    Returns:
        The policy.

    Raises:
        PolicyFileError, ImportError: as for `load`.
    """
    value = parse(text, source)
    try:
        document = read_document(value)
    except ShapeError as error:
        line = line_of(text, error.path)
        place = _describe(error.path, value)
        raise PolicyFileError(f"{source}:{line}: {place}{error}") from None
    if check:
        _validate(text, document.signature if signature is None else signature, source)
    elif signature is not None and signature != document.signature:
        raise PolicyFileError(
            f"{source}: the policy is for another workload: its signature "
            f"({document.signature.workload}, {document.signature.state_count} states) is not that "
            f"of {signature.workload} ({signature.state_count} states); train one for the latter"
        )
    return document


def validate(
    document: PolicyDocument, signature: Signature | None = None, source: str | None = None
) -> None:
    """Validate a policy with the engine.

    Args:
        document: the policy.
        signature: signature that the policy must fit; None for its own.
        source: name of the policy in messages; None for its own.

    Raises:
        PolicyFileError: the policy is not valid; the message names the row and the field.
        ImportError: the engine is not built.
    """
    _validate(to_json(document), signature or document.signature, source or document.name)


def to_json(document: PolicyDocument) -> str:
    """Return the canonical text of a policy file, with one table row per line.

    Raises:
        PolicyFileError: the schedule or the provenance has a value that JSON lacks, such as NaN.
    """
    top = document.to_dict()
    body = ",\n".join(f' "{key}": {_section(key, value)}' for key, value in top.items())
    return f"{{\n{body}\n}}\n"


def digest(document: PolicyDocument) -> str:
    """Return the BLAKE2b digest of a policy's canonical text, as 32 hexadecimal digits.

    Raises:
        PolicyFileError: as for `to_json`.
    """
    return hashlib.blake2b(to_json(document).encode(), digest_size=16).hexdigest()


def save(document: PolicyDocument, path: str | os.PathLike[str]) -> None:
    """Write a policy file atomically and durably.

    The text is written to a new file in the same directory, synchronized to the disk, and renamed.
    Readers see the old or the new file. A symbolic link is followed.

    Args:
        document: the policy.
        path: path of the file, which is replaced if it exists.

    Raises:
        PolicyFileError: the file cannot be written, or the policy has a value that JSON lacks.
    """
    data = to_json(document).encode()
    try:
        target = Path(os.path.realpath(path))
        refuse_special(target)
        temporary = target.parent / f".{secrets.token_hex(8)}.tmp"
        try:
            _write_durably(temporary, data)
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        _sync_directory(target.parent)
    except (OSError, ValueError) as error:
        raise PolicyFileError(f"{path}: can't be written: {write_failure_reason(error)}") from error


def read_text(path: Path, kind: DocumentKind = POLICY) -> str:
    """Return the text of a file, with an error message for every way in which that fails.

    Args:
        path: path of the file.
        kind: expected kind of document.

    Raises:
        PolicyFileError: the file is missing, a directory, too large, binary, not UTF-8, or
            unreadable.
    """
    try:
        with path.open("rb") as file:
            data = file.read((kind.mib_max << 20) + 1)
    except FileNotFoundError:
        raise PolicyFileError(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise PolicyFileError(
            f"{path}: is a directory; name {kind.name}'s file in it, such as {path / kind.file}"
        ) from None
    except (OSError, ValueError) as error:
        raise PolicyFileError(f"{path}: can't be read: {_reason(error)}") from error
    if len(data) > kind.mib_max << 20:
        raise PolicyFileError(
            f"{path}: is larger than {kind.mib_max} MiB, too large for {kind.name}"
        )
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise PolicyFileError(
            f"{path}: holds binary data; {kind.name}'s file is JSON text in UTF-8"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyFileError(
            f"{path}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8 text"
        ) from None


def _validate(text: str, signature: Signature, source: str) -> None:
    import engine

    try:
        engine.Policy(text, signature.to_dict())
    except engine.PolicyError as error:
        row = re.search(r"\brow (\d+)", str(error))
        line = f":{line_of(text, ('cc', int(row[1])))}" if row else ""
        raise PolicyFileError(f"{source}{line}: {error}") from None


def _describe(path: JsonPath, value: Any) -> str:
    """Return a position for a message: the row with its type and access, and the field."""
    match path:
        case ():
            return ""
        case ("cc", int(number), *rest):
            row = value["cc"][number]
            names = [row.get(key) for key in ("type", "access")] if isinstance(row, dict) else []
            known = ".".join(cut(name) for name in names if isinstance(name, str))
            where = f"row {number} ({known})" if known else f"row {number}"
        case ("backoff", str(name), *rest):
            where = f"backoff row {cut(name)}"
        case _:
            where, rest = "", list(path)
    steps = (f"[{step}]" if isinstance(step, int) else f".{cut(step)}" for step in rest)
    field = "".join(steps)[1:]
    parts = [where] if where else []
    if field:
        parts.append(f"field {field}")
    return f"{', '.join(parts)}: " if not field else f"{', '.join(parts)} "


def _section(key: str, value: Any) -> str:
    match key:
        case "signature":
            types = ",\n".join(_type_lines(entry) for entry in value["types"])
            return f'{{"workload": {_line(value["workload"])}, "types": [\n{types}\n ]}}'
        case "cc":
            return f"[\n{_lines(_line(row) for row in value)}\n ]"
        case "backoff":
            rows = (f"{_line(name)}: {_line(_short(row))}" for name, row in value.items())
            return f"{{\n{_lines(rows)}\n }}"
        case "protocol" | "schedule" | "provenance" if value:
            fields = (f"{_line(name)}: {_line(entry, name)}" for name, entry in value.items())
            return f"{{\n{_lines(fields)}\n }}"
    return _line(value)


def _type_lines(entry: Mapping[str, Any]) -> str:
    accesses = _lines((_line(access) for access in entry["accesses"]), indent=3)
    return f'  {{"name": {_line(entry["name"])}, "accesses": [\n{accesses}\n  ]}}'


def _lines(rows: Iterator[str], indent: int = 2) -> str:
    return ",\n".join(" " * indent + row for row in rows)


def _line(value: Any, field: str = "") -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise PolicyFileError(f"field {field} can't be written as JSON: {error}") from None


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert whole numbers to integers, which are written without `.0`."""

    def short(number: float) -> float:
        return int(number) if number == int(number) else number

    return {
        key: [short(cell) for cell in entry] if isinstance(entry, list) else short(entry)
        for key, entry in row.items()
    }


def _write_durably(path: Path, data: bytes) -> None:
    # O_EXCL with mode 0666 lets the umask decide, where tempfile would give 0600.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
