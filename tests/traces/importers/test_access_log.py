from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import traces.importers.grouping
from tests.scale import scaled
from traces.errors import TraceError
from traces.importers.access_log import AccessLogImporter
from traces.importers.access_log_mapping import load_mapping
from traces.importers.base import LeftOut
from traces.importers.log_times import TimeForm
from traces.importers.overlap import REPEATED
from traces.keys import combined_keys, keys_of

MAPPING: dict[str, Any] = {
    "time": "at",
    "session": "session",
    "type": "request",
    "transaction": "txn",
    "table": "table",
    "key": "row",
    "kind": "op",
}
COLUMNS = ("at", "session", "request", "txn", "table", "row", "op")
SKIPPED = datetime(2026, 3, 29, 2, 30)
SET_BACK = datetime(2026, 10, 25, 1, 30)
NAMED = "%Y-%m-%d %H:%M:%S %Z"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def access(seconds: float = 0, **changed: Any) -> dict[str, Any]:
    return {
        "at": (NOON + timedelta(seconds=seconds)).isoformat(),
        "session": "s",
        "request": "pay",
        "txn": "1",
        "table": "account",
        "row": "5",
        "op": "read",
        **changed,
    }


def mapping_file(folder: Path, **changed: Any) -> Path:
    path = folder / "mapping.yaml"
    document = {**MAPPING, **changed}
    path.write_text(yaml.safe_dump({k: v for k, v in document.items() if v is not None}))
    return path


def csv_log(folder: Path, rows: list[dict[str, Any]], name: str = "log.csv") -> Path:
    path = folder / name
    columns = list(dict.fromkeys([*COLUMNS, *(key for row in rows for key in row)]))
    lines = [",".join(columns), *(",".join(str(row.get(c, "")) for c in columns) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def rows_of(
    folder: Path, *paths: Path, left_out: LeftOut | None = None, **changed: Any
) -> list[dict[str, Any]]:
    importer = AccessLogImporter(paths, left_out or LeftOut(), mapping_file(folder, **changed))
    return [row for table in importer.tables() for row in table.to_pylist()]


def accesses_of(row: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["access"], one["table"], one["key"], one["kind"]) for one in row["accesses"]]


def test_rows_with_one_id_form_a_transaction(tmp_path: Path) -> None:
    log = csv_log(
        tmp_path,
        [
            access(0, txn="1"),
            access(1, txn="2", session="t", request="look"),
            access(2, txn="1", op="update"),
            access(3, txn="1", row="6"),
        ],
    )
    first, second = sorted(rows_of(tmp_path, log), key=lambda row: row["begin"])
    assert first["begin"] == NOON
    assert (first["type"], second["type"]) == ("pay", "look")
    assert accesses_of(first) == [
        (0, "account", 5, "read"),
        (1, "account", 5, "update"),
        (0, "account", 6, "read"),
    ]
    assert first["session"] == keys_of(pa.array(["s"]))[0].as_py()
    assert first["user"] is None
    assert first["outcome"] is None
    assert first["parameters"] is None


def test_types_have_their_accesses_by_name(tmp_path: Path) -> None:
    log = csv_log(
        tmp_path,
        [
            access(0, step="lock"),
            access(1, step="lock", op="update"),
            access(2, step="log", table="journal", op="insert"),
        ],
    )
    for statement, names in (
        (None, ["read_account", "update_account", "insert_journal"]),
        ("step", ["lock", "lock_update_account_1", "log"]),
    ):
        importer = AccessLogImporter((log,), LeftOut(), mapping_file(tmp_path, statement=statement))
        list(importer.tables())
        (pay,) = importer.types()
        assert [one.name for one in pay.accesses] == names
        assert [one.kind for one in pay.accesses] == ["read", "update", "insert"]


def test_session_and_gap_form_transactions_without_ids(tmp_path: Path) -> None:
    seconds = [0, 0.4, 0.9, 1.5, 20]
    rows = [access(at, session=session) for at in seconds for session in "ab"]
    found = rows_of(tmp_path, csv_log(tmp_path, rows), transaction=None, gap_ms=500)
    begins = sorted((one["session"], (one["begin"] - NOON).total_seconds()) for one in found)
    assert sorted(begin for _, begin in begins) == [0, 0, 1.5, 1.5, 20, 20]
    assert sorted(len(one["accesses"]) for one in found) == [1, 1, 1, 1, 3, 3]


def test_constants_words_users_parameters_and_outcomes(tmp_path: Path) -> None:
    log = csv_log(
        tmp_path,
        [
            access(0, op="S", who="ann", amount="7", state=""),
            access(1, op="u", who="ann", amount="8", state="OK"),
        ],
    )
    (row,) = rows_of(
        tmp_path,
        log,
        type={"value": "job"},
        table={"value": "journal"},
        kind={"column": "op", "words": {"S": "read", "U": "update"}},
        user=["who", "session"],
        parameters=["amount"],
        outcome={"column": "state", "words": {"ok": "committed", "no": "aborted"}},
    )
    assert row["type"] == "job"
    assert accesses_of(row) == [(0, "journal", 5, "read"), (1, "journal", 5, "update")]
    assert row["user"] == combined_keys([pa.array(["ann"]), pa.array(["s"])])[0].as_py()
    assert row["parameters"] == [("amount", "7")]
    assert row["outcome"] == "committed"


def test_accesses_may_be_unknown(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path, csv_log(tmp_path, [access()]), table=None, key=None, kind=None)
    assert row["accesses"] is None


def test_the_same_log_in_each_form_is_the_same_trace(tmp_path: Path) -> None:
    rows = [access(number, txn=str(number // 2), row=str(number)) for number in range(50)]
    jsonl = tmp_path / "log.jsonl"
    jsonl.write_text("".join(json.dumps({**row, "row": int(row["row"])}) + "\n" for row in rows))
    parquet = tmp_path / "log.parquet"
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    columns["row"] = [int(one) for one in columns["row"]]
    columns["at"] = [datetime.fromisoformat(one) for one in columns["at"]]
    pq.write_table(pa.table(columns), parquet)
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text(csv_log(tmp_path, rows).read_text().replace(",", ";"))
    right = rows_of(tmp_path, csv_log(tmp_path, rows))
    assert len(right) == 25
    assert rows_of(tmp_path, jsonl) == right
    assert rows_of(tmp_path, parquet) == right
    assert rows_of(tmp_path, semicolons, delimiter=";") == right


def test_members_of_objects_in_json(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    nested = {**access(), "session": {"id": 3}, "a.b": 1}
    path.write_text(json.dumps(nested) + "\n\n")
    (row,) = rows_of(tmp_path, path, session="session.id", parameters=["a.b", "none"])
    assert row["session"] == 3
    assert row["parameters"] == [("a.b", "1"), ("none", None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "no JSON object"),
        (b"[1]", "no JSON object"),
        (b"\xff", "no JSON object"),
        (b"[" * 100_000, "no JSON object"),
        (json.dumps(access(row={"a": 1})).encode(), "row is no single value"),
        (json.dumps(access(row=None)).encode(), "no key"),
        (json.dumps(access(table="\ud800")).encode(), None),
    ],
)
def test_bad_lines_of_json(tmp_path: Path, line: bytes, reason: str | None) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(json.dumps(access(txn=2)).encode() + b"\n" + line + b"\n")
    left_out = LeftOut()
    found = rows_of(tmp_path, path, left_out=left_out)
    if reason is None:
        assert len(found) == 2
        return
    assert len(found) == 1
    assert left_out.counts == {reason: 1}
    assert left_out.named[reason][0].startswith("log.jsonl:2: ")


def test_a_line_of_json_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x" * (5 << 20))
    with pytest.raises(TraceError, match=r"log.jsonl: a line is longer than 4 MiB"):
        rows_of(tmp_path, path)


@pytest.mark.parametrize(
    ("changed", "reason", "words"),
    [
        ({"at": "yesterday"}, "time is no time", "at is 'yesterday'"),
        ({"session": ""}, "no session", "session is ''"),
        ({"txn": ""}, "no transaction", "txn is ''"),
        ({"request": ""}, "no type, or unknown", "request is ''"),
        ({"table": ""}, "no table, or unknown", "table is ''"),
        ({"row": ""}, "no key", "row is ''"),
        ({"op": "peek"}, "kind is unknown", "op is 'peek'"),
        ({"end": "lost"}, "outcome is unknown", "end is 'lost'"),
    ],
)
def test_bad_rows_are_counted_and_named(
    tmp_path: Path, changed: dict[str, str], reason: str, words: str
) -> None:
    log = csv_log(tmp_path, [access(end=""), access(1, **changed), access(2)])
    left_out = LeftOut()
    (row,) = rows_of(tmp_path, log, left_out=left_out, outcome="end")
    assert len(row["accesses"]) == 2
    assert left_out.counts == {reason: 1}
    assert left_out.named[reason] == [f"log.csv:3: {words}"]
    with pytest.raises(TraceError, match=r"log.csv:3: .*; correct it, or leave out --strict"):
        rows_of(tmp_path, log, left_out=LeftOut(strict=True), outcome="end")


def test_a_damaged_or_foreign_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"at": [1]}), path)
    with pytest.raises(TraceError, match=r"log.parquet: must have a column session; it has at"):
        rows_of(tmp_path, path)
    pq.write_table(pa.table({name: [["x"]] for name in COLUMNS}), path)
    with pytest.raises(TraceError, match=r"log.parquet: at: must be a plain column, not list"):
        rows_of(tmp_path, path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TraceError, match=r"log.parquet: is damaged or not Parquet"):
        rows_of(tmp_path, path)


@settings(max_examples=scaled(10))
@given(st.integers(0, 2**32), st.integers(1, 40), st.booleans())
@pytest.mark.slow
def test_transactions_do_not_depend_on_the_split_of_the_log(
    tmp_path_factory: pytest.TempPathFactory, seed: int, pieces: int, by_id: bool
) -> None:
    """Rows in a few pieces, slightly out of order, give the same transactions as in one file."""
    random = Random(seed)
    folder = tmp_path_factory.mktemp("cut")
    rows = [
        access(at, session=random.choice("abc"), txn=str(random.randrange(4)), row=str(number))
        for number, at in enumerate(sorted(random.uniform(0, 120) for _ in range(40)))
    ]
    changed = {} if by_id else {"transaction": None}
    late = sorted(rows, key=lambda row: (row["at"][:18], row["row"]))
    size = -(-len(late) // pieces)
    files = [
        csv_log(folder, late[first : first + size], f"{first}.csv")
        for first in range(0, len(late), size)
    ]
    whole = csv_log(folder, rows, "whole.csv")
    left_out = LeftOut()

    def found(*paths: Path) -> list[Any]:
        some = rows_of(folder, *paths, left_out=left_out, gap_ms=3000, **changed)
        return sorted(
            (row["begin"], row["session"], [one["key"] for one in row["accesses"]]) for row in some
        )

    assert found(*files) == found(whole)
    assert not left_out.counts


def test_rows_of_overlapping_files_are_taken_once(tmp_path: Path) -> None:
    rows = [access(second, row=str(second % 3)) for second in range(8)]
    once = rows_of(tmp_path, csv_log(tmp_path, rows))
    # The second file has an additional row in the overlap, which is new.
    second = [*rows[3:6], access(5, session="other"), *rows[6:]]
    paths = csv_log(tmp_path, rows[:6], "1.csv"), csv_log(tmp_path, second, "2.csv")
    left_out = LeftOut()
    made = rows_of(tmp_path, *paths, left_out=left_out)
    assert [len(row["accesses"]) for row in once] == [8]
    assert sorted(len(row["accesses"]) for row in made) == [9]
    assert left_out.counts == {REPEATED: 3}
    assert left_out.named[REPEATED][0].startswith("2.csv:2: at is '2026-03-01T12:00:03")
    with pytest.raises(TraceError, match=r"2\.csv:2: .*leave out --strict"):
        rows_of(tmp_path, *paths, left_out=LeftOut(strict=True))


@pytest.mark.parametrize("late_ms", [10_000, 60_000])
def test_a_file_and_its_end_are_read_once(tmp_path: Path, late_ms: int) -> None:
    rows = [access(second, txn=str(second)) for second in range(100)]
    paths = csv_log(tmp_path, rows, "1.csv"), csv_log(tmp_path, rows[1:], "2.csv")
    left_out = LeftOut()
    assert len(rows_of(tmp_path, *paths, left_out=left_out, gap_ms=late_ms)) == 100
    late = left_out.counts["comes too late: sort the log by time"]
    assert left_out.counts[REPEATED] == late_ms // 1000 + 1 == 99 - late


def test_equal_rows_of_one_file_are_all_taken(tmp_path: Path) -> None:
    rows = [access(second) for second in (0, 0, 0, 1)]
    left_out = LeftOut()
    paths = csv_log(tmp_path, rows, "1.csv"), csv_log(tmp_path, [access(2)] * 3, "2.csv")
    (row,) = rows_of(tmp_path, *paths, left_out=left_out)
    assert len(row["accesses"]) == 7
    assert not left_out.counts


def test_late_rows_are_reported(tmp_path: Path) -> None:
    files = [
        csv_log(tmp_path, [access(100)], "1.csv"),
        csv_log(tmp_path, [access(89, txn="2"), access(91, txn="3")], "2.csv"),
    ]
    left_out = LeftOut()
    assert len(rows_of(tmp_path, *files, left_out=left_out, gap_ms=1000)) == 2
    (named,) = left_out.named["comes too late: sort the log by time"]
    assert named.startswith("2.csv:2: at is '2026-03-01T12:01:29")


def test_transactions_without_an_end_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces.importers.grouping, "OPEN_ROWS_MAX", 10)
    log = csv_log(tmp_path, [access(at) for at in range(20)])
    with pytest.raises(TraceError, match="gap_ms: more than 10 rows belong to unfinished"):
        rows_of(tmp_path, log)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"sesion": "x"}, "sesion: is not a key of a mapping; did you mean session?"),
        ({"time": None}, "time: must be a column's name, or column:, format:, unit: and zone:"),
        ({"time": {"format": "iso"}}, "time.column: must be given: the column of the time"),
        ({"time": {"column": "a", "zone": "Mars"}}, "time.zone: must be a zone such as Europe/Ber"),
        ({"time": {"column": "a", "zone": "../../etc/passwd"}}, "time.zone: must be a zone"),
        (
            {"time": {"column": "a", "unit": "h"}},
            "time.unit: must be one of s, ms, us, ns, not 'h'",
        ),
        ({"time": {"column": "a", "format": "x"}}, "time.format: must be iso, epoch, or such as"),
        ({"time": {"column": "a", "format": "%Y%Y"}}, "time.format: must be a format of Python's"),
        ({"time": {"column": "a", "format": "%Q"}}, "time.format: must be a format of Python's"),
        ({"time": {"column": "a", "unit": None}}, "time.unit: must be given a value, or left out"),
        (
            {"time": {"column": "a", "form": "x"}},
            "time.form: is not a key of a mapping; did you mean",
        ),
        ({"session": None, "transaction": None}, "session: must be given: the column that names"),
        ({"transaction": None}, "gap_ms: must be the longest pause within a transaction, where"),
        ({"gap_ms": 0}, "gap_ms: must be a number above 0, not '0'"),
        ({"gap_ms": float("nan")}, "gap_ms: must be a number above 0"),
        ({"key": None}, "key: must be given too: table, key, kind say together what was accessed"),
        ({"key": [[]]}, "key: must be a column's name, or a list of them, not [[]]"),
        ({"kind": {"value": "peek"}}, "kind.value: must be one of read, update, insert, delete"),
        ({"kind": {"column": "op", "words": {"S": "x"}}}, "kind.words.S: must be one of read"),
        ({"kind": {"column": "op", "words": 3}}, "kind.words: must be words of the log, each with"),
        ({"kind": {"column": "op", "value": "read"}}, "kind: must be a column's name, or column:"),
        ({"type": [7]}, "type: must be a column's name, or column:, or value:, not ['7']"),
        ({"outcome": {"value": "fine"}}, "outcome.value: must be one of committed, rolled_back"),
        ({"log": "xml"}, "log: must be one of csv, jsonl, parquet, not 'xml'"),
        ({"delimiter": ",,"}, "delimiter: must be one character, not ',,'"),
        ({"statement": ["a"]}, "statement: must be a text, not ['a']"),
        ({"table": {"value": None}}, "table.value: must be given a value, or left out"),
        ({"table": {"column": None}}, "table.column: must be given a value, or left out"),
        ({"type": {"column": None}}, "type.column: must be given a value, or left out"),
        ({"kind": {"column": None}}, "kind.column: must be given a value, or left out"),
        ({"kind": {"column": "op", "words": None}}, "kind.words: must be given a value, or left"),
        ({"outcome": {"value": None}}, "outcome.value: must be given a value, or left out"),
    ],
)
def test_errors_of_a_mapping_name_the_key(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    path = mapping_file(tmp_path, **changed)
    with pytest.raises(TraceError) as caught:
        load_mapping(path)
    assert str(caught.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize("key", ["table", "key", "kind"])
@pytest.mark.parametrize("nothing", ["", "~", "null"])
def test_a_key_of_an_access_without_a_value(tmp_path: Path, key: str, nothing: str) -> None:
    path = mapping_file(tmp_path, **{key: None})
    path.write_text(f"{path.read_text()}{key}: {nothing}\n")
    with pytest.raises(TraceError, match=rf"m.*yaml: {key}: must be given a value, or left out"):
        load_mapping(path)


@pytest.mark.parametrize("content", [b"", b"- a", b"a: [", b"\xff", b"a: &x [*x]", b"\x00"])
def test_files_that_are_not_a_mapping(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"m.yaml: "):
        load_mapping(path)
    path.unlink()
    with pytest.raises(TraceError, match=r"m.yaml: there is no such file"):
        load_mapping(path)
    path.write_bytes(b"#" * (2 << 20))
    with pytest.raises(TraceError, match=r"m.yaml: is too long for a mapping; is it the log"):
        load_mapping(path)
    with pytest.raises(TraceError, match="/dev/zero: is not a regular file"):
        load_mapping(Path("/dev/zero"))


def test_missing_options_are_reported_first(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="--mapping: access-log needs the file"):
        AccessLogImporter((), LeftOut())
    with pytest.raises(TraceError, match="SOURCE: missing; name the files of the log"):
        AccessLogImporter((), LeftOut(), mapping_file(tmp_path))
    (tmp_path / "log.txt").touch()
    with pytest.raises(TraceError, match=r"log.txt: its name does not tell the format; end it in"):
        AccessLogImporter((tmp_path / "log.txt",), LeftOut(), mapping_file(tmp_path))


@pytest.mark.parametrize(
    ("form", "text", "right"),
    [
        ({}, "2026-03-01T12:00:00Z", NOON),
        ({}, "2026-03-01 12:00:00", NOON),
        ({}, "2026-03-01T13:00:00.000+01:00", NOON),
        ({"zone": "Europe/Berlin"}, "2026-03-01 13:00:00", NOON),
        # A clock that is set forward skips an hour.
        ({"zone": "Europe/Berlin"}, "2026-03-29 02:30:00", datetime(2026, 3, 29, 1, 30)),
        # A clock that is set back repeats an hour.
        ({"zone": "Europe/Berlin"}, "2026-10-25 02:30:00", datetime(2026, 10, 25, 0, 30)),
        ({"zone": "Europe/Berlin"}, "2026-07-01 13:00:00", datetime(2026, 7, 1, 11)),
        ({"format": "epoch"}, str(int(NOON.timestamp())), NOON),
        ({"format": "epoch", "unit": "ms"}, f"{int(NOON.timestamp())}000.5", NOON),
        ({"format": "epoch", "unit": "ns"}, f"{int(NOON.timestamp())}000000999", NOON),
        ({"format": "%d/%b/%Y:%H:%M:%S %z"}, "01/Mar/2026:13:00:00 +0100", NOON),
        ({"format": "%d.%m.%Y %H:%M:%S.%f"}, "01.03.2026 12:00:00.25", NOON),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-03-01 12:00:00 UTC", NOON),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-03-01 12:00:00 gmt", NOON),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-03-01 13:00:00 CET", NOON),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-10-25 02:30:00 CET", SET_BACK),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-03-01 13:00:00 CEST", None),
        ({"format": NAMED, "zone": "Europe/Berlin"}, "2026-03-01 12:00:00 EST", None),
        ({"format": NAMED}, "2026-03-01 13:00:00 CET", None),
        ({"format": "%Y-%m-%dT%H:%M:%S%Z"}, "2026-03-01T12:00:00Z", NOON),
        ({}, "2026-02-30 12:00:00", None),
        ({}, "", None),
        ({"format": "epoch"}, "1e9", None),
        ({"format": "epoch"}, "9999999999999999999", None),
        ({"format": "%d/%m/%Y"}, "2026-03-01", None),
    ],
)
@pytest.mark.parametrize("among", [[], ["2026-03-01T12:00:00+02:00", "nonsense"]])
def test_times(
    tmp_path: Path, form: dict[str, str], text: str, right: datetime | None, among: list[str]
) -> None:
    path = mapping_file(tmp_path, time={"column": "at", **form})
    parsed = load_mapping(path).time_form.parse(pa.array([text, *among])).first[0].as_py()
    if right is None:
        assert parsed is None
    else:
        assert parsed is not None
        assert parsed // 10**6 == right.replace(tzinfo=UTC).timestamp()


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)), st.sampled_from("sm"))
def test_a_time_does_not_depend_on_other_rows(time: datetime, unit: str) -> None:
    form = TimeForm(zone=ZoneInfo("Europe/Berlin"))
    naive = time.replace(microsecond=0) if unit == "s" else time

    def parsed(column: pa.Array) -> tuple[Any, Any]:
        times = form.parse(column)
        return times.first[0].as_py(), times.second[0].as_py()

    alone = parsed(pa.array([naive.isoformat()]))
    assert alone == parsed(pa.array([naive.isoformat(), "x"]))
    assert alone == parsed(pa.array([naive], pa.timestamp("us")))
    assert alone == parsed(pa.array([naive, SKIPPED], pa.timestamp("us")))


def test_an_empty_text_is_missing_in_all_text_types_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = {name: [access()[name], ""] for name in COLUMNS}
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        pq.write_table(pa.table({k: pa.array(v, kind) for k, v in columns.items()}), path)
        left_out = LeftOut()
        assert len(rows_of(tmp_path, path, left_out=left_out)) == 1
        assert left_out.named == {"no session": ["log.parquet: row 1: session is ''"]}
    words = pa.table({k: pa.array(v).dictionary_encode() for k, v in columns.items()})
    pq.write_table(words, path)
    assert len(rows_of(tmp_path, path)) == 1


def test_times_of_parquet_use_their_zone_or_the_mapping_s() -> None:
    naive = pa.array([datetime(2026, 3, 1, 12)], pa.timestamp("ns"))
    zoned = pa.array([NOON], pa.timestamp("ms", "Asia/Tokyo"))
    right = [int(NOON.timestamp()) * 10**6]
    assert TimeForm().parse(naive).first.to_pylist() == right
    assert TimeForm().parse(zoned).first.to_pylist() == right
