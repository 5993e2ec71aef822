"""The pages of docs/ are in plain technical English.

A page may not use the words below, sentences of more than 40 words, more than 20 words a sentence
on average, cells of more than ten words or lines of more than 100 characters. Code blocks, code
spans, link targets and generated tables are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.prose import (
    EXEMPT,
    LONGEST_AVERAGE,
    LONGEST_LINE,
    PAGES,
    ROOT,
    read,
    sentences,
    words,
)

LONGEST_SENTENCE = 40
LONGEST_CELL = 10

MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
RULED_OUT = {
    "a pronoun for a program": r"whoever|who (?:has|watches|waits)|nobody|somebody",
    "an archaism": r"anew|likewise|foretells?|foretold|beside|henceforth|the like",
    "a vague quantity": r"so many|a good deal|what there is|no more than that",
    "a journey": r"c[ao]mes? to grief|goes on with|gone on with|gone back|went back|barks?|"
    r"on its way|for sure",
    "a house": r"rooms?|the house|front door|upstairs|downstairs",
    "speech": r"(?:be|is|are) told|told of|told apart|tells? apart|not had again|as said",
    "luck": r"luck|lucky",
    "'look' for a rung or a slice": r"(?:first|a|one|short|longer|of) looks?\b"
    r"(?![ -](?:ahead|ups?))|looks of",
    "'member' for a scenario": r"members? of (?:a|the) mix",
    "the best so far": r"best so far|ledger",
    "history": rf"(?:until|since|before) \d{{1,2}} (?:{MONTH})|used to (?:be|take)|formerly",
}
ALLOWED: dict[tuple[str, str], str] = {}
"""(page, word) that may stay, and why."""
NOT_APPLIED = {("CHANGELOG.md", "history"): "a changelog says when and how behavior changed"}
"""(page, rule) that is not applied, and why."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_pages_left_out_exist() -> None:
    pages = [*EXEMPT, *(page for page, _ in NOT_APPLIED)]
    assert [page for page in pages if not (ROOT / page).is_file()] == []


def test_rules_not_applied_exist() -> None:
    assert {rule for _, rule in NOT_APPLIED} <= set(RULED_OUT)


APPLIED = [
    pytest.param(page, rule, id=f"{rule}-{name(page)}")
    for rule in RULED_OUT
    for page in PAGES
    if (name(page), rule) not in NOT_APPLIED
]


@pytest.mark.parametrize(("page", "rule"), APPLIED)
def test_no_word_is_ruled_out(page: Path, rule: str) -> None:
    word = re.compile(rf"\b(?:{RULED_OUT[rule]})\b", re.IGNORECASE)
    found = [
        f"{match[0]!r} in {text[:120]!r}"
        for text in read(page.read_text(encoding="utf-8"), LONGEST_LINE).text
        for match in word.finditer(text)
        if (name(page), match[0].lower()) not in ALLOWED
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_headings_name_a_subject(page: Path) -> None:
    headings = read(page.read_text(encoding="utf-8"), LONGEST_LINE).headings
    assert [one for one in headings if one.endswith("?")] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_sentences_are_short(page: Path) -> None:
    found = read(page.read_text(encoding="utf-8"), LONGEST_LINE).sentences
    assert [one for one in found if words(one) > LONGEST_SENTENCE] == []
    average = sum(map(words, found)) / max(len(found), 1)
    assert average <= LONGEST_AVERAGE


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_cells_are_short(page: Path) -> None:
    cells = read(page.read_text(encoding="utf-8"), LONGEST_LINE).cells
    assert [one for one in cells if words(one) > LONGEST_CELL] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_are_short(page: Path) -> None:
    assert read(page.read_text(encoding="utf-8"), LONGEST_LINE).long_lines == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_line_of_a_paragraph_is_a_comment(page: Path) -> None:
    """The site leaves out a line that begins with %, and ends the paragraph there."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^ *%.*", text, re.MULTILINE) == []
    assert re.findall(r": - .*; - .*", text) == [], "a list needs a line for each item"


def test_a_page_is_read_as_prose() -> None:
    text = (
        "# A heading\n\n<!-- a note -->\nOne `a.b c` [link](x.md#y)\nmore. Two: three.\n\n"
        "- item 1.5\n  goes\n- next\n\n```\ncode is not prose. At all.\n```\n\n"
        "| a | b \\| c |\n|---|--:|\n| 1 | `x` |\n\n"
        "<!-- options of x -->\n| long |\n<!-- end of options -->\n"
    )
    page = read(text, 20)
    assert page.headings == ["A heading"]
    assert page.blocks == ["One CODE link more. Two: three.", "item 1.5 goes", "next"]
    assert page.cells == ["a", "b \\| c", "1", "CODE"]
    assert page.long_lines == []
    assert page.sentences == ["One CODE link more", "Two", "three", "item 1.5 goes", "next"]
    assert [words(one) for one in page.sentences] == [4, 1, 1, 3, 1]
    assert sentences("Version 1.2 of `x`. (In brackets.) End") == [
        "Version 1.2 of `x`",
        "(In brackets",
        "End",
    ]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - linked == {"index.md"}
