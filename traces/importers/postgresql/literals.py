"""Takes literals out of statements and back, by PostgreSQL's lexical rules, without a parser.

The text between the literals, its *gaps*, is the same for all statements of a template, so
templates are looked up by the gaps.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

# One character class comes first, so that the search skips to possible literals.
_SPLIT = re.compile(
    r"""(["'$.0-9](?:
      (?<=")[^"]*"                                          # a quoted name, which is put back
    | (?<=')[^']*'(?:'[^']*')*                              # a string
    | (?<=\$)(?<![\w$]\$)[0-9]+                             # a parameter
    | (?<=[0-9])(?<![\w$][0-9])(?<![\w$]\.[0-9])            # a number
        (?:[xX][0-9a-fA-F_]+|[0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?!\w)
    | (?<=\.)(?<![\w$"]\.)[0-9]+(?:[eE][+-]?[0-9]+)?(?!\w)  # a number without its zero
    ))""",
    re.VERBOSE,
)
_DOLLAR_TAG = re.compile(r"\$[^\W0-9]\w*\$")
_UNUSUAL_PART = re.compile(
    r"""(?P<escaped>(?<![\w$])[eE]'(?:[^'\\]|''|\\.)*')
    | (?P<unicode>(?<![\w$])[uU]&'(?:[^']|'')*')
    | (?P<kept>"[^"]*"|'[^']*')
    | (?P<dollar>(?<![\w$])\$(?P<tag>[^\W0-9]\w*)?\$.*?\$(?(tag)(?P=tag))\$)
    | (?P<comment>--[^\n]*|/\*)""",
    re.DOTALL | re.VERBOSE,
)
_MARK = re.compile(f"{_UNUSUAL_PART.pattern}|(?P<end>;)", re.DOTALL | re.VERBOSE)
_SMALL = {ord(letter): letter.lower() for letter in string.ascii_uppercase}
_NESTED = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_NAMED_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|(\\))")


def split(sql: str) -> list[str]:
    """Take the literals out of a statement.

    Returns:
        Gaps and literals in turn, starting and ending with a gap: at odd positions the literals
        (strings, numbers, `$1`). Comments are removed, and each string has plain quotes.
    """
    if (
        "--" in sql
        or "/*" in sql
        or "\\" in sql
        or "$$" in sql
        or ("$" in sql and _DOLLAR_TAG.search(sql))
    ):
        sql = _usual(sql)
    parts = _SPLIT.split(sql)
    if '"' in sql:
        parts = _with_names_in_gaps(parts)
    return parts


def folded(name: str) -> str:
    """Return an unquoted name as PostgreSQL folds it: only ASCII capitals become lower case."""
    return name.lower() if name.isascii() else name.translate(_SMALL)


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements of a script, each with its position."""
    start = place = 0
    while mark := _MARK.search(text, place):
        place = mark.end()
        if mark[0] == "/*":
            place = _end_of_comment(text, place)
        elif mark["end"]:
            yield start, text[start : mark.start()]
            start = place
    yield start, text[start:]


def value(literal: str) -> str:
    """Return the value of a string or number literal as text; a number is unchanged."""
    if literal[0] == "'":
        return literal[1:-1].replace("''", "'")
    return literal


def quoted(text: str) -> str:
    """Return a text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def with_minus(literal: str) -> str:
    """Return a literal after a minus sign as one literal."""
    return quoted(f"-{value(literal)}") if literal[0] == "'" else f"-{literal}"


def _usual(sql: str) -> str:
    """Replace comments by spaces, and quote all strings plainly."""
    written = []
    place = 0
    while part := _UNUSUAL_PART.search(sql, place):
        written.append(sql[place : part.start()])
        place = part.end()
        text = part[0]
        if part["escaped"]:
            written.append(quoted(_ESCAPE.sub(_unescaped, text[2:-1].replace("''", "'"))))
        elif part["unicode"]:
            plain = text[3:-1].replace("''", "'")
            written.append(quoted(_UNICODE_ESCAPE.sub(_unicode_unescaped, plain)))
        elif part["dollar"]:
            edge = len(part["tag"] or "") + 2
            written.append(quoted(text[edge:-edge]))
        elif part["kept"]:
            written.append(text)
        else:
            written.append(" ")
            if text == "/*":
                place = _end_of_comment(sql, place)
    written.append(sql[place:])
    return "".join(written)


def _end_of_comment(sql: str, place: int) -> int:
    depth = 1
    for mark in _NESTED.finditer(sql, place):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)


def _with_names_in_gaps(parts: list[str]) -> list[str]:
    """Put quoted names, which were split off like literals, back into the gaps."""
    joined = [parts[0]]
    for place in range(1, len(parts), 2):
        part, gap = parts[place], parts[place + 1]
        if part[-1] == '"':
            joined[-1] += part + gap
        else:
            joined += (part, gap)
    return joined


def _unescaped(match: re.Match[str]) -> str:
    short, four, eight, octal, other = match.groups()
    if other is not None:
        return _NAMED_ESCAPES.get(other, other)
    return _character(octal, 8) if octal else _character(short or four or eight, 16)


def _unicode_unescaped(match: re.Match[str]) -> str:
    return "\\" if match[3] else _character(match[1] or match[2], 16)


def _character(digits: str, base: int) -> str:
    code = int(digits, base)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
