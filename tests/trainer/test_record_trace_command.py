"""`heddle trace record` from the command line, on the engine and a small database."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from traces.manifest import RECORDER, read_manifest
from trainer.command.main import heddle

SMALL = ["workload=ycsb", "workload.records=300", "machine.cores=2"]


def heddle_trace(*words: str) -> Result:
    return CliRunner().invoke(heddle, ["trace", *words])


def record(*words: str) -> Result:
    return heddle_trace("record", *SMALL, *words)


@pytest.mark.slow
def test_a_recorded_trace_is_shown_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "hot"
    done = record(f"output={folder}", "policy=ic3", "seconds=0.1", "sessions=8")
    assert done.exit_code == 0, done.output
    assert "on 2 real cores" in done.stdout.splitlines()[-1]
    manifest = read_manifest(folder)
    assert manifest.source.importer == RECORDER
    assert not manifest.synthetic

    shown = heddle_trace("show", str(folder))
    assert shown.exit_code == 0, shown.output
    assert "written by heddle trace record from ycsb under ic3 on 2 real cores" in shown.stdout
    replayed = heddle_trace("replay", str(folder))
    assert replayed.exit_code == 0, replayed.output
    assert "in 16 sessions" in replayed.stdout

    words = ["workload=replay", f"workload.trace={folder}", "machine=virtual", "machine.cores=4"]
    run = ["policy=silo,ic3", "run.seconds=0.001", "run.warmup=0", "run.repeats=1"]
    evaluated = CliRunner().invoke(heddle, ["evaluate", *words, *run])
    assert evaluated.exit_code == 0, evaluated.output


def test_a_full_trace_reports_why_it_is_short(tmp_path: Path) -> None:
    done = record(f"output={tmp_path / 'short'}", "seconds=60", "mib_max=1")
    assert done.exit_code == 0, done.output
    assert "less than seconds=60" in done.stdout
    assert "mib_max=1" in done.stdout


def test_a_trace_is_replaced_only_on_request(tmp_path: Path) -> None:
    output = f"output={tmp_path / 'trace'}"
    assert record(output, "seconds=0.01").exit_code == 0
    before = read_manifest(tmp_path / "trace")
    refused = record(output, "seconds=0.01", "name=other")
    assert refused.exit_code == 2
    assert "replace=true" in refused.stderr
    assert read_manifest(tmp_path / "trace") == before
    assert record(output, "seconds=0.01", "name=other", "replace=true").exit_code == 0
    assert read_manifest(tmp_path / "trace").name == "other"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "output= names no folder"),
        (["output=gone/trace"], "there is no directory gone"),
        (["output=trace", "machine=virtual"], "machine=virtual"),
        (["output=trace", "policy=silo_tuned"], "policy=silo_tuned"),
        (["output=trace", "policy=none"], "policy=none"),
        (["output=trace", "mib_max=0"], "mib_max=0"),
        (["output=trace", "sessions=0"], "sessions=0"),
        (["output=trace", "seconds=-1"], "seconds=-1"),
        (["output=trace", "second=1"], "second"),
    ],
)
def test_invalid_settings_are_refused_before_a_run(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = record(*words)
    assert refused.exit_code == 2, refused.output
    assert told in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_replayed_trace_is_scheduled_by_the_keys_that_it_is_said_to_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "known"
    assert record(f"output={folder}", "seconds=0.02", "sessions=8").exit_code == 0
    words = ["workload=replay", f"workload.trace={folder}", "machine=virtual", "machine.cores=4"]
    run = ["policy=silo+smf", "run.seconds=0.001", "run.warmup=0", "run.repeats=1"]
    refused = CliRunner().invoke(heddle, ["evaluate", *words, *run])
    assert refused.exit_code != 0
    assert "passes no hints of its keys unless hints=writes or hints=all is set" in refused.output
    for hints in ("writes", "all"):
        known = CliRunner().invoke(heddle, ["evaluate", *words, f"workload.hints={hints}", *run])
        assert known.exit_code == 0, known.output
        assert "silo+smf" in known.stdout
    checked = ["check", *words, "workload.hints=all", "policy=silo+smf", "random=0", "trials=2"]
    found = CliRunner().invoke(heddle, checked)
    assert found.exit_code == 0, found.output
