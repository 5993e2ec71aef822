"""Comments, docstrings, messages and notebooks are in plain technical English, as the pages are.

The ruled-out words and the longest sentence are those of `test_language.py`. Identifiers and code
spans are left out.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.prose import ROOT, sentences, words
from tests.docs.source_text import joined, texts
from tests.docs.test_language import LONGEST_SENTENCE, RULED_OUT

FOLDERS = (
    "engine",
    "envs",
    "heddle_client",
    "policies",
    "traces",
    "trainer",
    "configs",
    "notebooks",
    "docs",
    "tests",
)
KINDS = (".py", ".h", ".cc", ".yaml", ".ipynb")
EXEMPT = {
    "tests/docs/test_language.py": "it holds the list of the words",
}
"""Files that these rules are not for, and why."""

CODE = re.compile(r"`[^`]*`|^ *heddle .*$|\bbeside(?=[=:])", re.MULTILINE)
"""Code spans, command lines of examples, and the setting `report.beside`."""

PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?=[-*] |[\w*]+: |\d+\. )")


def files(folder: str) -> list[Path]:
    """The source files of a folder that git knows, or all where there is no repository."""
    listed = subprocess.run(
        ["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    found = [ROOT / name for name in names if name] or sorted((ROOT / folder).rglob("*"))
    return [
        path
        for path in found
        if path.suffix in KINDS and path.is_file() and str(path.relative_to(ROOT)) not in EXEMPT
    ]


def test_files_left_out_exist() -> None:
    assert [name for name in EXEMPT if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_word_is_ruled_out(folder: str) -> None:
    rule = re.compile(rf"\b(?:{'|'.join(RULED_OUT.values())})\b", re.IGNORECASE)
    assert files(folder)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}"
        for path in files(folder)
        for line, text in texts(path)
        for match in rule.finditer(CODE.sub("CODE", text))
    ]
    assert found == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_sentences_are_short(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {sentence[:100]!r}"
        for path in files(folder)
        for line, text in texts(path)
        if words(text) > LONGEST_SENTENCE
        for paragraph in PARAGRAPH.split(CODE.sub("CODE", text))
        for sentence in sentences(" ".join(paragraph.split()))
        if words(sentence) > LONGEST_SENTENCE
    ]
    assert found == []


def test_sources_are_read_as_prose(tmp_path: Path) -> None:
    python = tmp_path / "a.py"
    python.write_text('"""A module."""\n# One\n# two.\n\n# Three.\nsay = f"is {say} at {1}"\n')
    assert sorted(texts(python)) == [
        (1, "A module."),
        (2, "One two."),
        (5, "Three."),
        (6, "is … at …"),
    ]
    cxx = tmp_path / "a.h"
    cxx.write_text('/* A block\n * of two. */\nint z;\nint a;  // why\nauto b = "// no comment";\n')
    assert texts(cxx) == [(1, "A block of two."), (4, "why")]
    settings = tmp_path / "a.yaml"
    settings.write_text("# All.\na: 1  # one\nb: 2  # two\n\nc: 3\n")
    assert texts(settings) == [(1, "All."), (2, "one"), (3, "two")]
    assert joined(iter([(1, "a"), (3, "b")])) == [(1, "a"), (3, "b")]
