from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from traces.command import trace
from traces.manifest import read_manifest
from traces.schema import TRANSACTION

DAYS = 14
SYNTH = ["--days", f"{DAYS}", "--requests-per-day", "3000", "--sales", "1", "--invalid-days", "3"]


def heddle(*arguments: str | Path) -> Result:
    """Run `heddle trace …`."""
    return CliRunner().invoke(trace, [str(argument) for argument in arguments])


def fine(*arguments: str | Path) -> str:
    """Return the output of a successful command."""
    done = heddle(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments: str | Path) -> str:
    """Return the message of a rejected command."""
    done = heddle(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "shop"
    fine("synth", folder, *SYNTH)
    return folder


def test_synth_marks_its_trace(shop: Path) -> None:
    manifest = read_manifest(shop)
    assert manifest.synthetic
    assert manifest.name == "shop"
    assert manifest.source.importer == (
        "heddle trace synth --seed 7 --days 14 --requests-per-day 3000 --sales 1 --invalid-days 3"
    )
    assert "made up by heddle trace synth --seed 7" in fine("show", shop)


def test_the_command_in_the_manifest_makes_the_same_files(shop: Path, tmp_path: Path) -> None:
    again = tmp_path / "shop"
    words = read_manifest(shop).source.importer.removeprefix("heddle trace ").split()
    fine(*words, again)
    for file in sorted(shop.rglob("*.parquet")):
        assert pq.read_table(again / file.relative_to(shop)).equals(pq.read_table(file))
    assert (again / "trace.json").read_text() == (shop / "trace.json").read_text()


def test_synth_rejects_an_existing_folder(shop: Path, tmp_path: Path) -> None:
    assert "already exists" in refused("synth", shop, *SYNTH)
    there = tmp_path / "there"
    fine("synth", there, "--days", "1", "--requests-per-day", "100")
    fine("synth", there, "--days", "2", "--requests-per-day", "100", "--replace")
    assert len(list(there.glob("day=*"))) == 2


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (["--days", "0"], "--days"),
        (["--begin", "yesterday"], "--begin"),
        (["--skew", "nan"], "--skew nan: must be 0 to 0.99"),
        (["--days", "5", "--sales", "2"], "--sales 2"),
        (["--requests-per-day", "1e9"], "--requests-per-day"),
    ],
)
def test_synth_rejects_invalid_values(bad: list[str], told: str, tmp_path: Path) -> None:
    assert told in refused("synth", tmp_path / "out", *bad)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--peaks"], ["--predict"]])
def test_tables_mark_a_synthetic_trace(options: list[str], shop: Path) -> None:
    assert "shop (synthetic)" in fine("stats", shop, *options)


def test_stats_as_a_table_and_as_json(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    printed = fine("stats", shop, f"output={file}")
    document = json.loads(file.read_text())
    assert document["synthetic"] is True
    assert [len(day["hours"]) for day in document["days"]] == [24] * DAYS
    reasons = {day["date"]: day["invalid"] for day in document["days"] if day["invalid"]}
    assert len(reasons) == 3
    for day, reason in reasons.items():
        assert f"{day}: {reason}" in printed
    rows = sum(pq.read_metadata(path).num_rows for path in shop.rglob("*.parquet"))
    assert rows == sum(hour["requests"] for day in document["days"] for hour in day["hours"])
    first = document["days"][0]["hours"][19]
    assert first["requests"] == sum(first["requests_by_type"].values())
    assert 0 < first["conflict_rate"] < 1


def test_output_options(shop: Path, tmp_path: Path) -> None:
    whole = json.loads(fine("stats", shop, "--format", "json"))
    fine("stats", shop, "--output", tmp_path / "stats.json")
    assert json.loads((tmp_path / "stats.json").read_text()) == whole
    shown = fine("stats", shop, f"output={tmp_path / 'stats.csv'}")
    assert shown.rstrip().endswith("stats.csv")
    with (tmp_path / "stats.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == DAYS * 24
    assert sum(int(row["requests"]) for row in rows) == sum(
        hour["requests"] for day in whole["days"] for hour in day["hours"]
    )
    assert "name one file" in refused("stats", shop, "--peaks", "output=a", "--output", "b")
    assert "is not output=FILE or an option" in refused("stats", shop, "--peaks", "a.json")


def test_stats_of_one_day_and_of_one_type(shop: Path) -> None:
    printed = fine("stats", shop, "--day", "2019-10-08", "--type", "cart")
    assert "Tue 2019-10-08" in printed
    assert "23:00" in printed
    assert "purchase" not in printed


def test_a_longer_window_has_more_conflicts(shop: Path, tmp_path: Path) -> None:
    rates = []
    for minutes in ("5", "30"):
        fine("stats", shop, "--peaks", "--window", minutes, "--json", tmp_path / "peaks.json")
        document = json.loads((tmp_path / "peaks.json").read_text())
        assert len(document["peaks"]) == DAYS - 3
        assert len(document["invalid_days"]) == 3
        rates.append([peak["conflict_rate"] for peak in document["peaks"]])
    assert all(short < long for short, long in zip(*rates, strict=True))


@pytest.mark.slow
def test_formats_of_peaks_and_predictions(shop: Path, tmp_path: Path) -> None:
    for option, key in (("--peaks", "peaks"), ("--predict", "predictions")):
        whole = json.loads(fine("stats", shop, option, "--format", "json"))
        fine("stats", shop, option, f"output={tmp_path / 'rows.csv'}")
        with (tmp_path / "rows.csv").open() as file:
            assert len(list(csv.DictReader(file))) == len(whole[key])


@pytest.mark.parametrize("name", ["peaks", "predict"])
def test_former_names_name_the_option(name: str) -> None:
    done = CliRunner().invoke(trace, [name, "shop", "--window", "10"], prog_name="heddle trace")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr == f"heddle trace {name} is now: heddle trace stats --{name}\n"


def test_former_names_are_not_offered() -> None:
    listed = fine("--help").partition("Commands:")[2]
    names = {line.split()[0] for line in listed.splitlines() if line.strip()}
    assert "stats" in names
    assert not {"peaks", "predict"} & names
    completion = ShellComplete(trace, {}, "heddle trace", "_COMPLETE")
    assert [item.value for item in completion.get_completions([], "p")] == []
    after_former_name = completion.get_completions(["peaks", "shop"], "--")
    assert [item.value for item in after_former_name] == ["--help"]


def test_predict_as_json(shop: Path, tmp_path: Path) -> None:
    fine("stats", shop, "--predict", "--threshold", "0.05", "--json", tmp_path / "predict.json")
    fine("stats", shop, "--peaks", "--json", tmp_path / "peaks.json")
    document = json.loads((tmp_path / "predict.json").read_text())
    peaks = json.loads((tmp_path / "peaks.json").read_text())["peaks"]
    assert [one["actual"] for one in document["predictions"]] == [
        peak["conflict_rate"] for peak in peaks[1:]
    ]
    retrained = [one["date"] for one in document["predictions"] if one["retrained"]]
    assert document["retrainings"] == retrained
    assert document["error_distribution"][-1]["share"] == 1


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ([], ".png"),
        (["--predict"], ".svg"),
        pytest.param(["--predict"], ".pdf", marks=pytest.mark.full),
    ],
)
@pytest.mark.slow
def test_pictures(options: list[str], ending: str, shop: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"picture{ending}"
    assert str(picture) in fine("stats", shop, *options, "--plot", picture)
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending]
    assert picture.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [picture]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (["--plot", "picture.gif"], "must end in one of .png, .svg, .pdf"),
        (["--plot", "nowhere/picture.png"], "there is no directory nowhere"),
        (["--json", "."], "is a directory"),
        (["--window", "7"], "--window"),
        (["--type", "refund"], "refund: unknown transaction type; choose from cart, purchase"),
        (["--day", "2018-01-01"], "the trace has the days from 2019-10-07 to 2019-10-20"),
        (["--json", "a.png", "--plot", "a.png"], "is also output="),
        (["--peaks", "--predict"], "--peaks and --predict: select different results; give one"),
        (["--predict", "--day", "2019-10-08"], "--day and --predict: select different results"),
        (["--threshold", "0.3"], "--threshold: applies to predictions only; give --predict"),
        (["--threshold", "0.15", "--peaks"], "give --predict instead of --peaks"),
        (["--peaks", "--plot", "a.png"], "--plot a.png: --peaks has no picture; leave --peaks out"),
    ],
)
def test_invalid_options(
    bad: list[str], told: str, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in refused("stats", shop, *bad)
    assert list(tmp_path.iterdir()) == []


def test_invalid_traces(shop: Path, tmp_path: Path) -> None:
    assert "no such folder" in refused("stats", tmp_path / "nowhere")
    assert "trace.json" in refused("stats", tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(shop, copy)
    damaged = copy / "day=2019-10-09" / "part-0.parquet"
    damaged.write_bytes(damaged.read_bytes()[:1000])
    assert "day=2019-10-09" in refused("stats", copy)
    shutil.copy(shop / "day=2019-10-08" / "part-0.parquet", damaged)
    assert "transactions that are not of 2019-10-09" in refused("stats", copy)


def test_damaged_pages_are_reported(shop: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(shop, copy)
    damaged = copy / "day=2019-10-09" / "part-0.parquet"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 4)
    damaged.write_bytes(content)
    assert "day=2019-10-09" in refused("stats", copy)


def test_predict_needs_two_valid_days_with_accesses(tmp_path: Path) -> None:
    day = tmp_path / "day"
    fine("synth", day, "--days", "1", "--requests-per-day", "3000")
    assert "a prediction needs two" in refused("stats", day, "--predict")
    days = tmp_path / "days"
    fine("synth", days, "--days", "3", "--requests-per-day", "3000")
    for file in days.rglob("*.parquet"):
        table = pq.read_table(file, partitioning=None)
        at = TRANSACTION.names.index("accesses")
        unknown = pa.nulls(table.num_rows, TRANSACTION.field("accesses").type)
        pq.write_table(table.set_column(at, TRANSACTION.field("accesses"), unknown), file)
    assert "accesses of its peak hour are unknown" in refused("stats", days, "--predict")
    assert " - " in fine("stats", days, "--peaks")


def test_predict_rejects_a_trace_without_conflicts(tmp_path: Path) -> None:
    days = tmp_path / "days"
    fine("synth", days, "--days", "3", "--requests-per-day", "3000")
    for file in days.rglob("*.parquet"):
        table = pq.read_table(file, partitioning=None)
        alone = pa.array([1] * table.num_rows, TRANSACTION.field("user").type)
        table = table.set_column(TRANSACTION.names.index("user"), TRANSACTION.field("user"), alone)
        pq.write_table(table, file)
    told = refused("stats", days, "--predict")
    assert "no two transactions of a peak hour conflict" in told
    assert "longer --window" in told


def test_predict_prints_no_table_without_a_row(tmp_path: Path) -> None:
    days = tmp_path / "days"
    quiet = ("--noise", "0", "--weekend", "1", "--sales", "0", "--requests-per-day", "30000")
    fine("synth", days, "--days", "4", *quiet)
    printed = fine("stats", days, "--predict")
    assert "3 days predicted" in printed
    assert "trained for" not in printed
