"""docs/log-coverage.md lists all reasons of the importers."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.importers.access_log import POINTED
from traces.importers.key_columns import NO_VALUE
from traces.importers.log_clock import SKIPPED, TWICE
from traces.importers.overlap import REPEATED, SAME_TIMES
from traces.importers.postgresql import accesses, log, sessions, statement_kinds, temporary_tables

DOCS = Path(__file__).parents[2] / "docs"

REASONS = (
    *accesses.GUESSES,
    *(text for name, text in vars(accesses).items() if name.isupper() and isinstance(text, str)),
    *(statement_kinds.COPIED, temporary_tables.TEMPORARY, POINTED),
    *(SKIPPED, TWICE, REPEATED, SAME_TIMES),
    *(sessions.NO_VALUE, sessions.REFUSED, sessions.NO_BEGIN, sessions.NO_END),
    *(log.NO_ACCESS, log.OTHER_DATABASE, log.SECOND_DATABASE),
)


@pytest.mark.parametrize("reason", sorted(set(REASONS)))
def test_every_reason_is_on_the_page(reason: str) -> None:
    assert reason in (DOCS / "log-coverage.md").read_text(encoding="utf-8")


def test_reasons_of_guesses_are_distinct() -> None:
    named = {text for name, text in vars(accesses).items() if name.isupper()
             and isinstance(text, str)}  # fmt: skip
    assert named > accesses.GUESSES


@pytest.mark.parametrize("word", NO_VALUE)
def test_words_for_no_value_are_on_the_page(word: str) -> None:
    assert f"`{word}`" in (DOCS / "traces.md").read_text(encoding="utf-8")
