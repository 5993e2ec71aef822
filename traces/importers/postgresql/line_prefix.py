"""What `log_line_prefix` writes in front of each line of PostgreSQL's log in text form."""

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
"""What each escape is, and what it may be (PostgreSQL manual, section 20.8.3)."""

_PART = re.compile(r"%(?P<padding>-?\d*)(?P<escape>[A-Za-z%])|(?P<text>[^%]+|%)")
_SEVERITIES = "DEBUG[1-5]?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC"
PARTS = "DETAIL|HINT|QUERY|CONTEXT|STATEMENT|LOCATION|BACKTRACE"
"""What lines after the first of an entry are."""

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
"""Prefixes of distributions and of databases that are rented, which are tried unasked."""


@dataclass(frozen=True)
class LinePrefix:
    """A setting of `log_line_prefix`.

    Attributes:
        setting: as the server has it.

    Raises:
        TraceError: there is no such escape, or nothing tells sessions or times apart.
    """

    setting: str

    def __post_init__(self) -> None:
        """Read it at once."""
        _ = self.pattern

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A first or further line of an entry: the prefix, what it is, and its text."""
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
                raise self._wrong(f"%{escape} is no escape of it; write it as SHOW prints it")
        if not named & {"process", "session"}:
            raise self._wrong("neither %p nor %c is in it, so sessions can't be told apart")
        if not named & {"time", "second", "epoch"}:
            raise self._wrong("none of %m, %t and %n is in it, so no entry has a time")
        kinds = rf"(?P<kind>{_SEVERITIES}|{PARTS}):  ?(?P<text>.*)"
        return re.compile(f"{written}{closing}{kinds}", re.DOTALL)

    def has(self, *escapes: str) -> bool:
        """Whether one of these escapes is in it."""
        there = {part["escape"] for part in _PART.finditer(self.setting)}
        return not there.isdisjoint(escapes)

    def fits(self, line: str) -> bool:
        """Whether an entry with this prefix begins so."""
        return self.pattern.match(line) is not None

    def _wrong(self, words: str) -> TraceError:
        return TraceError(f"--log-line-prefix {shown(self.setting)}: {words}")


def known_prefix(lines: list[str]) -> LinePrefix | None:
    """That of the well-known prefixes which most of these lines have; None: they have none."""
    counts = [(sum(one.fits(line) for line in lines), one) for one in map(LinePrefix, KNOWN)]
    most, found = max(counts, key=lambda one: one[0])
    return found if most else None
