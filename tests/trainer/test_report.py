"""`heddle report`: pages of complete, unfinished, damaged and unusual runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from click.testing import CliRunner, Result
from omegaconf import OmegaConf

from envs import Comparison, machine_words
from envs.host import local_machine
from policies import build_seed, load, save
from tests.trainer.fake_run import settings, train, virtual_settings
from tests.trainer.stand_in import use_stand_in
from trainer.checkpoint import OLD_SCHEMA_VERSION
from trainer.command.main import heddle
from trainer.config import TrainConfig
from trainer.lock import held
from trainer.report.drawn import as_svg, style
from trainer.run_folder import RunFolder

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Shape(HTMLParser):
    """Collects the open elements of a page, and the addresses that it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids += [known["id"] or ""] if "id" in known else []
        self.fetched += [known[k] or "" for k in ("src", "href") if k in known]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(path: Path) -> str:
    """Return the text of a page; checks that it is complete, small, and fetches nothing."""
    text = path.read_text(encoding="utf-8")
    shape = Shape()
    shape.feed(text)
    assert shape.open == []
    assert len(shape.ids) == len(set(shape.ids))
    assert all(target.startswith("#") for target in shape.fetched)
    assert not re.search(r"url\((?!#)|@import|<script", text)
    assert len(text) < 2_000_000
    return text


def saved_run(path: Path, config: TrainConfig, typed: list[str] | None = None) -> RunFolder:
    """Train on the stand-in engine, and save the files of the command."""
    outcome = train(config, path)
    folder = RunFolder(path)
    (closing,) = outcome.closings
    as_yaml = OmegaConf.to_yaml(OmegaConf.structured(config))
    folder.write_settings(as_yaml, typed or ["seed=3"], [as_yaml])
    for comparison, file in (
        (closing.comparison, folder.comparison),
        (closing.validation, folder.validation),
    ):
        if comparison is not None:
            file.write_text(json.dumps(comparison.as_dict()), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that tests only read."""
    path = tmp_path_factory.mktemp("trained") / "one"
    with pytest.MonkeyPatch.context() as patch:
        use_stand_in(patch)
        saved_run(path, settings(3))
    return path


@pytest.fixture
def folder(fake_engine: ModuleType, trained: Path, tmp_path: Path) -> RunFolder:
    """Return a copy of the run."""
    return RunFolder(Path(shutil.copytree(trained, tmp_path / "runs" / "one")))


def report(*typed: str) -> Result:
    return CliRunner().invoke(
        heddle, ["report", *typed, "timeline.enabled=false", "variance.enabled=false"]
    )


def page_of(folder: RunFolder, *typed: str) -> str:
    done = report(str(folder.path), *typed)
    assert done.exit_code == 0, done.output
    assert f"report: {folder.report}" in done.output
    return checked(folder.report)


@pytest.mark.slow
def test_a_page_has_every_section(folder: RunFolder) -> None:
    text = page_of(folder)
    for heading in (
        "Training setup",
        "Learning curve",
        "Comparison with the baselines, on 2 real cores",
        "Time breakdown",
        "Policy table: learned and seed",
        "Differences in words",
        "Waits and aborts by access",
    ):
        assert heading in text
    assert "Missing parts" not in text
    comparison = Comparison.from_dict(json.loads(folder.comparison.read_text()))
    learned = comparison.row("learned")
    assert learned is not None
    assert f"{learned.throughput:,.0f}" in text
    best = min(comparison.scores("learned").values())
    assert f"<b>{best:.2f}×</b>" in text


def test_the_compared_seed_can_be_chosen(folder: RunFolder) -> None:
    text = page_of(folder, "beside=two_phase_locking_star")
    assert "<h4>2PL*, for comparison</h4>" in text
    assert "cells differ in effect from 2PL*</span>" in text


def test_both_machines_are_shown_and_named(fake_engine: ModuleType, tmp_path: Path) -> None:
    text = page_of(saved_run(tmp_path / "runs" / "one", virtual_settings(2)))
    assert "Comparison with the baselines, on 4 virtual cores" in text
    real = machine_words(local_machine("threads", 3))
    assert f"Comparison with the baselines, on {real}" in text
    assert f"measured on {real}" in text


@pytest.mark.slow
def test_several_runs_side_by_side(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = saved_run(tmp_path / "runs" / "two", settings(2, seed=4))
    monkeypatch.chdir(tmp_path)
    done = report("one", "two")
    assert done.exit_code == 0, done.output
    text = checked(tmp_path / "report.html")
    assert "2 runs" in text
    assert "Learning curves" in text
    assert "<th>seed</th>" in text
    assert "<th>search.generations</th>" in text
    assert "<th>workload.warehouses</th>" not in text  # both runs share the line
    for one in (folder, other):
        assert f">{one.name}</a>" in text


def test_the_output_is_at_the_requested_path(folder: RunFolder, tmp_path: Path) -> None:
    done = report(str(folder.path), f"output={tmp_path / 'page.html'}")
    assert done.exit_code == 0
    checked(tmp_path / "page.html")
    assert not folder.report.exists()


def test_content_of_files_is_escaped(fake_engine: ModuleType, tmp_path: Path) -> None:
    nasty = "<script>alert('$x$')</script>"
    folder = saved_run(tmp_path / "runs" / "a&b<i>", settings(2), [f"runs_dir={nasty}"])
    policy = load(folder.policy)
    save(replace(policy, provenance={"origin": nasty}), folder.policy)
    config = folder.config.read_text().replace("name: tpcc", f"name: {json.dumps(nasty)}")
    folder.config.write_text(config)
    text = page_of(folder)
    assert text.count("&lt;script&gt;alert(") >= 3
    assert "a&amp;b&lt;i&gt;" in text


def test_a_learned_schedule_is_described(folder: RunFolder) -> None:
    """The schedule can be the only learned part."""
    schedule = {"policy": "smf", "window": 16, "unscheduled": []}
    save(
        replace(build_seed("occ", load(folder.policy).signature), schedule=schedule), folder.policy
    )
    text = page_of(folder)
    assert "<dt>Schedule</dt><dd>smf, window 16</dd>" in text
    told = text.partition("Differences in words")[2]
    assert "Transactions start in the order of their schedule (smf, window 16); in OCC" in told
    assert "2 cells differ in effect from OCC" in text


def missing(folder: RunFolder) -> str:
    text = page_of(folder)
    assert "Missing parts" in text
    found = re.search(r"Missing parts.*?</section>", text, re.DOTALL)
    assert found is not None
    return found[0]


def test_a_run_without_its_comparison(folder: RunFolder) -> None:
    folder.comparison.unlink()
    told = missing(folder)
    assert "the closing comparison" in told
    assert f"heddle train resume={folder.path}" in told
    text = folder.report.read_text()
    assert "not finished" in text
    assert "Learning curve" in text
    assert "All cells" in text


def test_a_run_ended_at_once(folder: RunFolder) -> None:
    for path in (folder.comparison, folder.policy, folder.path / "checkpoint.json"):
        path.unlink()
    told = missing(folder)
    assert "a policy" in told
    assert "the learning curve" in told


def test_an_interrupted_comparison(folder: RunFolder) -> None:
    document = json.loads(folder.comparison.read_text())
    folder.comparison.write_text(json.dumps({**document, "interrupted": True, "results": []}))
    assert "a part of the closing comparison" in missing(folder)


def test_a_missing_validation(fake_engine: ModuleType, tmp_path: Path) -> None:
    folder = saved_run(tmp_path / "runs" / "one", virtual_settings(2))
    folder.validation.unlink()
    assert "the comparison on real cores" in missing(folder)


def test_a_checkpoint_of_another_version_omits_only_the_curve(folder: RunFolder) -> None:
    path = folder.path / "checkpoint.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "schema_version": OLD_SCHEMA_VERSION - 1}))
    assert "the learning curve" in missing(folder)
    assert "Comparison with the baselines" in folder.report.read_text()


@pytest.mark.parametrize(
    ("group", "key", "value", "told"),
    [
        (None, "seed", None, "None is not a seed"),
        (None, "seed", -1, "-1 is not a seed"),
        (None, "seed", float("inf"), "inf is not a seed"),
        ("machine", "cores", "four", "&#39;four&#39; is not a number of cores"),
    ],
)
@pytest.mark.slow
def test_a_timeline_with_damaged_settings_is_left_out(
    fake_engine: ModuleType,
    tmp_path: Path,
    group: str | None,
    key: str,
    value: object,
    told: str,
) -> None:
    folder = saved_run(tmp_path / "runs" / "one", virtual_settings(2))
    kept = yaml.safe_load(folder.config.read_text())
    kept["machine"]["costs"] = {}
    (kept[group] if group else kept)[key] = value
    folder.config.write_text(yaml.safe_dump(kept))
    done = CliRunner().invoke(heddle, ["report", str(folder.path)])
    assert done.exit_code == 0, done.output
    text = checked(folder.report)
    assert f"the workload can&#39;t be run here: config.yaml: {told}" in text


def test_a_running_run_is_marked(folder: RunFolder) -> None:
    with held(folder.path):
        assert "running" in page_of(folder)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_another_form(path: Path) -> None:
    path.write_text('{"schema_version": 1, "results": [{"policy": 1}], "violations": []}')


def odd_settings(path: Path) -> None:
    path.write_text("machine: 3\n")


def binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00\x80" * 10)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("comparison.json", cut_in_half),
        ("comparison.json", of_another_form),
        ("comparison.json", binary),
        ("policy.json", cut_in_half),
        ("checkpoint.json", cut_in_half),
        ("overrides.json", cut_in_half),
        ("config.yaml", binary),
        ("config.yaml", odd_settings),
    ],
)
def test_a_damaged_file_is_named(
    folder: RunFolder, name: str, damage: Callable[[Path], None]
) -> None:
    damage(folder.path / name)
    done = report(str(folder.path))
    assert done.exit_code == 2
    assert name in done.output
    assert "Traceback" not in done.output
    assert len(done.output.splitlines()) <= 2
    assert not folder.report.exists()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ([], "no run is named"),
        (["no_such"], "no_such: no such run; there are one"),
        ([""], "'': no such run; there are one"),
        (["one", "./runs/one"], "is named twice"),
        (["one", "output=no/such/page.html"], "there is no directory no/such"),
        (["one", "output=runs"], "is a directory"),
        (["one", "outputt=x"], "did you mean output?"),
        (["one", "timeline.lanes=0"], "timeline.lanes=0: must be at least 1"),
        (["one", "beside=silo"], "beside=silo: is not a seed policy; there are occ, two_phase"),
    ],
)
def test_mistakes_are_reported(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = report(*typed)
    assert done.exit_code == 2
    assert told in done.output


def test_numbers_next_to_a_figure_are_not_shortened() -> None:
    with style():
        from matplotlib.figure import Figure

        figure = Figure()
        figure.text(0.123456, 0.5, "0.123456 $a$ <b>")
        text = as_svg(figure, "f")
    assert "0.123456 $a$ &lt;b&gt;" in text
    assert text.startswith('<svg role="img" viewBox=')


def test_a_run_on_real_cores_has_no_timeline(folder: RunFolder) -> None:
    """A timeline on virtual cores would show other conflicts than the run's."""
    done = CliRunner().invoke(heddle, ["report", str(folder.path)])
    assert done.exit_code == 0, done.output
    text = checked(folder.report)
    assert "A run on real cores has no timeline" in text
    assert "virtual time, µs" not in text


def test_the_page_has_the_host_and_doubts_about_figures(folder: RunFolder) -> None:
    kept = json.loads(folder.comparison.read_text())
    kept["host"] |= {"processor": "A Processor", "quota": 0.5, "clock": "tsc"}
    for row in kept["results"]:
        for repeat in row["repeats"]:
            repeat["machine"] = {"kind": "threads", "cores": 24, "real_cores": 2}
    folder.comparison.write_text(json.dumps(kept))
    text = page_of(folder)
    assert "24 workers on 2 real cores" in text
    assert "A Processor" in text
    assert "a quota of 0.5" in text
    assert "Doubtful: 24 workers share 2 cores" in text
