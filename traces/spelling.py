"""How text is written where not every character can be: terminals, encodings, lines of a table."""

from __future__ import annotations

import codecs
import re
import unicodedata

ERRORS = "heddle.spelled"
"""The name of `spelled` among Python's handlers of encoding errors."""

SPELLINGS = {
    "×": "x",
    "÷": "/",
    "±": "+-",
    "µ": "u",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "→": "->",
    "·": ".",
    "†": "^",
    "“": '"',
    "”": '"',
    "’": "'",
}
"""How Heddle's own signs are written in an encoding that lacks them."""

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029"  # control characters and line breaks of every kind
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of writing round
    "\ud800-\udfff]"  # half characters, of names that are no UTF-8
)


def visible(name: str) -> str:
    """A name on one line, with control characters as Python writes them.

    Names come from files and may hold anything; a terminal, a page and a picture must not obey it.
    """
    return _UNPRINTABLE.sub(lambda found: escaped(found[0]), name)


def escaped(text: str) -> str:
    """Characters by their numbers, as Python writes them; a half character by that of its byte."""
    return "".join(
        f"\\x{ord(one) - 0xDC00:02x}"
        if "\udc80" <= one <= "\udcff"
        else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def spelled(error: UnicodeError) -> tuple[str, int]:
    """Other signs for those that an encoding lacks, as a handler of encoding errors.

    Heddle's own signs have a spelling, lines of tables become `-`, `|` and `+`; of any other
    character there is its number, so that a name is not taken for another name.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_spelling, lacking)), error.end


def _spelling(one: str) -> str:
    if one in SPELLINGS:
        return SPELLINGS[one]
    words = unicodedata.name(one, "")
    if words.startswith("BOX DRAWINGS"):
        upright = any(part in words for part in ("VERTICAL", "UP", "DOWN"))
        level = any(part in words for part in ("HORIZONTAL", "LEFT", "RIGHT"))
        return "+" if upright and level else "|" if upright else "-"
    if words.startswith("BRAILLE PATTERN"):  # what turns in front of a bar
        return "*"
    return escaped(one)


codecs.register_error(ERRORS, spelled)
