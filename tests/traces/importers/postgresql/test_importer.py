"""The options of the format, and errors of logs and option files."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from tests.traces.importers.postgresql.imported import imported, key
from tests.traces.importers.postgresql.server import DURATION, STATEMENT, Server
from traces.command import trace
from traces.errors import TraceError
from traces.importers.postgresql import sessions
from traces.importers.postgresql.accesses import NO_DEFINITION
from traces.importers.postgresql.importer import UNUSED_NAME
from traces.importers.postgresql.log import MISSING, NOT_EXACT, OTHER_DATABASE

OTHER = """
CREATE DATABASE other TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
\\c other
CREATE TABLE person (name text PRIMARY KEY);
INSERT INTO person VALUES ('Zoë'), ('Ann');
"""
SCRIPT = """
CREATE TABLE IF NOT EXISTS seat (id int PRIMARY KEY, taken bool);
BEGIN;
UPDATE seat SET taken = true WHERE id = 5;
COMMIT;
SELECT taken FROM seat WHERE id = 6;
"""


@pytest.fixture(scope="module")
def log(postgresql: Server) -> Path:
    """Record two databases of two encodings, with times in Berlin's zone."""
    zone = {"log_timezone": "Europe/Berlin"}
    with postgresql.logging("options", **zone, **STATEMENT) as path:
        postgresql.psql(SCRIPT)
        postgresql.psql(OTHER, PGCLIENTENCODING="UTF8")
    with postgresql.logging("options-end"):
        postgresql.psql("DROP DATABASE other;")
    return path


def run(*arguments: str | Path) -> Result:
    """`heddle trace import --format postgresql`."""
    words = ["import", "--format", "postgresql", *(str(argument) for argument in arguments)]
    result = CliRunner().invoke(trace, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_an_ambiguous_zone_must_be_named(log: Path, tmp_path: Path) -> None:
    result = run(log, tmp_path / "trace")
    assert result.exit_code == 2
    assert re.search(rf"{log}:\d+: times are in the zone 'CES?T'", result.stderr)
    assert "--timezone" in result.stderr
    assert list(tmp_path.iterdir()) == []
    for row in imported(log, timezone="Europe/Berlin").rows:
        assert abs(row["begin"] - datetime.now(UTC)) < timedelta(hours=1)


def test_the_encoding_of_the_server(log: Path) -> None:
    there = {"timezone": "Europe/Berlin", "database": "other"}
    misread = imported(log, **there)
    assert misread.left_out.counts[NOT_EXACT] == 1
    read = imported(log, encoding="latin1", **there)
    assert NOT_EXACT not in read.left_out.counts
    (accesses,) = [made for _, made in read.accesses()]
    assert [found for _, _, found in accesses] == [key("Zoë"), key("Ann")]


def test_one_database_of_several(log: Path) -> None:
    read = imported(log, timezone="Europe/Berlin", database="postgres")
    assert {table for _, made in read.accesses() for _, table, _ in made} == {"seat"}
    assert read.left_out.counts[OTHER_DATABASE] > 0


def test_types_can_be_renamed(log: Path, tmp_path: Path) -> None:
    options = {"timezone": "Europe/Berlin", "database": "postgres"}
    (update, read) = [one.name for one in imported(log, **options).types]
    assert update.startswith("update_seat.")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({update: "reserve"}))
    renamed = imported(log, type_names=names, **options)
    assert UNUSED_NAME not in renamed.left_out.counts
    assert [one.name for one in renamed.types] == ["reserve", read]
    # Types with the same name become one, with the accesses of both.
    names.write_text(json.dumps({update: "seat", read: "seat", "no_such_type": "x"}))
    merged = imported(log, type_names=names, **options)
    assert merged.left_out.counts[UNUSED_NAME] == 1
    (one,) = merged.types
    assert [(access.access, access.name) for access in one.accesses] == [
        (0, "update_seat"),
        (1, "read_seat"),
    ]


def test_the_command_makes_a_trace(log: Path, tmp_path: Path) -> None:
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    folder = tmp_path / "trace"
    result = run("--timezone", "Europe/Berlin", "--database", "postgres", packed, folder)
    assert result.exit_code == 0, result.stderr
    (day,) = folder.glob("day=*/*.parquet")
    assert pq.read_table(day).num_rows == 2
    manifest = json.loads((folder / "trace.json").read_text())
    assert manifest["source"]["importer"] == "postgresql"
    assert manifest["source"]["left_out"][OTHER_DATABASE] > 0
    assert [one["accesses"][0]["table"] for one in manifest["types"]] == ["seat", "seat"]


def test_strict_names_file_and_line(log: Path, tmp_path: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.csv"
    damaged.write_bytes(b"".join([*lines[:8], lines[8][:40], *lines[9:]]))
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE seat (id int PRIMARY KEY, taken bool);")
    options = ("--timezone", "Europe/Berlin", "--schema", schema, damaged, tmp_path / "trace")
    assert run(*options).exit_code == 0
    result = run("--strict", "--replace", *options)
    assert result.exit_code == 2
    assert f"{damaged}:9: log entry cut short: " in result.stderr


def test_strict_rejects_guesses(log: Path, tmp_path: Path) -> None:
    options = ("--timezone", "Europe/Berlin", "--database", "postgres", log, tmp_path / "trace")
    result = run(*options)
    assert result.exit_code == 0
    assert f"{NO_DEFINITION}, 2 rows, for example" in result.stderr
    result = run("--strict", "--replace", *options)
    assert result.exit_code == 2
    assert f": {NO_DEFINITION}: 'update seat set taken = true where id = ?'" in result.stderr


def test_missing_entries_are_reported(log: Path, tmp_path: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    (place,) = [n for n, line in enumerate(lines) if b"UPDATE seat" in line]
    cut = tmp_path / "cut.csv"
    cut.write_bytes(b"".join(lines[:place] + lines[place + 1 :]))
    read = imported(cut, timezone="Europe/Berlin", database="postgres")
    assert read.left_out.counts[MISSING] == 1
    assert f"{cut}:{place + 1}: " in read.left_out.named[MISSING][0]


def test_a_log_that_ends_anywhere(log: Path, tmp_path: Path) -> None:
    whole = log.read_bytes()
    options = {"timezone": "Europe/Berlin", "encoding": "latin1"}
    all_of_it = imported(log, **options).accesses()
    start = whole.index(b"BEGIN;")
    for end in range(start, len(whole), max(1, (len(whole) - start) // 40)):
        cut = tmp_path / "cut.csv"
        cut.write_bytes(whole[:end])
        part = imported(cut, **options).accesses()
        assert part == all_of_it[: len(part)]


def test_logs_of_other_versions(log: Path, tmp_path: Path) -> None:
    """Versions up to 12, and 13, write fewer columns."""
    import csv

    wanted = imported(log, timezone="Europe/Berlin", encoding="latin1").accesses()
    for columns in (23, 24):
        older = tmp_path / "older.csv"
        with (
            log.open(newline="", encoding="latin1") as source,
            older.open("w", newline="", encoding="latin1") as target,
        ):
            writer = csv.writer(target, lineterminator="\n")
            writer.writerows(row[:columns] for row in csv.reader(source))
        assert imported(older, timezone="Europe/Berlin", encoding="latin1").accesses() == wanted


def test_parameters_missing_from_the_log(postgresql: Server, schema: Path) -> None:
    settings = {"log_parameter_max_length": "0", **DURATION}
    with postgresql.logging("no-parameters", **settings) as path:
        postgresql.pgbench("-S", "-M", "prepared", "-c", "1", "-t", "5")
    assert imported(path, schema=schema).left_out.counts[sessions.NO_VALUE] == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no statements are logged: set log_statement = 'all'"),
        (b"a,b,c\n" * 3, "is not a known log of PostgreSQL: 'a,b,c"),
        (b"\x00\xff" * 3000, "is not a known log of PostgreSQL"),
        (b'"' * 3001, "is not a known log of PostgreSQL"),
    ],
)
def test_no_log(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    result = run(path, tmp_path / "trace")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--schema", "none.sql"], "none.sql: can't be read: No such file"),
        (["--timezone", "Europe/Berlyn"], "--timezone Europe/Berlyn: is unknown"),
        (["--timezone", "../../etc/passwd"], "is unknown; give the server's log_timezone"),
        (["--encoding", "utf-16"], "--encoding utf-16: is not the encoding of a log"),
        (["--encoding", "x"], "--encoding x: is not the encoding of a log"),
        (["--type-names", "none.json"], "none.json: can't be read"),
    ],
)
def test_invalid_options(log: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = run(*options, log, tmp_path / "trace")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("[]", "must be an object such as"),
        ("{", "is not JSON"),
        ('{"a": 5}', "a: must be a name, not 5"),
    ],
)
def test_invalid_names(log: Path, tmp_path: Path, names: str, message: str) -> None:
    path = tmp_path / "names.json"
    path.write_text(names)
    with pytest.raises(TraceError) as error:
        imported(log, type_names=path, timezone="Europe/Berlin", encoding="latin1")
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
