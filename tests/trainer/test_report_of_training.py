"""Pages that `heddle train` writes, and pages of sweeps."""

from __future__ import annotations

import html
import json
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.trainer.test_command import QUICK, only_run, run
from tests.trainer.test_report import checked
from trainer.sweep_folder import Sweep

SMALL = [
    *(one for one in QUICK if one != "report.enabled=false"),
    *("search=evolution", "search.generations=1", "search.parents=2", "search.children=2"),
    *("baselines=[silo]", "evaluation.rungs=[1]", "report.timeline=false"),
]
SWEEP = Path("runs/sweeps/mine")


@pytest.fixture(autouse=True)
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


def test_a_training_ends_with_its_page() -> None:
    done = run("train", *SMALL)
    assert done.exit_code == 0, done.output
    page = only_run() / "report.html"
    assert f"page:    {page}" in done.output
    text = checked(page)
    assert "Comparison with the baselines" in text
    # The page of a finished run has no note on its state.
    assert "<em>" not in text.partition("<section>")[0]
    assert f"heddle report {only_run()}" in text


@pytest.mark.slow
def test_commands_for_a_folder_that_looks_like_an_option_can_be_pasted() -> None:
    done = run("train", *SMALL, "runs_dir=-r a")
    assert done.exit_code == 0, done.output
    (line,) = [one for one in done.output.splitlines() if one.startswith("read it: heddle ")]
    assert "'./-r a/" in line
    pasted = run(*shlex.split(line.removeprefix("read it: heddle ")))
    assert pasted.exit_code == 0, pasted.output
    (page,) = Path("-r a").glob("2*/report.html")
    again = f"heddle report './{page.parent}'"
    assert again in html.unescape(page.read_text())
    assert run(*shlex.split(again)[1:], "output=again.html").exit_code == 0
    text = html.unescape(Path("again.html").read_text())
    assert f"{again} output=again.html" in text


def test_no_page_is_written_if_disabled() -> None:
    done = run("train", *SMALL, "report.enabled=false")
    assert done.exit_code == 0
    assert not (only_run() / "report.html").exists()
    assert f"page:    heddle report {only_run()}" in done.output


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            RuntimeError("no ink"),
            0,
            "the page could not be written (no ink); try again with: ",
        ),
        (
            KeyboardInterrupt(),
            130,
            "interrupted before the page was written; write it with: ",
        ),
    ],
)
@pytest.mark.slow
def test_a_failing_page_does_not_affect_the_run(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    def failing(*arguments: Any) -> str:
        raise error

    monkeypatch.setattr("trainer.report.page.make_page", failing)
    done = run("train", *SMALL)
    assert done.exit_code == code
    assert words in done.output
    assert "verdict on " in done.output
    assert not (only_run() / "report.html").exists()
    assert (only_run() / "comparison.json").exists()


@pytest.mark.slow
def test_a_sweep_has_a_page_of_all_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("train", "-m", *SMALL, "seed=1,2", "workload.warehouses=1,2", "sweep=mine")
    assert done.exit_code == 0, done.output
    assert f"page: {SWEEP / 'report.html'}" in done.output
    text = checked(SWEEP / "report.html")
    assert "mine: 4 of 4 runs finished" in text
    assert "Statistics over the seeds" in text
    assert text.count("<article") == 4
    folders = sorted(path for path in SWEEP.iterdir() if path.is_dir())
    scores = []
    for folder in folders:
        checked(folder / "report.html")
        results = json.loads((folder / "comparison.json").read_text())["results"]
        rates = {one["policy"]: [r["throughput"] for r in one["repeats"]] for one in results}
        ratios = [a / b for a, b in zip(rates["learned"], rates["silo"], strict=True)]
        scores.append(sum(ratios) / 2)
    # Runs 1 and 3 have one warehouse; the median of two repeats is their mean.
    assert f"<b>{(scores[0] + scores[2]) / 2:.3f}</b>" in text

    # A damaged run and a missing one affect only their own rows.
    (folders[0] / "checkpoint.json").write_text("{")
    sweep = Sweep.load(SWEEP)
    sweep.extend({"seed": ["3"]})
    sweep.save()
    monkeypatch.setattr("trainer.report.page.SECTIONS", 2)
    done = run(
        "report", "mine", "output=page.html", "timeline.enabled=false", "variance.enabled=false"
    )
    assert done.exit_code == 0, done.output
    text = checked(Path("page.html"))
    assert "mine: 3 of 6 runs finished" in text
    assert "<em>damaged</em>" in text
    assert text.count("<em>waiting</em>") == 2
    assert "checkpoint.json: is damaged" in text
    assert "<article" not in text
    assert "Each run has its own page" in text

    done = run("report", "mine", "mine")
    assert done.exit_code == 2
    assert "mine: is a sweep, and a page shows only one" in done.output
