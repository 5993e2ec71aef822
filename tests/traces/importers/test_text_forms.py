"""Forms of log files: byte order marks, compression, line ends, empty and duplicate files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traces.errors import TraceError
from traces.importers.access_log import AccessLogImporter
from traces.importers.base import LeftOut
from traces.importers.file_importer import EMPTY
from traces.importers.jsonl_rows import TWICE
from traces.importers.source_file import BEGINNING_BYTES

MAPPING = """
time: {column: t, format: epoch}
session: s
gap_ms: 10
table: {value: account}
key: row
kind: {value: update}
"""
CSV = "t,s,row\n1,a,7\n100,b,8\n"
JSONL = '{"t":1,"s":"a","row":7}\n{"t":100,"s":"b","row":8}\n'
ROWS = [(1, 7), (100, 8)]


def rows_of(
    *paths: Path, left_out: LeftOut | None = None, mapping: str | bytes = MAPPING
) -> list[tuple[int, int]]:
    """Return the begin and the key of each transaction."""
    file = paths[0].parent / "mapping.yaml"
    file.write_bytes(mapping.encode() if isinstance(mapping, str) else mapping)
    importer = AccessLogImporter(paths, left_out or LeftOut(strict=True), file)
    made = [row for table in importer.tables() for row in table.to_pylist()]
    assert importer.bytes_read == importer.bytes_total
    return [(int(row["begin"].timestamp()), row["accesses"][0]["key"]) for row in made]


def written(folder: Path, content: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize(("name", "text"), [("log.csv", CSV), ("log.jsonl", JSONL)])
def test_a_byte_order_mark_is_skipped(tmp_path: Path, encoding: str, name: str, text: str) -> None:
    mark = "\ufeff" if encoding.endswith("be") else ""
    mapping = (mark + MAPPING).encode(encoding)
    log = written(tmp_path, (mark + text).encode(encoding), name)
    assert rows_of(log, mapping=mapping) == ROWS


def test_a_byte_order_mark_within_a_concatenated_log(tmp_path: Path) -> None:
    marked = "\ufeff" + JSONL.replace("\n", "\n\ufeff", 1)
    assert rows_of(written(tmp_path, marked, "log.jsonl")) == ROWS


def test_a_truncated_utf_16_character_is_reported(tmp_path: Path) -> None:
    log = written(tmp_path, CSV.encode("utf-16")[:-1])
    with pytest.raises(TraceError, match=r"log\.csv: .*UTF-16"):
        rows_of(log)


def by_pyarrow(codec: str) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, codec) as packed:
            packed.write(data)
        return bytes(out.getvalue().to_pybytes())

    return pack


def zipped(data: bytes) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/", "")
        archive.writestr("a/log.csv", data)
        archive.writestr("__MACOSX/._log.csv", "x")
    return out.getvalue()


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "zst": by_pyarrow("zstd"),
    "lz4": by_pyarrow("lz4"),
    "br": by_pyarrow("brotli"),
    "zip": zipped,
}


@pytest.mark.parametrize("ending", PACKINGS)
def test_packed_files(tmp_path: Path, ending: str) -> None:
    pack = PACKINGS[ending]
    packed = pack(("\ufeff" + CSV).encode())
    assert rows_of(written(tmp_path, packed, f"log.csv.{ending}")) == ROWS
    assert rows_of(written(tmp_path, pack(CSV.encode("utf-16")), f"log.csv.{ending}")) == ROWS
    if ending != "br":  # Brotli can't be detected by its first bytes
        assert rows_of(written(tmp_path, packed, "log.csv")) == ROWS
    assert rows_of(written(tmp_path, CSV, "plain.csv.gz")) == ROWS
    log = written(tmp_path, packed[:-6], f"cut.csv.{ending}")
    with pytest.raises(TraceError, match=rf"cut\.csv\.{ending}: can't be read: "):
        rows_of(log)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst", "lz4"])
def test_concatenated_packed_files(tmp_path: Path, ending: str) -> None:
    pack = PACKINGS[ending]
    head, rest = CSV[:11].encode(), CSV[11:].encode()
    assert rows_of(written(tmp_path, pack(head) + pack(rest), f"log.csv.{ending}")) == ROWS


def test_archives_of_several_files(tmp_path: Path) -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("1.csv", CSV)
        archive.writestr("2.csv", CSV)
    log = written(tmp_path, out.getvalue(), "log.csv.zip")
    with pytest.raises(TraceError, match=r"log\.csv\.zip: holds 2 files; unpack it"):
        rows_of(log)
    tar = written(tmp_path, b"log.csv".ljust(257, b"\0") + b"ustar\0", "log.csv.gz")
    with pytest.raises(TraceError, match=r"is a tar archive; unpack it"):
        rows_of(tar)


@pytest.mark.parametrize(("name", "text"), [("log.csv", CSV), ("log.jsonl", JSONL)])
def test_no_newline_at_the_end(tmp_path: Path, name: str, text: str) -> None:
    assert rows_of(written(tmp_path, text.rstrip("\n"), name)) == ROWS
    assert rows_of(written(tmp_path, text.replace("\n", "\r\n").rstrip(), name)) == ROWS


def test_empty_files_in_a_rotation_are_counted(tmp_path: Path) -> None:
    empty = [
        written(tmp_path, content, f"empty-{number}.csv")
        for number, content in enumerate(
            [b"", b"\n\n", b"\xef\xbb\xbf", gzip.compress(b""), b"\0" * 99]
        )
    ]
    headers = [
        written(tmp_path, head, f"head-{len(head)}.csv") for head in ("t,s,row\n", "t,s,row")
    ]
    left_out = LeftOut(strict=True)
    assert rows_of(*empty, *headers, written(tmp_path, CSV), left_out=left_out) == ROWS
    assert left_out.counts == {EMPTY: 5}
    assert left_out.named == {EMPTY: [str(empty[0])]}
    nothing = written(tmp_path, b"", "log.parquet")
    assert rows_of(nothing) == []


def test_two_columns_with_one_name(tmp_path: Path) -> None:
    twice = written(tmp_path, 't,s,"row",row\n1,a,7,8\n')
    with pytest.raises(TraceError, match=r"log\.csv: has 2 columns with the name row; rename"):
        rows_of(twice)
    unused = written(tmp_path, "t,s,row,x,x\n1,a,7,8,9\n")
    assert rows_of(unused) == [(1, 7)]
    column = pa.array([1])
    table = pa.table([column, column, column, column], names=["t", "s", "row", "row"])
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(TraceError, match=r"log\.parquet: has 2 columns with the name row"):
        rows_of(tmp_path / "log.parquet")


def test_two_members_with_one_name(tmp_path: Path) -> None:
    lines = [
        '{"t":1,"s":"a","row":7,"row":8}',
        '{"t":100,"s":"a","row":9,"why":{"row":"row"}}',
        '{"t":200,"s":"a","row":9,"why":"the row","x":1,"x":2}',
    ]
    log = written(tmp_path, "\n".join(lines), "log.jsonl")
    left_out = LeftOut()
    assert rows_of(log, left_out=left_out) == [(1, 8), (100, 9), (200, 9)]
    assert (left_out.counts, left_out.guessed) == ({}, {TWICE: 1})
    assert left_out.named[TWICE] == ["log.jsonl:1: row occurs twice"]
    with pytest.raises(TraceError, match=r"log\.jsonl:1: row occurs twice"):
        rows_of(log)


@pytest.mark.parametrize(
    ("column", "members"),
    [
        ("row", r'"row":7,"\u0072ow":9'),
        ("row", r'"r\u006Fw":7,"row":9'),
        ("größe", '"größe":7,"größe":9'),
        ("größe", r'"größe":7,"gr\u00f6\u00dfe":9'),
        ("a/b", r'"a/b":7,"a\/b":9'),
    ],
)
def test_two_members_with_one_escaped_name(tmp_path: Path, column: str, members: str) -> None:
    log = written(tmp_path, f'{{"t":1,"s":"a","why":"\\"x\\": ",{members}}}', "log.jsonl")
    left_out = LeftOut()
    mapping = MAPPING.replace("key: row", f"key: {column}")
    assert rows_of(log, left_out=left_out, mapping=mapping) == [(1, 9)]
    assert left_out.guessed == {TWICE: 1}


def test_a_file_that_is_named_twice(tmp_path: Path) -> None:
    log = written(tmp_path, CSV)
    (tmp_path / "link.csv").symlink_to(log)
    with pytest.raises(TraceError, match=r"link\.csv: is the same file as .*log\.csv; name"):
        rows_of(log, tmp_path / "link.csv")
    longer = written(tmp_path, gzip.compress(CSV.encode() + b"200,c,9\n"), "later.csv.gz")
    with pytest.raises(TraceError, match=r"later\.csv\.gz: begins with the same entries as .*log"):
        rows_of(log, longer)
    assert rows_of(longer) == [*ROWS, (200, 9)]


def test_long_files_and_parquet_that_are_named_twice(tmp_path: Path) -> None:
    long = "t,s,row\n" + "1,a,7\n" * BEGINNING_BYTES
    log = written(tmp_path, long)
    other = written(tmp_path, long + "1000,c,8\n", "other.csv")
    with pytest.raises(TraceError, match="begins with the same entries as"):
        rows_of(log, other)
    for name, key in (("a", 1), ("b", 1), ("c", 2)):
        table = pa.table({"t": [key], "s": ["a"], "row": [key]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    with pytest.raises(TraceError, match=r"b\.parquet: begins with the same entries as"):
        rows_of(a, b)
    assert rows_of(a, c) == [(1, 1), (2, 2)]


def test_short_files_with_little_in_common_are_two(tmp_path: Path) -> None:
    parts: list[Any] = ["t,s,row\n", "t,s,row\n1,a,7\n", "t,s,row\n2,a,7\n"]
    paths = [written(tmp_path, text, f"{number}.csv") for number, text in enumerate(parts)]
    assert rows_of(*paths) == [(1, 7), (2, 7)]
