"""Words of a log that YAML interprets as other types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from traces.errors import TraceError
from traces.importers.access_log import AccessLogImporter
from traces.importers.access_log_mapping import load_mapping
from traces.importers.base import LeftOut
from traces.importers.mapping_text import load_text

HEAD = """
time: {column: t, format: epoch}
session: s
gap_ms: 10
"""


def outcomes_of(folder: Path, words: str, logged: list[str], left_out: LeftOut) -> list[Any]:
    mapping, log = folder / "mapping.yaml", folder / "log.csv"
    mapping.write_text(f"{HEAD}outcome:\n  column: no\n  words: {words}\n")
    rows = [f"{number},s,{word}" for number, word in enumerate(logged)]
    log.write_text("\n".join(["t,s,no", *rows]))
    importer = AccessLogImporter((log,), left_out, mapping)
    return [row["outcome"] for table in importer.tables() for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("yes", "no"),
        ("Yes", "NO"),
        ("on", "off"),
        ("true", "false"),
        ("y", "n"),
        ("1", "0"),
        ("0x1F", "0b1"),
        ("010", "8"),
        ("1e3", "1000"),
        ("1_000", "12:30:00"),
        ("null", "~"),
        ("2026-01-01", ".inf"),
        ("1.0", "1"),
        ("=", "-1"),
        ("Ä", "ΑΣ"),
    ],
)
def test_words_of_the_log_mean_themselves(tmp_path: Path, good: str, bad: str) -> None:
    words = f"{{{good}: committed, {bad}: aborted}}"
    found = outcomes_of(tmp_path, words, [good, bad, good], LeftOut(strict=True))
    assert found == ["committed", "aborted", "committed"]


def test_columns_may_be_called_anything(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text("time: on\nsession: [no, 1, 010]\nuser: ~\ngap_ms: 1e1\nstatement:\n")
    mapping = load_mapping(path)
    assert (mapping.time, mapping.session, mapping.gap_ms) == ("on", ("no", "1", "010"), 10)
    assert (mapping.user, mapping.statement) == ((), None)


def test_a_duplicate_key(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(f"{HEAD}session: t\n")
    with pytest.raises(TraceError, match=r"its key session occurs twice.*line 5"):
        load_mapping(path)
    with pytest.raises(TraceError, match=r"outcome\.words\.NO: must be unique"):
        outcomes_of(tmp_path, "{no: aborted, NO: committed}", [], LeftOut())
    outcomes_of(tmp_path, "{no: aborted, NO: aborted}", [], LeftOut())
    path.write_text(f"{HEAD}? [a]\n: b\n")
    with pytest.raises(TraceError, match="its key must be a word"):
        load_mapping(path)


@pytest.mark.parametrize(
    "value", ["!!int 10ms", "!!float abc", "!!timestamp foo", "!!bool yes", "!!map x", "!a b"]
)
def test_tags_are_rejected(tmp_path: Path, value: str) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(f"{HEAD}user: {value}\n")
    with pytest.raises(
        TraceError, match=r"mapping.yaml: is not YAML: .* is not a tag of a mapping"
    ):
        load_mapping(path)


@pytest.mark.parametrize("word", [r'"\U99999999"', r'"\ud800"'])
def test_invalid_characters(tmp_path: Path, word: str) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(f"{HEAD}user: {word}\n")
    with pytest.raises(TraceError, match=r"mapping.yaml: is not YAML: "):
        load_mapping(path)


def test_null_in_a_list_is_a_word(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(f"{HEAD}no_value: [NULL, Null, ~, '-', null]\n")
    assert load_mapping(path).no_value == ("NULL", "Null", "~", "-", "null")


def test_merged_keys_are_those_of_the_merged() -> None:
    text = "all: &all {a: yes, b: 2}\none:\n  <<: *all\n  b: no\n"
    assert load_text(text)["one"] == {"a": "yes", "b": "no"}


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXT, st.lists(TEXT)))
def test_written_text_is_preserved(document: dict[str, list[str]]) -> None:
    assert load_text(yaml.safe_dump(document)) == document
