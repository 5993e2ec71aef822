from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.csv_rows import BLOCK_BYTES
from traces.importers.ecommerce import CART, EcommerceImporter
from traces.importers.overlap import SAME_TIMES
from traces.keys import keys_of

HEADER = (
    "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session"
)
TIME = "2019-10-01 00:00:03 UTC"


def event(kind: str = "cart", product: str = "7", user: str = "3", **changed: str) -> str:
    values = {"time": TIME, "price": "1.50", "session": "s-1", "brand": "acme", **changed}
    return (
        f"{values['time']},{kind},{product},20,a.b,{values['brand']},{values['price']},"
        f"{user},{values['session']}"
    )


def log(folder: Path, *lines: str, name: str = "log.csv", end: str = "\n") -> Path:
    path = folder / name
    path.write_bytes("".join(f"{line}{end}" for line in (HEADER, *lines)).encode())
    return path


def rows_of(*paths: Path, left_out: LeftOut | None = None, **options: Any) -> list[dict[str, Any]]:
    importer = EcommerceImporter(paths, left_out or LeftOut(), **options)
    rows = [row for table in importer.tables() for row in table.to_pylist()]
    assert importer.bytes_read == importer.bytes_total
    return rows


def test_a_cart_and_a_purchase(tmp_path: Path) -> None:
    cart, purchase = rows_of(log(tmp_path, event(), event("purchase", user="4")))
    session = keys_of(pa.array(["s-1"]))[0].as_py()
    assert cart == {
        "transaction": 0,
        "begin": datetime(2019, 10, 1, 0, 0, 3, tzinfo=UTC),
        "session": session,
        "user": 3,
        "type": "cart",
        "parameters": [("product_id", "7"), ("price", "1.50")],
        "accesses": [
            {"access": 0, "table": "product", "key": 7, "kind": "read"},
            {"access": 1, "table": "product", "key": 7, "kind": "update"},
            {"access": 2, "table": "cart", "key": 3, "kind": "update"},
        ],
        "outcome": None,
    }
    assert purchase["transaction"] == 1
    assert purchase["accesses"] == [
        {"access": 0, "table": "product", "key": 7, "kind": "read"},
        {"access": 1, "table": "product", "key": 7, "kind": "update"},
        {"access": 2, "table": "orders", "key": 1, "kind": "insert"},
    ]


def test_ids_of_columns_with_missing_values(tmp_path: Path) -> None:
    """Programs then write numbers with a point, and a word for a missing one."""
    left_out = LeftOut()
    lines = (event(), event(product="7.0", user="3.0"), event(user="NaN"), event(user="NULL"))
    plain, pointed = rows_of(log(tmp_path, *lines), left_out=left_out)
    assert plain["user"] == pointed["user"]
    assert plain["accesses"] == pointed["accesses"]
    assert left_out.counts == {"no user_id": 2}


def test_conflicts_are_those_of_the_paper(tmp_path: Path) -> None:
    """Requests for one product by two users share a row; requests for two products share none."""

    def touched(row: dict[str, Any]) -> set[tuple[str, int]]:
        return {(one["table"], one["key"]) for one in row["accesses"] if one["kind"] != "read"}

    events = [
        event(kind, product, user)
        for kind in ("cart", "purchase")
        for product, user in (("7", "1"), ("7", "2"), ("8", "3"))
    ]
    rows = rows_of(log(tmp_path, *events))
    for one in rows:
        for other in rows:
            if one["user"] != other["user"]:
                same = one["parameters"][0] == other["parameters"][0]
                assert bool(touched(one) & touched(other)) == same


def test_views_are_left_out_or_included(tmp_path: Path) -> None:
    left_out = LeftOut()
    path = log(tmp_path, event("view"), event(), event("remove_from_cart"))
    assert [row["type"] for row in rows_of(path, left_out=left_out)] == ["cart"]
    assert left_out.counts == {"views, which only read": 1, "removals from the cart": 1}
    assert left_out.named == {}
    view = rows_of(path, with_views=True)[0]
    assert view["type"] == "view"
    assert [one["kind"] for one in view["accesses"]] == ["read"]


BAD = [
    ("event_time is no time", event(time="2019-10-01 00:00:03"), "event_time is '2019-10-01 00"),
    ("event_time is no time", event(time="2019-13-01 00:00:03 UTC"), "event_time is '2019-13"),
    ("no user_id", event(user=""), "user_id is ''"),
    ("no product_id", event(product=""), "product_id is ''"),
    ("no user_session", event(session=""), "user_session is ''"),
    ("price is no number", event(price="cheap"), "price is 'cheap'"),
    ("event_type is unknown", event("steal"), "event_type is 'steal'"),
    ("event_type is unknown", "", "event_type is ''"),
    ("wrong number of values", "a,b", "2 values where the header has 9: 'a,b'"),
]


@pytest.mark.parametrize(("reason", "line", "words"), BAD)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_bad_rows_are_counted_and_named_or_errors(
    tmp_path: Path, reason: str, line: str, words: str, end: str
) -> None:
    path = log(tmp_path, event(), "x", event("view"), line, event(), end=end)
    left_out = LeftOut()
    assert len(rows_of(path, left_out=left_out)) == 2
    assert left_out.counts[reason] == (2 if reason == "wrong number of values" else 1)
    assert f"log.csv:5: {words}" in left_out.named[reason][-1]
    with pytest.raises(TraceError, match=r"log.csv:2: .*; correct it, or leave out --strict"):
        rows_of(log(tmp_path, line), left_out=LeftOut(strict=True))


def test_only_the_first_few_are_named(tmp_path: Path) -> None:
    left_out = LeftOut()
    rows_of(log(tmp_path, *[event(user="")] * 100), left_out=left_out)
    assert left_out.counts["no user_id"] == 100
    assert [one.split(":")[1] for one in left_out.named["no user_id"]] == ["2", "3", "4", "5", "6"]


def test_line_numbers_are_correct_far_into_a_file(tmp_path: Path) -> None:
    """The rows span several blocks, with other bad rows before them."""
    lines = [event(brand="b" * 100)] * 60_000
    lines[10] = lines[40_000] = "short"
    lines[50_000] = event(user="")
    left_out = LeftOut()
    importer = EcommerceImporter((log(tmp_path, *lines),), left_out)
    assert sum(table.num_rows for table in importer.tables()) == 59_997
    assert left_out.named["no user_id"] == ["log.csv:50002: user_id is ''"]
    assert left_out.named["wrong number of values"][1].startswith("log.csv:40002: ")


def test_quoted_commas_breaks_and_quotes(tmp_path: Path) -> None:
    lines = [event(brand='"a, ""b"""'), event(brand='"a\nb"'), event(product="8")]
    assert [row["accesses"][0]["key"] for row in rows_of(log(tmp_path, *lines))] == [7, 7, 8]


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    good, odd = event(brand="x"), event(product="Z")
    text = "\n".join([HEADER, good, odd, event(session="Y"), event(time="Z")])
    path.write_bytes(text.replace("x", "\xff").replace("Z", "\xfe").encode("latin-1"))
    left_out = LeftOut()
    assert len(rows_of(path, left_out=left_out)) == 2
    assert left_out.counts == {"product_id is not UTF-8": 1, "event_time is no time": 1}


def test_the_length_of_a_field_is_limited(tmp_path: Path) -> None:
    path = log(tmp_path, event(product="p" * 1_000_000), event())
    assert rows_of(path)[0]["parameters"][0][1] == "p" * 1_000_000
    log(tmp_path, event(brand="b" * 3 * BLOCK_BYTES), *[event()] * 3)
    with pytest.raises(TraceError, match=r"log.csv: a row is longer than 4 MiB, or a quote is nev"):
        rows_of(path)


def test_several_files_packed_or_not(tmp_path: Path) -> None:
    plain = log(tmp_path, event(), event())
    packed = tmp_path / "more.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes() + f"{event(user='7')}\n".encode()))
    assert [row["transaction"] for row in rows_of(packed)] == [0, 1, 2]
    with pytest.raises(TraceError, match=r"more.csv.gz: begins with the same entries as .*log.csv"):
        rows_of(plain, packed)
    packed.write_bytes(packed.read_bytes()[:-10])
    with pytest.raises(TraceError, match=r"more.csv.gz: can't be read: Truncated compressed"):
        rows_of(packed)
    packed.write_bytes(b"plain")
    with pytest.raises(TraceError, match=r"more.csv.gz: must have .*, but its header is 'plain'"):
        rows_of(packed)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\n\n\na", "must have the columns event_time"),
        (
            b"time,what\n1,2\n",
            "must have the columns event_time, .*, but its header is 'time,what'",
        ),
        (bytes(range(256)) * 10, "log.csv: "),
    ],
)
def test_files_of_another_format(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(TraceError, match=words):
        rows_of(tmp_path / "log.csv")


def test_a_log_without_a_row_has_no_transaction(tmp_path: Path) -> None:
    assert rows_of(log(tmp_path)) == []


def test_sources_are_checked_first(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "no.csv", "no.csv: there is no such file"),
        (tmp_path, "is a directory; name the files in it"),
        (Path("/dev/zero"), "/dev/zero: is not a regular file"),
    ):
        with pytest.raises(TraceError, match=words):
            EcommerceImporter((log(tmp_path), path), LeftOut())
    with pytest.raises(TraceError, match="SOURCE: missing; name the CSV files"):
        EcommerceImporter((), LeftOut())


FIELDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(*[FIELDS] * 9), max_size=5), st.booleans())
def test_any_row_is_imported_or_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]], strict: bool
) -> None:
    quoted = [",".join('"' + value.replace('"', '""') + '"' for value in row) for row in rows]
    path = log(tmp_path_factory.mktemp("any"), event(), *quoted, event("purchase"))
    left_out = LeftOut(strict)
    if strict and rows:
        with pytest.raises(TraceError):
            rows_of(path, left_out=left_out)
        return
    found = rows_of(path, left_out=left_out)
    assert len(found) + left_out.counts.total() == len(rows) + 2


def test_types_name_each_access() -> None:
    assert [one.name for one in CART.accesses] == ["read_product", "reserve_product", "update_cart"]


def test_events_of_overlapping_files_are_counted(tmp_path: Path) -> None:
    def times(*seconds: int) -> list[str]:
        return [event(time=f"2019-10-01 00:00:{one:02} UTC") for one in seconds]

    first = log(tmp_path, *times(3, 4, 5, 6))
    second = log(tmp_path, *times(4, 5, 6, 7), name="second.csv")
    third = log(tmp_path, *times(7, 8), name="third.csv")
    left_out = LeftOut()
    assert len(rows_of(second, first, third, left_out=left_out)) == 10
    assert left_out.guessed == {SAME_TIMES: 2}
    assert left_out.named[SAME_TIMES][0].startswith("log.csv:4: event_time is '2019-10-01 00:00:05")
    with pytest.raises(TraceError, match="leave out --strict to accept the guess"):
        rows_of(second, first, left_out=LeftOut(strict=True))
