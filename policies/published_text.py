"""Import tables in Polyjuice's text format, for TPC-C, TPC-E and the micro-benchmark.

A file has lines with whole numbers, and title lines. It has four blocks:

    title; 1 row: transaction slots per worker (not used)
    title; 3 rows (0, 1, ≥ 2 prior aborts) × 1 column per type: backoff decrease on commit
    title; 3 rows × 1 column per type: backoff increase on abort
    title; 1 row per state: dirty wait ev w1 w2 w3 …, one w per type

The states are in the order of the types, and of the accesses of each. TPC-E's tables have a fourth
type, Trade-Result, which the published runs never execute. Its rows are checked and left out, and
so are waits for it.

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
from collections.abc import Mapping, Sequence
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

LAYOUTS: Mapping[str, Mapping[str, int]] = {
    "tpcc": {"new_order": 11, "payment": 7, "delivery": 8},
    "tpce": {"trade_order": 30, "trade_result": 51, "market_feed": 12, "trade_update": 23},
    "micro": {f"type_{number}": 8 for number in range(10)},
}
"""The published types of a workload in order, with their number of accesses."""

NEVER_EXECUTED = frozenset({"trade_result"})
"""Published types that have states and that no published run executes."""

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
    """Read a published table from a file.

    Args:
        path: path of the file, whose stem becomes the policy's name.
        signature: signature of the workload.

    Raises:
        PolicyFileError: the file cannot be read or has another format (the message names the line
            and the column), or there is no published format for the signature.
    """
    return parse_published(read_text(Path(path)), path, Path(path).stem, signature)


def parse_published(text: str, source: str, name: str, signature: Signature) -> PolicyDocument:
    """Read a published table from the text of its file.

    Args:
        text: text of the file.
        source: name of the text in messages.
        name: name of the policy.
        signature: signature of the workload.

    Raises:
        PolicyFileError: as for `import_published`.
    """
    layout = _layout(signature, source)
    slots, decrease, increase, table = _four_blocks(_blocks(text, source), source)
    types = len(layout)
    _check_shape(slots, 1, 1, "the transaction slots per worker", source)
    _check_shape(decrease, PRIOR_ABORTS, types, "the backoff decrease on commit", source)
    _check_shape(increase, PRIOR_ABORTS, types, "the backoff increase on abort", source)
    states = sum(kind.access_count for kind in layout)
    _check_shape(table, states, 3 + types, "the access table", source)
    return PolicyDocument(
        name=name,
        signature=signature,
        cc=_cc_rows(table, layout, source),
        backoff=_backoff(increase, decrease, layout, source),
        provenance={"imported_from": "Polyjuice text format", "file": source},
    )


@dataclass(frozen=True)
class _PublishedType:
    """A type's place in a published table."""

    name: str
    column: int
    first_row: int
    access_count: int
    own: TransactionType | None
    """The workload's type; None if the workload does not have it."""


def _layout(signature: Signature, source: str) -> tuple[_PublishedType, ...]:
    """Return the published types of a workload, whose own types must have the same accesses."""
    own = {kind.name: kind for kind in signature.types}
    published = LAYOUTS.get(signature.workload)
    if published is None:
        known = ", ".join(LAYOUTS)
        raise PolicyFileError(
            f"{source}: there are no published tables for {signature.workload}; use --workload "
            f"with one of {known}"
        )
    counts = {name: len(kind.accesses) for name, kind in own.items()}
    expected = {name: count for name, count in published.items() if name not in NEVER_EXECUTED}
    if counts != expected:
        raise PolicyFileError(
            f"{source}: the published tables for {signature.workload} have {_in_words(expected)} "
            f"accesses, not {_in_words(counts)}; leave out the options (-o) that change the types"
        )
    found: list[_PublishedType] = []
    row = 0
    for column, (name, count) in enumerate(published.items()):
        found.append(_PublishedType(name, column, row, count, own.get(name)))
        row += count
    return tuple(found)


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


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
    increase: _Block, decrease: _Block, layout: Sequence[_PublishedType], source: str
) -> dict[str, BackoffRow]:
    found: dict[str, BackoffRow] = {}
    for kind in layout:
        abort = _alphas(increase, kind.column, source)
        commit = _alphas(decrease, kind.column, source)
        if kind.own is not None:
            found[kind.name] = BackoffRow(initial_us=1.0, abort=abort, commit=commit)
    return found


def _alphas(block: _Block, column: int, source: str) -> tuple[float, float, float]:
    cells = [_one_of(row[column], BACKOFF_CELLS, "a backoff cell", source) for row in block.rows]
    return (cells[0] / 2, cells[1] / 2, cells[2] / 2)


def _cc_rows(table: _Block, layout: Sequence[_PublishedType], source: str) -> tuple[CcRow, ...]:
    rows: list[CcRow] = []
    for kind in layout:
        numbers = table.rows[kind.first_row : kind.first_row + kind.access_count]
        waits = [_waits(row, layout, source) for row in numbers]
        dirty = [_one_of(row[0], (0, 1), "dirty", source) == 1 for row in numbers]
        points = [_one_of(row[2], (0, 1), "ev", source) == 1 for row in numbers]
        if kind.own is None:
            continue
        public = _publishing_writes(kind.own.accesses, points)
        for at, access in enumerate(kind.own.accesses):
            rows.append(
                CcRow(
                    state=access.state,
                    type=kind.name,
                    access=access.name,
                    wait=waits[at],
                    read_version=("DIRTY" if dirty[at] else "CLEAN")
                    if access.has_read_version
                    else None,
                    write_visibility=("PUBLIC" if access.state in public else "PRIVATE")
                    if access.writes
                    else None,
                    early_validation=points[at],
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


def _waits(row: _Row, layout: Sequence[_PublishedType], source: str) -> dict[str, WaitAction]:
    waiting = _one_of(row[1], (0, 1), "wait", source) == 1
    waits: dict[str, WaitAction] = {}
    for kind in layout:
        until = _wait(row[3 + kind.column], kind, source)
        if kind.own is not None:
            waits[kind.name] = until if waiting else "NO_WAIT"
    return waits


def _wait(cell: _Number, kind: _PublishedType, source: str) -> WaitAction:
    if cell.value > kind.access_count:
        raise PolicyFileError(
            f"{source}:{cell.line}:{cell.column}: a wait for {cell.value} accesses of {kind.name}; "
            f"it has {kind.access_count}"
        )
    if cell.value == 0 or kind.own is None:
        return "NO_WAIT"
    if cell.value == kind.access_count:
        return "COMMIT"
    return kind.own.accesses[cell.value - 1].state


def _one_of(cell: _Number, allowed: tuple[int, ...], what: str, source: str) -> int:
    if cell.value not in allowed:
        raise PolicyFileError(
            f"{source}:{cell.line}:{cell.column}: {what} is {cell.value}; it must be one of "
            f"{', '.join(map(str, allowed))}"
        )
    return cell.value
