from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.traces.some_transactions import row, write
from tests.waiting import PATIENCE_S, wait_until
from traces.command import trace
from traces.importers import registry
from traces.importers.ecommerce import EcommerceImporter
from traces.reader import open_trace

HEADER = (
    "event_time,event_type,product_id,category_id,category_code,brand,price,user_id,user_session"
)
CART = "2019-10-01 00:00:00 UTC,cart,7,1,a,b,9.50,3,s"
VIEW = CART.replace("cart", "view")
HEDDLE = Path(sys.executable).with_name("heddle")


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(trace, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fails(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "error: " in result.stderr.lower()
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER, CART, VIEW, CART, CART.replace(",3,", ",,"), "x"]) + "\n")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "shop"


def test_import_reports_all_rows(log: Path, out: Path) -> None:
    done = run("import", "--format", "ecommerce", log, out)
    assert done.exit_code == 0
    for words in ("cart", "3.0", "views, which only read", "wrong number of values"):
        assert words in done.stdout
    assert done.stdout.endswith(f"{out}: 2 transactions on 2019-10-01 (UTC)\n")
    assert "no user_id, 1 row, for example\n  log.csv:5: user_id is ''" in done.stderr
    manifest = open_trace(out).manifest
    assert manifest.name == "shop"
    assert manifest.synthetic is False
    assert manifest.source.importer == "ecommerce"
    assert manifest.source.files == ("log.csv",)
    assert manifest.source.left_out == {
        "views, which only read": 1,
        "no user_id": 1,
        "wrong number of values": 1,
    }
    assert [one.name for one in manifest.types] == ["cart", "purchase"]


def test_import_reports_all_rows_as_json(log: Path, out: Path) -> None:
    done = run("import", "--format", "ecommerce", "--format", "json", log, out)
    assert done.exit_code == 0
    assert done.stderr == ""
    document = json.loads(done.stdout)
    shown = json.loads(run("show", out, "--format", "json").stdout)
    assert document == shown | {"trace": str(out), "examples": document["examples"]}
    assert document["source"]["left_out"]["no user_id"] == 1
    assert document["source"]["guessed"] == {}
    assert document["transactions"] == 2
    assert document["examples"]["no user_id"] == ["log.csv:5: user_id is ''"]
    table = run("import", "-fecommerce", "-ftable", "--replace", log, out)
    assert table.stdout.endswith(f"{out}: 2 transactions on 2019-10-01 (UTC)\n")


@pytest.mark.parametrize(
    ("formats", "told"),
    [
        (["json"], "--format: name the log's format: ecommerce, "),
        (["ecommerce", "access-log"], "--format: give one of ecommerce and access-log"),
        (["ecommerce", "json", "table"], "--format: give one of json and table"),
    ],
)
def test_contradictory_formats(log: Path, out: Path, formats: list[str], told: str) -> None:
    typed = [word for name in formats for word in ("--format", name)]
    assert told in fails("import", *typed, log, out)
    assert not out.exists()


def test_show_describes_a_trace(log: Path, out: Path) -> None:
    run("import", "-f", "ecommerce", "--name", "[red]:boom:", log, out)
    done = run("show", out)
    assert done.exit_code == 0
    assert done.stdout.startswith("[red]:boom:: 2 transactions on 2019-10-01 (UTC)\n")
    assert "imported as ecommerce from log.csv, with Heddle " in done.stdout
    for words in ("reserve_product", "insert_order", "views, which only read"):
        assert words in done.stdout


def test_show_describes_a_trace_as_json(log: Path, out: Path) -> None:
    run("import", "-f", "ecommerce", log, out)
    document = json.loads(run("show", out, "--format", "json").stdout)
    assert document["source"]["left_out"]["no user_id"] == 1
    assert document["days"] == {"2019-10-01": 2}
    assert document["counts"] == [{"type": "cart", "transactions": 2, "accesses": 6}]


def test_show_detects_damage(tmp_path: Path) -> None:
    folder = write(tmp_path / "trace", [row(1)])
    (path,) = folder.glob("*/*.parquet")
    path.write_bytes(path.read_bytes()[:50])
    assert f"error: {path}: is damaged or not Parquet" in fails("show", folder)
    assert "is not a trace: it has no trace.json" in fails("show", tmp_path)


def test_strict_fails_at_the_first_bad_row(log: Path, out: Path) -> None:
    message = fails("import", "-f", "ecommerce", "--strict", log, out)
    assert "log.csv:6: 1 values where the header has 9" in message
    assert list(out.parent.iterdir()) == [log]


def test_a_trace_is_replaced_only_on_request(log: Path, out: Path) -> None:
    run("import", "-f", "ecommerce", log, out)
    assert "already exists; name another folder, or give --replace" in fails(
        "import", "-f", "ecommerce", log, out
    )
    assert run("import", "-f", "ecommerce", "--with-views", "--replace", log, out).exit_code == 0
    assert open_trace(out).manifest.types[-1].name == "view"
    assert "is not a trace and is not replaced" in fails(
        "import", "-f", "ecommerce", "--replace", log, out.parent
    )


def test_nothing_to_import(log: Path, out: Path) -> None:
    log.write_text(f"{HEADER}\n{VIEW}\n")
    message = fails("import", "-f", "ecommerce", log, out)
    assert "all rows were left out: views, which only read: 1" in message
    log.write_text(f"{HEADER}\n")
    assert "the log has no rows" in fails("import", "-f", "ecommerce", log, out)
    assert not out.exists()


def test_invalid_arguments(log: Path, out: Path) -> None:
    assert "'ecommerc' is not one of" in fails("import", "-f", "ecommerc", log, out)
    assert "Missing option '-f' / '--format'" in fails("import", log, out)
    assert "No such option" in fails("import", "-f", "ecommerce", "--mapping", "m", log)
    assert "no.csv: there is no such file" in fails("import", "-f", "ecommerce", "no.csv", out)
    assert "SOURCE: missing" in fails("import", "-f", "ecommerce", out)
    assert "there is no directory" in fails("import", "-f", "ecommerce", log, out / "below")


@pytest.mark.parametrize("name", registry.FORMATS)
def test_every_format_has_help(name: str) -> None:
    assert registry.find_format(name).summary
    for typed in (["--format", name], [f"--format={name}"], [f"-f{name}"]):
        shown = run("import", *typed, "--help").stdout
        for option in registry.find_format(name).options:
            assert option.opts[0] in shown


def test_help_has_examples_and_formats() -> None:
    text = run("import", "--help").stdout
    assert "  heddle trace import --format ecommerce " in text
    assert all(name in text for name in registry.FORMATS)
    assert "  heddle trace show " in run("show", "--help").stdout


def test_names_that_are_not_utf_8(log: Path, tmp_path: Path) -> None:
    source = log.rename(os.fsdecode(os.fsencode(tmp_path) + b"/l\xffg.csv"))
    assert run("import", "-f", "ecommerce", source, tmp_path / "shop").exit_code == 0
    assert open_trace(tmp_path / "shop").manifest.source.files == ("l?g.csv",)
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/sh\xffp"))
    for typed in (("import", "-f", "ecommerce", source, folder), ("show", folder)):
        assert "its name is not UTF-8; name another" in fails(*typed)


def test_ctrl_c_leaves_no_files(log: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = EcommerceImporter.tables

    def interrupted(self: EcommerceImporter) -> Iterator[Any]:
        yield from tables(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(EcommerceImporter, "tables", interrupted)
    done = run("import", "-f", "ecommerce", log, out)
    assert done.exit_code == 130
    assert done.stderr.endswith("interrupted\n")
    assert list(out.parent.iterdir()) == [log]


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
@pytest.mark.slow
def test_a_stopped_import_leaves_no_trace(tmp_path: Path, how: signal.Signals, code: int) -> None:
    """The import is stopped while it reads a log that is too long to be read in the meantime."""
    log, out = tmp_path / "log.csv", tmp_path / "shop"
    log.write_text(f"{HEADER}\n" + f"{CART}\n" * 600_000)
    process = subprocess.Popen(
        [HEDDLE, "trace", "import", "-f", "ecommerce", log, out],
        stderr=subprocess.PIPE,
        preexec_fn=_restore_ctrl_c_and_lower_priority,
    )
    wait_until(lambda: bool(list(tmp_path.glob(".shop.*.part"))) or process.poll() is not None)
    process.send_signal(how)
    _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert b"Traceback" not in stderr
    assert not out.exists()
    assert bool(list(tmp_path.glob(".shop.*"))) == (how == signal.SIGKILL)


def _restore_ctrl_c_and_lower_priority() -> None:
    """Restore Ctrl-C, which a shell without job control disables in the background; renice."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.nice(10)
