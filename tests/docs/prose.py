"""The prose of a Markdown page: its sentences, headings, table cells and long lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXEMPT: dict[str, str] = {}
"""Pages that the rules of prose are not for, and why."""
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    if str(path.relative_to(ROOT)) not in EXEMPT
)
LONGEST_LINE = 100
LONGEST_AVERAGE = 20

FENCE = re.compile(r"^ *(```+|~~~+)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
GENERATED = re.compile(r"<!-- options of .*?<!-- end of options -->", re.DOTALL)
"""Tables that `python -m configs.generate` writes from the engine's declarations."""
LINK = re.compile(r"!?\[(?P<text>[^\]]*)\]\([^)\s]*\)")
CODE = re.compile(r"(`+)(?:.+?)\1", re.DOTALL)
HEADING = re.compile(r"#+ ")
ITEM = re.compile(r"^ *(?:[-*+]|\d+\.) +")
RULE = re.compile(r"^\|[-:| ]+\|$")
SENTENCE_END = re.compile(r"[.!?:][\"'”)*]*(?:\s+|$)")
WORD = re.compile(r"[^\W_][\w'’.,-]*")


@dataclass
class Page:
    """A page without its code blocks, comments and generated tables."""

    blocks: list[str] = field(default_factory=list)
    """Paragraphs and list items, each as one line; code spans are the word CODE."""
    headings: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    long_lines: list[str] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        return [one for block in self.blocks for one in sentences(block)]

    @property
    def text(self) -> list[str]:
        return [*self.headings, *self.blocks, *self.cells]


def sentences(block: str) -> list[str]:
    """A block cut at full stops, question marks, exclamation marks and colons."""
    return [one.strip() for one in SENTENCE_END.split(block) if words(one)]


def words(text: str) -> int:
    return len(WORD.findall(text))


def read(text: str, width: int) -> Page:
    """The page of a Markdown text; lines longer than `width` are counted without link targets."""
    page = Page()
    block: list[str] = []
    fence = ""

    def end_block() -> None:
        if block:
            page.blocks.append(_plain(" ".join(block)))
            block.clear()

    for line in COMMENT.sub("", GENERATED.sub("", text)).splitlines():
        found = FENCE.match(line)
        if fence or found:
            end_block()
            if found and (not fence or found[1].startswith(fence)):
                fence = "" if fence else found[1]
            continue
        stripped = line.strip()
        if stripped.startswith("|"):
            end_block()
            if not RULE.match(stripped):
                cells = re.split(r"(?<!\\)\|", stripped.strip("|"))
                page.cells += [_plain(one.strip()) for one in cells]
            continue
        if len(LINK.sub(r"[\g<text>]", line)) > width:
            page.long_lines.append(line)
        if HEADING.match(stripped):
            end_block()
            page.headings.append(_plain(stripped.lstrip("# ")))
        elif not stripped:
            end_block()
        else:
            if ITEM.match(line):
                end_block()
            block.append(ITEM.sub("", line).strip())
    end_block()
    return page


def _plain(text: str) -> str:
    """Markdown as it reads: link texts without targets, code spans as one word."""
    return LINK.sub(r"\g<text>", CODE.sub("CODE", text)).replace("**", "")
