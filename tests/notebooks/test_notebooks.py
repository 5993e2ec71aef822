"""Every notebook runs from its first to its last cell, and is saved without output."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CELL_SECONDS = 150
"""A cell that takes longer than this hangs, even on a busy machine."""
PROMISED_SECONDS = 120
"""The maximum that docs/notebooks.md promises for a notebook."""
SHORTER = {"run.seconds=0.01": "run.seconds=0.001", "run.repeats=3": "run.repeats=1"}
"""Replacements that shorten the notebook of the default suite."""
LINK = re.compile(r"\]\(([^)#\s]+)")

by_name = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def test_all_notebooks_exist() -> None:
    assert {path.stem for path in NOTEBOOKS} == {
        "bring-your-own-trace",
        "read-a-policy",
        "train-and-compare",
    }


@by_name
def test_notebooks_are_saved_without_output(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count is not None] == []
    assert [cell.id for cell in notebook.cells if cell.metadata] == []


@by_name
def test_cell_ids_are_descriptive_words(path: Path) -> None:
    """Generated ids would change whenever the notebook is rewritten."""
    ids = [cell.id for cell in read(path).cells]
    assert [one for one in ids if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", one)] == []
    assert len(ids) == len(set(ids))


@by_name
def test_no_path_of_one_machine_is_mentioned(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/(?:home|root|tmp|usr|work|mnt|Users)\b", text) == []
    assert str(ROOT) not in text


@by_name
def test_links_have_targets(path: Path) -> None:
    targets = [
        target
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for target in LINK.findall(cell.source)
    ]
    assert targets
    assert [one for one in targets if not (path.parent / one).exists()] == []


def children_seconds() -> float:
    """Return the processor time of all finished child processes; other work adds little to it.

    Notebooks work sequentially, so it is the time that they take on an idle machine.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(notebook: nbformat.NotebookNode, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Execute all cells, and check that they leave no files in the working directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(where / "cache"))
    monkeypatch.setenv("IPYTHONDIR", str(where / "ipython"))
    folder = where / "where"
    folder.mkdir()
    NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [one for one in shown if "image/png" in one.get("data", {})]
    assert len(pictures) >= 3
    assert "REFUSED" not in "".join(output.get("text", "") for output in shown)
    assert list(folder.iterdir()) == []


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_a_notebook_runs_with_shorter_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = read(ROOT / "notebooks" / "read-a-policy.ipynb")
    for long, short in SHORTER.items():
        (cell,) = [one for one in notebook.cells if long in one.source]
        cell.source = cell.source.replace(long, short)
    run(notebook, tmp_path, monkeypatch)


@pytest.mark.full
@pytest.mark.timeout(600)
@by_name
def test_every_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = children_seconds()
    run(read(path), tmp_path, monkeypatch)
    assert children_seconds() - before < PROMISED_SECONDS
