"""The prose of source files: comments, docstrings and messages, each with its line."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CXX_COMMENT = re.compile(
    r"//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL
)
YAML_COMMENT = re.compile(r"(?:^|\s)#(?P<text>.*)$")

Text = tuple[int, str]
"""The line where it begins, and what it says."""


@cache
def texts(path: Path) -> list[Text]:
    """The prose of a file, by what its name ends in; nothing of kinds that are not known."""
    source = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".py":
            # A text without a space is a key or a name.
            strings = [found for found in _python_strings(source) if " " in found[1]]
            return [*strings, *joined(_python_comments(source))]
        case ".h" | ".cc":
            return joined(_cxx_comments(source))
        case ".yaml":
            return _yaml_comments(source)
        case ".ipynb":
            return list(_notebook_prose(source))
    return []


def joined(lines: Iterator[Text]) -> list[Text]:
    """Comments of lines that follow one another as one text; an empty line ends it."""
    found: list[Text] = []
    last = -2
    for line, text in lines:
        stripped = text.lstrip("/<!# ").strip()
        if stripped and line == last + 1 and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {stripped}")
        elif stripped:
            found.append((line, stripped))
        last = line if stripped else -2
    return found


def _python_comments(source: str) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _python_strings(source: str) -> Iterator[Text]:
    """Docstrings and all other texts, those of f-strings with `…` for what is put in."""
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else "…" for one in node.values]
            inner.update(node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.lineno, node.value


def _cxx_comments(source: str) -> Iterator[Text]:
    for match in CXX_COMMENT.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        if match["line"] is not None:
            yield line, match["line"]
        elif match["block"] is not None:
            for at, text in enumerate(match["block"].splitlines()):
                yield line + at, text.strip(" *")


def _yaml_comments(source: str) -> list[Text]:
    """The comments; one behind a setting begins a text, which lines of comments alone continue."""
    found: list[Text] = []
    last = -2
    for number, line in enumerate(source.splitlines(), start=1):
        match = YAML_COMMENT.search(line)
        text = match["text"].strip() if match else ""
        if text and line.lstrip().startswith("#") and last == number - 1:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        elif text:
            found.append((number, text))
        last = number if text else -2
    return found


def _notebook_prose(source: str) -> Iterator[Text]:
    for at, cell in enumerate(json.loads(source)["cells"], start=1):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield at, text
        elif cell["cell_type"] == "code":
            yield from ((at, comment) for _, comment in _python_comments_of_cell(text))


def _python_comments_of_cell(source: str) -> Iterator[Text]:
    for at, line in enumerate(source.splitlines(), start=1):
        _, mark, comment = line.partition("# ")
        if mark:
            yield at, comment
