"""Pages include files verbatim; `python tests/test_included_files.py` updates the pages.

A page has a marker and, on the next line, a fenced block with the file:

    <!-- file: tests/trainer/dummy_search.py -->
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^<!-- file: (\S+) -->\n```(\w+)\n.*?^```$", re.MULTILINE | re.DOTALL)
INCLUDED = {
    "add-a-protocol.md": ["engine/tests/dummy/protocol.h"],
    "add-a-search.md": ["tests/trainer/dummy_search.py"],
    "add-a-workload.md": ["engine/tests/dummy/workload.h"],
}


def with_files(page: str) -> str:
    """Return the text of a page with the current contents of its files."""

    def block(found: re.Match[str]) -> str:
        text = (ROOT / found[1]).read_text(encoding="utf-8")
        return f"<!-- file: {found[1]} -->\n```{found[2]}\n{text}```"

    return BLOCK.sub(block, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_holds_its_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [found[1] for found in BLOCK.finditer(text)] == INCLUDED.get(page.name, [])
    assert with_files(text) == text, "run python tests/test_included_files.py"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_files(path.read_text(encoding="utf-8")), encoding="utf-8")
