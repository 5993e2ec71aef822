"""Records of nights: a JSON file and a page per night, and a line in the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from policies.errors import regular_text, write_failure_reason
from trainer.checkpoint import WritingError, write_atomically
from trainer.nightly.outcome import Outcome
from trainer.nightly.page import page_of
from trainer.nightly.state import NightFolder, StateFolder
from trainer.run_version import heddle_version

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Night:
    """The record of a night.

    Attributes:
        day: the day of the peak hour (UTC).
        outcome: the outcome.
        why: the reason, for display.
        numbers: the figures of the steps that were made, for JSON.
        trace: the trace's name.
        synthetic: whether the trace is synthetic.
        at: time of the decision (UTC).
        version: of Heddle.
    """

    day: date
    outcome: Outcome
    why: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    trace: str = ""
    synthetic: bool = False
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = field(default_factory=heddle_version)

    @property
    def line(self) -> str:
        """The outcome in a line."""
        made_up = " (synthetic trace)" if self.synthetic else ""
        return f"{self.day} {self.outcome}{made_up}: {self.why.splitlines()[0]}"

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            **asdict(self),
            "day": self.day.isoformat(),
            "outcome": self.outcome.value,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Night:
        """Create it from the result of `as_dict`.

        Raises:
            KeyError, TypeError, ValueError: `found` is no such result.
        """
        values = dict(found)
        if (version := values.pop("schema_version")) != SCHEMA_VERSION:
            raise ValueError(f"schema_version {version!r:.40}")
        values["day"] = date.fromisoformat(values["day"])
        values["outcome"] = Outcome(values["outcome"])
        return cls(**values)


def read_night(folder: NightFolder) -> Night | None:
    """Read the record of a night; None if there is none that can be read."""
    try:
        return Night.from_dict(json.loads(regular_text(folder.record)))
    except (OSError, KeyError, TypeError, ValueError):
        return None


def keep(state: StateFolder, night: Night) -> None:
    """Write the record, which is authoritative; then the page and the line.

    Raises:
        WritingError: it can't be written.
    """
    folder = state.night(night.day)
    write_atomically(folder.record, json.dumps(night.as_dict(), indent=1) + "\n")
    make_whole(state, night)


def make_whole(state: StateFolder, night: Night) -> None:
    """Write the page and the line of a night if a killed process has not.

    Raises:
        WritingError: they can't be written.
    """
    folder = state.night(night.day)
    page = page_of(night.as_dict())
    try:
        written = regular_text(folder.page) == page
    except (OSError, UnicodeDecodeError):
        written = False
    if not written:
        write_atomically(folder.page, page)
    if night.outcome is not Outcome.PROMOTING:
        log(state, night.as_dict())


def log(state: StateFolder, found: Mapping[str, Any]) -> None:
    """Add a line to the log, unless it is there.

    Raises:
        WritingError: it can't be written; the log is unchanged.
    """
    try:
        before = regular_text(state.log) if state.log.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise WritingError(
            f"{state.log}: can't be read: {write_failure_reason(error)}; move it elsewhere to "
            "start a new log"
        ) from error
    line = json.dumps(found)
    if line not in before.splitlines():
        write_atomically(state.log, f"{before}{line}\n")
