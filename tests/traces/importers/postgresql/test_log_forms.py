"""One recording in each form of PostgreSQL's log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.traces.importers.postgresql.imported import Access, Imported, imported, key
from tests.traces.importers.postgresql.logs import write_log
from tests.traces.importers.postgresql.server import STATEMENT, Server
from traces.errors import TraceError
from traces.importers.postgresql.line_prefix import KNOWN, LinePrefix, known_prefix
from traces.importers.postgresql.log import ALONE, NO_FIRST_ENTRY, REPEATED, UNENDED
from traces.importers.postgresql.log_forms import LogForms
from traces.importers.postgresql.records import Record
from traces.importers.source_file import open_source

PREFIX = "%m [%p] %c:%l %q%u@%d app=%-8a %i %e v=%v "
SCRIPT = """
CREATE TABLE IF NOT EXISTS stool (id text PRIMARY KEY, taken int);
INSERT INTO stool VALUES ('a'), ('tab\there'), ('two
lines') ON CONFLICT DO NOTHING;
BEGIN;
UPDATE stool
  SET taken = 1
  WHERE id = 'a';

SELECT * FROM stool WHERE id = 'tab\there';
COMMIT;
UPDATE stool SET taken = 2 WHERE id = 'b';
BEGIN;
DELETE FROM stool WHERE id = 'two
lines';
SELECT 1 / 0;
ROLLBACK;
SELECT nothing FROM nowhere;

INSERT INTO stool VALUES ('a');
PREPARE one AS SELECT * FROM stool WHERE id = $1;
EXECUTE one('LOG:  no entry');
"""


@dataclass(frozen=True)
class Forms:
    """The files of one recording."""

    csv: Path
    json: Path
    text: Path


@pytest.fixture(scope="module")
def forms(postgresql: Server, tmp_path_factory: pytest.TempPathFactory) -> Forms:
    destinations = "csvlog,stderr,jsonlog"
    settings = {"log_destination": destinations, "log_line_prefix": PREFIX, **STATEMENT}
    with postgresql.logging("forms", log_connections="on", **settings) as csv:
        postgresql.psql(SCRIPT)
        postgresql.psql("UPDATE stool SET taken = 3 WHERE id = 'c';")
        postgresql.fill()
        postgresql.pgbench("-M", "prepared", "-c", "2", "-t", "3")
    folder = tmp_path_factory.mktemp("forms")
    found = {}
    for kind, ending in (("csv", "csv"), ("json", "json"), ("text", "log")):
        found[kind] = folder / f"log.{ending}"
        found[kind].write_bytes(csv.with_suffix(f".{ending}").read_bytes())
    return Forms(**found)


def of_a_stool(found: Imported) -> list[tuple[str, list[Access]]]:
    """Return the transactions without generated keys."""
    return [one for one in found.accesses() if any("stool" in made[1] for made in one[1])]


def numbers(found: Imported) -> tuple[int, dict[str, int]]:
    return len(found.rows), dict(found.left_out.counts)


def test_all_forms_agree(forms: Forms) -> None:
    csv = imported(forms.csv, strict=False)
    assert len(of_a_stool(csv)) > 5
    for path, options in ((forms.json, {}), (forms.text, {"log_line_prefix": PREFIX})):
        other = imported(path, **options)
        assert of_a_stool(other) == of_a_stool(csv)
        assert numbers(other) == numbers(csv)
        assert other.left_out.guessed == csv.left_out.guessed
        assert {one.name for one in other.types} == {one.name for one in csv.types}


def rewritten(forms: Forms, prefix: str, folder: Path) -> Path:
    """Rewrite the log in text form with another prefix."""
    log = LinePrefix(PREFIX)
    lines = []
    for line in forms.text.read_text().splitlines():
        match = log.pattern.match(line)
        if match is None:
            lines.append(line)
            continue
        found = {name: value or "" for name, value in match.groupdict().items()}
        written = prefix.partition("%q")[0] if not found["user"] else prefix.replace("%q", "")
        for escape, value in (
            *(("%m", found["time"]), ("%t", found["time"][:19] + found["time"][23:])),
            *(("%p", found["process"]), ("%u", found["user"]), ("%d", found["database"])),
            *(("%r", "127.0.0.1(7)"), ("%h", "127.0.0.1"), ("%a", found["application"])),
            *(("%c", found["session"] or "5.6"), ("%l", found["line"] or "1")),
            *(("%e", found["state"] or "00000"), ("%v", found["virtual"]), ("%x", "0")),
            ("%s", found["time"][:19] + " UTC"),
        ):
            written = written.replace(escape, value)
        lines.append(f"{written}{found['kind']}:  {found['text']}")
    path = folder / "log.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("prefix", [one for one in KNOWN if "%v" not in one])
def test_well_known_prefixes_need_not_be_named(forms: Forms, tmp_path: Path, prefix: str) -> None:
    """Without transaction ids, each statement outside BEGIN and COMMIT is a transaction."""
    path = rewritten(forms, prefix, tmp_path)
    lines = path.read_text().splitlines()
    assert known_prefix(lines) in (LinePrefix(prefix), LinePrefix(KNOWN[0]))
    other = imported(path)
    csv = imported(forms.csv)
    assert sorted(of_a_stool(other)) == sorted(of_a_stool(csv))
    assert numbers(other) == numbers(csv)
    assert set(other.left_out.guessed) - set(csv.left_out.guessed) <= {ALONE}
    if "%d" in prefix:
        assert len(imported(path, database="postgres").rows) == len(csv.rows)
    else:
        with pytest.raises(TraceError, match=r"--database postgres: .*log_line_prefix has no %d"):
            imported(path, database="postgres")


def test_sessions_with_an_unknown_start(forms: Forms, tmp_path: Path) -> None:
    path = rewritten(forms, "%t:%r:%u@%d:[%p]:", tmp_path)
    lines = [line for line in path.read_text().splitlines() if "connection " not in line]
    path.write_text("\n".join(lines))
    found = imported(path)
    assert found.left_out.guessed[NO_FIRST_ENTRY] >= 4
    assert found.left_out.guessed[UNENDED] == 1
    assert sorted(of_a_stool(found)) == sorted(of_a_stool(imported(forms.csv)))
    with pytest.raises(TraceError, match="leave out --strict to accept the guess"):
        imported(path, strict=True)


def test_overlapping_files_count_once(forms: Forms, tmp_path: Path) -> None:
    whole = imported(forms.csv)
    for path, options in (
        *((forms.csv, {}), (forms.json, {})),
        (forms.text, {"log_line_prefix": PREFIX}),
    ):
        lines = path.read_bytes().splitlines(keepends=True)
        first, second = tmp_path / f"1{path.suffix}", tmp_path / f"2{path.suffix}"
        first.write_bytes(b"".join(lines[: len(lines) * 2 // 3]))
        second.write_bytes(b"".join(lines[len(lines) // 3 :]))
        found = imported(first, second, **options)
        assert found.left_out.counts[REPEATED] > 5
        assert sorted(of_a_stool(found)) == sorted(of_a_stool(whole))
        assert len(found.rows) == len(whole.rows)
    both = imported(forms.csv, forms.json)
    assert len(both.rows) == len(whole.rows)


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("%m [%p] %y ", "%y is not an escape"),
        ("%m %u ", "it has neither %p nor %c"),
        ("[%p] %u ", "it has none of %m, %t and %n"),
    ],
)
def test_invalid_prefixes(prefix: str, words: str) -> None:
    with pytest.raises(TraceError, match=rf"--log-line-prefix '.*': {words}"):
        LinePrefix(prefix)


@pytest.mark.parametrize(
    ("prefix", "line", "time"),
    [
        ("%n %p ", "1700000000.250 7 ", "2023-11-14 22:13:20.250 UTC"),
        ("%t %5p%%", "2026-11-21 09:12:31 CET    7%", "2026-11-21 09:12:31.000 CET"),
        (
            "<%m>%p %p %q%a|",
            "<2026-11-21 09:12:31.412 +01>7 7 psql|",
            "2026-11-21 09:12:31.412 +01",
        ),
    ],
)
def test_escapes_of_a_prefix(tmp_path: Path, prefix: str, line: str, time: str) -> None:
    (tmp_path / "log").write_text(f"{line}LOG:  statement: SELECT\n\t 1\nnoise\n{line}DETAIL:  x\n")
    with open_source(tmp_path / "log") as source:
        found = list(LogForms("utf-8", LinePrefix(prefix), None).records(source))
    (entry,) = [one for one in found if isinstance(one, Record)]
    assert (entry.fields[0], entry.fields[13]) == (time, "statement: SELECT\n 1")
    assert (entry.fields[14], len(found)) == ("x", 2)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin1"])
def test_a_byte_order_mark_overrides_the_encoding(tmp_path: Path, encoding: str) -> None:
    plain = write_log(tmp_path / "plain.csv", [(1, "SELECT * FROM stool WHERE id = 'é'")])
    log = tmp_path / "log.csv"
    log.write_bytes(plain.read_text().encode(encoding))
    ((_, made),) = imported(log, encoding="latin1").accesses()
    assert made == [("read", "stool", key("é"))]


def test_entries_of_a_jsonlog_within_another(forms: Forms, tmp_path: Path) -> None:
    """Operators of Kubernetes write such entries, with the names of csvlog's columns."""
    names = {
        "timestamp": "log_time",
        "user": "user_name",
        "dbname": "database_name",
        "line_num": "session_line_num",
        "ps": "command_tag",
        "vxid": "virtual_transaction_id",
        "state_code": "sql_state_code",
        "statement": "query",
    }
    path = tmp_path / "log.json"
    with path.open("w") as file:
        for line in forms.json.read_text().splitlines():
            record = {names.get(name, name): value for name, value in json.loads(line).items()}
            record["session_line_num"] = str(record["session_line_num"])
            file.write(json.dumps({"level": "info", "msg": "record", "record": record}) + "\n")
    assert of_a_stool(imported(path)) == of_a_stool(imported(forms.json))
