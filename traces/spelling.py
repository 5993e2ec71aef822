"""Replacements for characters that a terminal, an encoding or a table's line can't show."""

from __future__ import annotations

import codecs
import re
import unicodedata

ERRORS = "heddle.spelled"
"""The name of `spelled` as an error handler of encodings."""

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
"""Replacements of Heddle's own symbols in encodings that lack them."""

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029"  # control characters and line breaks of every kind
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # controls of the writing direction
    "\ud800-\udfff]"  # surrogates, in names that are not UTF-8
)


def visible(name: str) -> str:
    """Return a name on one line, with control characters escaped.

    Names come from files and may contain anything, which terminals, pages and pictures must not
    interpret.
    """
    return _UNPRINTABLE.sub(lambda found: escaped(found[0]), name)


def escaped(text: str) -> str:
    """Escape characters as Python does; a surrogate is escaped as the byte that it stands for."""
    return "".join(
        f"\\x{ord(character) - 0xDC00:02x}"
        if "\udc80" <= character <= "\udcff"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def spelled(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that an encoding lacks, as an error handler of encodings.

    Heddle's own symbols have replacements, and table lines become `-`, `|` and `+`. Any other
    character is escaped, so that different names stay different.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_spelling, lacking)), error.end


def _spelling(character: str) -> str:
    if character in SPELLINGS:
        return SPELLINGS[character]
    words = unicodedata.name(character, "")
    if words.startswith("BOX DRAWINGS"):
        upright = any(part in words for part in ("VERTICAL", "UP", "DOWN"))
        level = any(part in words for part in ("HORIZONTAL", "LEFT", "RIGHT"))
        return "+" if upright and level else "|" if upright else "-"
    if words.startswith("BRAILLE PATTERN"):  # the spinner of a progress bar
        return "*"
    return escaped(character)


codecs.register_error(ERRORS, spelled)
