"""Parses `log_line_prefix`, the start of each line of PostgreSQL's log in text form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from traces.errors import TraceError, shown

_DAY = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_ESCAPES = {
    "a": ("application", r".*?"),
    "u": ("user", r".*?"),
    "d": ("database", r".*?"),
    "r": ("remote", r".*?"),
    "h": ("host", r".*?"),
    "b": ("backend", r".*?"),
    "p": ("process", r"\d+"),
    "P": ("leader", r"\d*"),
    "t": ("second", rf"{_DAY} \S+?"),
    "m": ("time", rf"{_DAY}\.\d{{3}} \S+?"),
    "n": ("epoch", r"\d+\.\d{3}"),
    "i": ("tag", r".*?"),
    "e": ("state", r"[0-9A-Z]{5}"),
    "c": ("session", r"[0-9a-f]+\.[0-9a-f]+"),
    "l": ("line", r"\d+"),
    "s": ("start", rf"{_DAY} \S+?"),
    "v": ("virtual", r"(?:\d+/\d+)?"),
    "x": ("transaction", r"\d*"),
    "Q": ("query", r"-?\d*"),
}
"""The meaning and the pattern of each escape (PostgreSQL manual, section 20.8.3)."""

_PART = re.compile(r"%(?P<padding>-?\d*)(?P<escape>[A-Za-z%])|(?P<text>[^%]+|%)")
_SEVERITIES = "DEBUG[1-5]?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC"
PARTS = "DETAIL|HINT|QUERY|CONTEXT|STATEMENT|LOCATION|BACKTRACE"
"""The labels of lines after the first of an entry."""

KNOWN = (
    "%m [%p] %q%u@%d ",
    "%t:%r:%u@%d:[%p]:",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t-%c-",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] ",
    "%m [%p] ",
    "%t [%p] ",
)
"""Prefixes of distributions and managed databases, which are tried by default."""


@dataclass(frozen=True)
class LinePrefix:
    """A setting of `log_line_prefix`.

    Attributes:
        setting: the setting of the server.

    Raises:
        TraceError: an escape is unknown, or entries lack a session or a time.
    """

    setting: str

    def __post_init__(self) -> None:
        """Validate the setting."""
        _ = self.pattern

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a line of an entry: the prefix, the label, and the text."""
        written, named, closing = "", set(), ""
        for part in _PART.finditer(self.setting):
            escape = part["escape"]
            if part["text"] or escape == "%":
                written += re.escape(part["text"] or "%")
            elif escape == "q":
                written, closing = f"{written}(?:", ")?"
            elif escape in _ESCAPES:
                name, pattern = _ESCAPES[escape]
                group = f"(?P<{name}>{pattern})" if name not in named else f"(?:{pattern})"
                named.add(name)
                written += rf" *{group} *" if part["padding"] else group
            else:
                raise self._wrong(f"%{escape} is not an escape; give the setting as SHOW prints it")
        if not named & {"process", "session"}:
            raise self._wrong("it has neither %p nor %c, which identify sessions")
        if not named & {"time", "second", "epoch"}:
            raise self._wrong("it has none of %m, %t and %n, the times of entries")
        kinds = rf"(?P<kind>{_SEVERITIES}|{PARTS}):  ?(?P<text>.*)"
        return re.compile(f"{written}{closing}{kinds}", re.DOTALL)

    def has(self, *escapes: str) -> bool:
        """Whether the setting has one of these escapes."""
        there = {part["escape"] for part in _PART.finditer(self.setting)}
        return not there.isdisjoint(escapes)

    def fits(self, line: str) -> bool:
        """Whether a line can be the start of an entry with this prefix."""
        return self.pattern.match(line) is not None

    def _wrong(self, words: str) -> TraceError:
        return TraceError(f"--log-line-prefix {shown(self.setting)}: {words}")


def known_prefix(lines: list[str]) -> LinePrefix | None:
    """Return the well-known prefix that fits most lines; None: none fits."""
    counts = [
        (sum(prefix.fits(line) for line in lines), prefix) for prefix in map(LinePrefix, KNOWN)
    ]
    most, found = max(counts, key=lambda pair: pair[0])
    return found if most else None
