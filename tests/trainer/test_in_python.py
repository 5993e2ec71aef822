"""The commands as Python functions."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from matplotlib.patches import Rectangle

from envs import Comparison, MeasuringError
from policies import resolve
from policies.signature import Signature
from tests.trainer.test_command import QUICK
from trainer.command.errors import UsageError
from trainer.comparison_plot import comparison_figure
from trainer.in_python import evaluate, record, train
from trainer.outcome import LEARNED
from trainer.policy_picture import CHANGED, MARKS, policy_figure

TINY_PLACE = ("machine=virtual", "machine.cores=2")


@pytest.mark.slow
def test_train_returns_the_saved_run(fake_engine: ModuleType, tmp_path: Path) -> None:
    typed = [*QUICK, "baselines=[silo]", f"runs_dir={tmp_path}"]
    run = train(*typed, "search.generations=2")
    assert run.finished
    assert run.missing == []
    assert len(run.checkpoint.history) == 2
    assert run.comparison is not None
    assert [row.subject.name for row in run.comparison.rows] == ["silo", LEARNED]
    assert run.best == ("silo", run.comparison.scores(LEARNED)["silo"])
    again = train(f"resume={run.name}", f"runs_dir={tmp_path}", "search.generations=3")
    assert again.folder == run.folder
    assert len(again.checkpoint.history) == 3


@pytest.mark.slow
def test_a_comparison_matches_the_output_of_the_command(tmp_path: Path) -> None:
    typed = (*TINY_PLACE, "policy=silo,ic3", "run.seconds=0.002", "run.repeats=2")
    comparison = evaluate(*typed, f"output={tmp_path / 'unused.json'}")
    assert [row.subject.name for row in comparison.rows] == ["silo", "ic3"]
    assert all(len(row.repeats) == 2 for row in comparison.rows)
    # The load of the machine differs between the two runs.
    of_the_hour = {"host": None, "warnings": None}
    first, second = (
        json.dumps(one.as_dict() | of_the_hour) for one in (comparison, evaluate(*typed))
    )
    assert first == second


def test_a_recording_has_the_requested_run() -> None:
    timeline = record("machine.cores=3", "policy=occ", "seconds=0.0001")
    assert timeline.cores == 3
    assert timeline.attempts


@pytest.mark.parametrize(
    ("call", "typed", "said"),
    [
        (train, ["sed=1"], "did you mean seed"),
        (train, ["seed=1,2"], "seed"),
        (evaluate, ["policy="], "names no policy"),
        (record, ["machine=threads"], "are recorded on virtual cores only"),
    ],
)
def test_a_mistake_is_an_exception_with_a_remedy(
    fake_engine: ModuleType, call: object, typed: list[str], said: str
) -> None:
    assert callable(call)
    with pytest.raises(UsageError, match=said):
        call(*typed)


def test_an_inconsistent_database_is_an_error(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "VIOLATIONS", ["a warehouse's total is wrong"])
    with pytest.raises(MeasuringError, match="a warehouse's total is wrong"):
        evaluate("policy=silo", "run.repeats=1")


def test_the_picture_of_a_comparison_has_a_bar_for_each_policy(fake_engine: ModuleType) -> None:
    comparison = evaluate("policy=silo,occ,ic3", "run.repeats=3")
    speed, time = comparison_figure(comparison).axes
    assert len(speed.get_yticklabels()) == 3
    widths = [bar.get_width() for bar in speed.patches]
    assert widths == pytest.approx(
        sorted((row.throughput / 1000 for row in comparison.rows), reverse=True)
    )
    by_policy: dict[float, float] = {}
    for bar in time.patches:
        by_policy[bar.get_y()] = by_policy.get(bar.get_y(), 0.0) + bar.get_width()
    assert list(by_policy.values()) == pytest.approx([1.0] * 3)


def test_an_empty_comparison_has_no_picture() -> None:
    with pytest.raises(ValueError, match="empty"):
        comparison_figure(Comparison([]))


@pytest.mark.slow
def test_the_picture_of_a_policy_marks_effects_and_changes(tpcc: Signature) -> None:
    occ, ic3 = resolve("occ", tpcc), resolve("ic3", tpcc)

    def cells(*policies: object) -> list[Rectangle]:
        (axes,) = policy_figure(*policies).axes  # type: ignore[arg-type]
        return [patch for patch in axes.patches if isinstance(patch, Rectangle)]

    def coloured(found: list[Rectangle], colour: str) -> int:
        from matplotlib.colors import to_rgba

        return sum(one.get_facecolor() == to_rgba(colour) for one in found)

    def framed(found: list[Rectangle]) -> int:
        from matplotlib.colors import to_rgba

        return sum(one.get_edgecolor() == to_rgba(CHANGED) for one in found)

    plain = cells(occ)
    assert len(plain) == tpcc.state_count * (len(tpcc.types) + 3)
    assert all(coloured(plain, colour) == 0 for _, colour in MARKS.values())
    assert framed(plain) == framed(cells(occ, occ)) == 0
    marked = cells(ic3, occ)
    public = sum(row.write_visibility == "PUBLIC" for row in ic3.cc)
    assert coloured(marked, MARKS["public"][1]) == public > 0
    changed = sum(
        (a.read_version != b.read_version)
        + (a.write_visibility != b.write_visibility)
        + (a.early_validation != b.early_validation)
        + sum(a.wait[name] != b.wait[name] for name in tpcc.type_names)
        for a, b in zip(ic3.cc, occ.cc, strict=True)
    )
    assert framed(marked) == changed > 0
