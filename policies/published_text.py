"""Import tables in Polyjuice's text format for TPC-C.

A file has lines with whole numbers, and title lines. It has four blocks:

    title; 1 row: transaction slots per worker (not used)
    title; 3 rows (0, 1, ≥ 2 prior aborts) × 1 column per type: backoff decrease on commit
    title; 3 rows × 1 column per type: backoff increase on abort
    title; 1 row per state: dirty wait ev w1 w2 w3

They are converted as follows:

- *Backoff*: a cell x of {0, 1, 2, 4, 8} becomes alpha = x / 2. The format has no initial backoff;
  it becomes 1 µs, as in the seed policies.
- *dirty*: becomes `DIRTY` for a plain read. For other accesses it is ignored, as in the published
  engine.
- *wait*, *wK*: if `wait` is 0 there is no wait. Otherwise wK is the number of accesses that
  dependencies of type K must have finished. 0 becomes `NO_WAIT`; the type's number of accesses
  becomes `COMMIT`, because the published engine then waits for the end; any other w becomes the
  type's access w - 1.
- *ev*: validates early and publishes all writes since the previous such point. On a write it
  becomes `PUBLIC` with early validation. On a read it becomes early validation, and the last write
  since the previous point becomes `PUBLIC`, because only a write can publish here. Both engines
  take the waits before an early validation from the next row.

Files of the older format have one more block ("txn final commit wait", with 4 rows per state and
type). They are refused, as are all other deviations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policies.document import (
    PRIOR_ABORTS,
    BackoffRow,
    CcRow,
    PolicyDocument,
    WaitAction,
)
from policies.errors import PolicyFileError
from policies.format import read_text
from policies.signature import Access, Signature, TransactionType

BACKOFF_CELLS = (0, 1, 2, 4, 8)
TPCC_ACCESS_COUNTS = (11, 7, 8)

_TOKEN = re.compile(r"\S+")
_OLDER = (
    "this is the older format, which has one more block; only the format with two backoff blocks "
    "and one row per state can be imported"
)


@dataclass(frozen=True)
class _Number:
    value: int
    line: int
    column: int


_Row = tuple[_Number, ...]


@dataclass(frozen=True)
class _Block:
    title: str
    title_line: int
    rows: tuple[_Row, ...]


def import_published(path: str, signature: Signature) -> PolicyDocument:
    """Read a published TPC-C table from a file.

    Args:
        path: path of the file, whose stem becomes the policy's name.
        signature: signature of TPC-C.

    Raises:
        PolicyFileError: the file cannot be read or has another format (the message names the line
            and the column), or the signature is not TPC-C's.
    """
    return parse_published(read_text(Path(path)), path, Path(path).stem, signature)


def parse_published(text: str, source: str, name: str, signature: Signature) -> PolicyDocument:
    """Read a published TPC-C table from the text of its file.

    Args:
        text: text of the file.
        source: name of the text in messages.
        name: name of the policy.
        signature: signature of TPC-C.

    Raises:
        PolicyFileError: as for `import_published`.
    """
    counts = tuple(len(kind.accesses) for kind in signature.types)
    if signature.workload != "tpcc" or counts != TPCC_ACCESS_COUNTS:
        raise PolicyFileError(
            f"{source}: the published format is for TPC-C with {TPCC_ACCESS_COUNTS} accesses per "
            f"type, not for {signature.workload} with {counts}; use --workload tpcc"
        )
    slots, decrease, increase, table = _four_blocks(_blocks(text, source), source)
    types = len(signature.types)
    _check_shape(slots, 1, 1, "the transaction slots per worker", source)
    _check_shape(decrease, PRIOR_ABORTS, types, "the backoff decrease on commit", source)
    _check_shape(increase, PRIOR_ABORTS, types, "the backoff increase on abort", source)
    _check_shape(table, signature.state_count, 3 + types, "the access table", source)
    return PolicyDocument(
        name=name,
        signature=signature,
        cc=_cc_rows(table, signature, source),
        backoff=_backoff(increase, decrease, signature, source),
        provenance={"imported_from": "Polyjuice text format", "file": source},
    )


def _blocks(text: str, source: str) -> list[_Block]:
    """Split the text into titles, each with the rows of numbers below it."""
    if not text.strip():
        raise PolicyFileError(f"{source}: the file is empty")
    titles: list[tuple[str, int]] = []
    rows: list[list[_Row]] = []
    lines = text.rstrip().split("\n")
    for number, content in enumerate(lines, start=1):
        tokens = list(_TOKEN.finditer(content))
        if not tokens:
            raise PolicyFileError(f"{source}:{number}: blank line; remove it")
        if not tokens[0].group().lstrip("+-").isdigit():
            titles.append((content.strip(), number))
            rows.append([])
            continue
        if not titles:
            raise PolicyFileError(
                f"{source}:{number}:1: the file must begin with a title, such as "
                "`txn buffer size`, not with numbers"
            )
        rows[-1].append(tuple(_number(token, number, source) for token in tokens))
    return [
        _Block(title, line, tuple(found)) for (title, line), found in zip(titles, rows, strict=True)
    ]


def _number(token: re.Match[str], line: int, source: str) -> _Number:
    digits, column = token.group(), token.start() + 1
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        raise PolicyFileError(
            f"{source}:{line}:{column}: {digits!r} is not a whole number from 0; "
            "a row holds only such numbers"
        )
    return _Number(int(digits), line, column)


def _four_blocks(blocks: list[_Block], source: str) -> list[_Block]:
    if len(blocks) > 4:
        extra = blocks[3]
        raise PolicyFileError(
            f"{source}:{extra.title_line}: more than 4 blocks ({extra.title!r}): {_OLDER}"
        )
    if len(blocks) < 4:
        raise PolicyFileError(
            f"{source}: {len(blocks)} blocks (a title and numbers below it); there must be 4: "
            "slots, backoff decrease, backoff increase, access table"
        )
    return blocks


def _check_shape(block: _Block, rows: int, columns: int, what: str, source: str) -> None:
    for row in block.rows:
        if len(row) != columns:
            at = row[min(columns, len(row) - 1)]
            raise PolicyFileError(
                f"{source}:{at.line}:{at.column}: {len(row)} numbers; a row of {what} has {columns}"
            )
    if len(block.rows) != rows:
        raise PolicyFileError(
            f"{source}:{block.title_line}: {len(block.rows)} rows below {block.title!r}; "
            f"{what} has {rows}"
        )


def _backoff(
    increase: _Block, decrease: _Block, signature: Signature, source: str
) -> dict[str, BackoffRow]:
    return {
        kind.name: BackoffRow(
            initial_us=1.0,
            abort=_alphas(increase, column, source),
            commit=_alphas(decrease, column, source),
        )
        for column, kind in enumerate(signature.types)
    }


def _alphas(block: _Block, column: int, source: str) -> tuple[float, float, float]:
    cells = [_one_of(row[column], BACKOFF_CELLS, "a backoff cell", source) for row in block.rows]
    return (cells[0] / 2, cells[1] / 2, cells[2] / 2)


def _cc_rows(table: _Block, signature: Signature, source: str) -> tuple[CcRow, ...]:
    rows: list[CcRow] = []
    for kind in signature.types:
        numbers = [table.rows[access.state] for access in kind.accesses]
        points = [_one_of(row[2], (0, 1), "ev", source) == 1 for row in numbers]
        public = _publishing_writes(kind.accesses, points)
        for access, row, point in zip(kind.accesses, numbers, points, strict=True):
            dirty = _one_of(row[0], (0, 1), "dirty", source) == 1
            rows.append(
                CcRow(
                    state=access.state,
                    type=kind.name,
                    access=access.name,
                    wait=_waits(row, signature, source),
                    read_version=("DIRTY" if dirty else "CLEAN")
                    if access.has_read_version
                    else None,
                    write_visibility=("PUBLIC" if access.state in public else "PRIVATE")
                    if access.writes
                    else None,
                    early_validation=point,
                )
            )
    return tuple(rows)


def _publishing_writes(accesses: Sequence[Access], points: Sequence[bool]) -> set[int]:
    """Return the states whose write publishes, the last write between two points."""
    public: set[int] = set()
    buffered: int | None = None
    for access, point in zip(accesses, points, strict=True):
        if access.writes:
            buffered = access.state
        if point and buffered is not None:
            public.add(buffered)
            buffered = None
    return public


def _waits(row: _Row, signature: Signature, source: str) -> dict[str, WaitAction]:
    waiting = _one_of(row[1], (0, 1), "wait", source) == 1
    waits: dict[str, WaitAction] = {}
    for cell, kind in zip(row[3:], signature.types, strict=True):
        until = _wait(cell, kind, source)
        waits[kind.name] = until if waiting else "NO_WAIT"
    return waits


def _wait(cell: _Number, kind: TransactionType, source: str) -> WaitAction:
    count = len(kind.accesses)
    if cell.value > count:
        raise PolicyFileError(
            f"{source}:{cell.line}:{cell.column}: a wait for {cell.value} accesses of {kind.name}; "
            f"it has {count}"
        )
    if cell.value == 0:
        return "NO_WAIT"
    return "COMMIT" if cell.value == count else kind.accesses[cell.value - 1].state


def _one_of(cell: _Number, allowed: tuple[int, ...], what: str, source: str) -> int:
    if cell.value not in allowed:
        raise PolicyFileError(
            f"{source}:{cell.line}:{cell.column}: {what} is {cell.value}; it must be one of "
            f"{', '.join(map(str, allowed))}"
        )
    return cell.value
