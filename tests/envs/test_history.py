from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import RunOptions, run_trial
from envs.history import NAMES, History, HistoryFileError
from envs.history_formats import FORMATS, FormatError, as_register, dbcop, elle_append
from envs.trial import Trial

GENERIC = {"name": "generic", "ordered_keys": "6", "hash_keys": "3"}
REWRITES = {"name": "micro", "records": "50", "hot_records": "5", "own_records": "5"}


def record(workload: dict[str, str], protocol: str = "silo") -> History:
    options = RunOptions(protocol=protocol, seconds=0.0005)
    told = run_trial(workload, 4, 1, {"kind": "virtual"}, options)
    assert told["findings"] == []
    return History.from_engine(told["history"])


@pytest.fixture(scope="module")
def history() -> History:
    return record(GENERIC)


def test_a_saved_history_is_unchanged(history: History, tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    history.save(path)
    again = History.load(path)
    assert np.array_equal(again.operations, history.operations)
    for name in history.attempts.dtype.names or ():
        assert np.array_equal(again.attempts[name], history.attempts[name]), name
    assert (again.tables, again.types) == (history.tables, history.types)
    assert again.check() == history.check()


def test_a_recorded_history_is_serializable_and_counted(history: History) -> None:
    report = history.check()
    assert report["anomalies"] == []
    assert report["transactions"] == np.count_nonzero(history.attempts["end"] != 2)
    assert report["operations"] == len(history.operations)


def test_an_uncommitted_version_is_reported(history: History) -> None:
    operations = history.operations.copy()
    reads = np.flatnonzero(
        (operations["kind"] == 0)
        & (operations["flags"] == 0)
        & (operations["version"] >= history.first_version)
    )
    operations["version"][reads[len(reads) // 2]] += 1 << 20
    spoilt = History(
        history.attempts,
        operations,
        history.tables,
        history.types,
        history.reasons,
        history.first_version,
    )
    assert [a["name"] for a in spoilt.check()["anomalies"]] == ["G1a (aborted read)"]


def test_a_file_that_is_not_a_history_is_refused(history: History, tmp_path: Path) -> None:
    with pytest.raises(HistoryFileError, match="no such file"):
        History.load(tmp_path / "nothing.parquet")
    path = tmp_path / "history.parquet"
    history.save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(HistoryFileError, match=r"history\.parquet: not a history"):
            History.load(path)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("worker", pa.nulls(1, pa.uint32()), "worker: 1 rows have no value"),
        ("worker", pa.array([-1]), "worker: "),
        ("began", pa.array([0.5]), "began: "),
        ("type", pa.nulls(1, pa.string()), "type: 1 rows have no value"),
        ("operations", pa.array(["x"]), "operations: of type string; must be a list"),
        ("operations", pa.array([[1]]), "operations: a list of int64; must be a list of structs"),
        ("operations", pa.nulls(1, pa.list_(pa.int8())), "operations: 1 rows have no value"),
        ("on_snapshot", pa.array(["maybe"]), "on_snapshot: "),
    ],
)
def test_invalid_columns_are_refused(
    history: History, tmp_path: Path, column: str, values: pa.Array, message: str
) -> None:
    path = tmp_path / "history.parquet"
    history.save(path)
    table = pq.read_table(path).slice(0, 1)
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, values), path)
    with pytest.raises(HistoryFileError, match=re.escape(message)):
        History.load(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("first_version", "-5", "first_version is -5; must be an unsigned 64-bit"),
        ("first_version", "9" * 30, "must be an unsigned 64-bit"),
        ("types", '["one", "one"]', "types: a name occurs twice; names must be unique"),
    ],
)
def test_invalid_metadata_is_refused(
    history: History, tmp_path: Path, name: str, value: str, message: str
) -> None:
    path = tmp_path / "history.parquet"
    history.save(path)
    table = pq.read_table(path)
    changed = {**table.schema.metadata, name.encode(): value}
    pq.write_table(table.replace_schema_metadata(changed), path)
    with pytest.raises(HistoryFileError, match=message):
        History.load(path)


def renamed(history: History, operations: np.ndarray | None = None) -> History:
    """A history with unusual characters in its names."""
    odd = ["/pay\nnow", "", "a,b", "\x1b[2J", "\r", '"', "漢字", "$", "null", "[]", "\\n"]

    def names(before: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{odd[at % len(odd)]} {at}" for at in range(len(before)))

    return History(
        history.attempts,
        history.operations if operations is None else operations,
        names(history.tables),
        names(history.types),
        names(history.reasons),
        history.first_version,
    )


def test_names_may_hold_any_character(history: History, tmp_path: Path) -> None:
    path = tmp_path / "history.parquet"
    odd = renamed(history)
    odd.save(path)
    again = History.load(path)
    assert (again.tables, again.types, again.reasons) == (odd.tables, odd.types, odd.reasons)
    assert np.array_equal(again.attempts["type"], history.attempts["type"])
    assert again.check() == history.check()


def test_names_do_not_break_lines_of_findings(history: History) -> None:
    operations = history.operations.copy()
    reads = np.flatnonzero(
        (operations["kind"] == 0)
        & (operations["flags"] == 0)
        & (operations["version"] >= history.first_version)
    )
    operations["version"][reads[len(reads) // 2]] += 1 << 20
    (anomaly,) = renamed(history, operations).check()["anomalies"]
    plain = History(
        history.attempts,
        operations,
        history.tables,
        history.types,
        history.reasons,
        history.first_version,
    )
    (expected,) = plain.check()["anomalies"]
    assert anomaly["text"].count("\n") == expected["text"].count("\n")
    assert all(line.isprintable() for line in anomaly["text"].splitlines())


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_history_of_an_older_version_is_read(
    history: History, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "history.parquet"
    attempts = history.attempts.copy()
    attempts["on_snapshot"][0] = 1
    replace(history, attempts=attempts).save(path)
    table = pq.read_table(path)
    lines = {name: "\n".join(getattr(history, name)) for name in NAMES}
    names = lines if version == "1" else {}
    known = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    older = {**known, "schema_version": version, **names}
    table = table.rename_columns(
        ["of_the_past" if name == "on_snapshot" else name for name in table.column_names]
    )
    pq.write_table(table.replace_schema_metadata(older), path)
    read = History.load(path)
    assert read.types == history.types
    assert list(read.attempts["on_snapshot"]) == list(attempts["on_snapshot"])


def test_histories_convert_to_registers(history: History) -> None:
    register = as_register(history)
    assert register.removes
    made: set[tuple[int, int]] = set()
    for one in register.transactions:
        for event in one.events:
            if event.writes:
                assert (event.row, event.version) not in made
                made.add((event.row, event.version))
    seen = {(e.row, e.version) for t in register.transactions for e in t.events if not e.writes}
    assert {pair for pair in seen if pair[1] != 0} <= made


def test_histories_convert_to_dbcop(history: History) -> None:
    document = json.loads(dbcop(history))
    assert len(document["data"]) == 4
    events = [e for session in document["data"] for t in session for e in t["events"]]
    assert document["params"]["n_variable"] == 1 + max(
        next(iter(e.values()))["variable"] for e in events
    )


def test_list_formats_need_permanent_rows(history: History) -> None:
    with pytest.raises(FormatError, match="inserted or deleted"):
        elle_append(history)
    text = elle_append(record(REWRITES))
    lines = text.splitlines()
    assert len(lines) % 2 == 0
    assert ":append" in text
    assert lines[0].startswith("{:index 0, :type :invoke, :process ")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_has_all_transactions_that_accessed_rows(name: str) -> None:
    recorded = record(REWRITES)
    count = int(np.count_nonzero(recorded.attempts["end"] == 0))
    text = FORMATS[name](recorded)
    assert text.count('"committed": true' if name == "dbcop" else ":type :ok") == count


def test_a_trial_survives_a_round_trip() -> None:
    from envs import subject_of, untuned

    trial = Trial(GENERIC, 3, 7, {"kind": "virtual"}, subject_of("silo", None, untuned), 0.001)  # type: ignore[arg-type]
    assert Trial.from_json(trial.to_json()) == trial
    for text in ("", "{", "[]", "{}", '{"schema_version": 1}', trial.to_json()[:-20]):
        with pytest.raises(ValueError, match="is not"):
            Trial.from_json(text)
