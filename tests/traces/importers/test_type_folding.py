"""Logs with a type for each URL: a hint, patterns that fold them, and fast look-ups."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from traces.command import trace
from traces.errors import TraceError
from traces.importers.type_folding import MANY_TYPES, TypeFolding, many_types_hint
from traces.importers.words import WORDS_MAX
from traces.reader import open_trace
from traces.validation import first_fault

MAPPING = """
time: {column: t, format: epoch}
session: s
type: url
gap_ms: 10
"""


def run(folder: Path, urls: list[str], *options: str) -> Result:
    """Import a log with one request for each URL into the folder `trace`."""
    (folder / "m.yaml").write_text(MAPPING)
    rows = [f"{number},s,{url}" for number, url in enumerate(urls)]
    (folder / "log.csv").write_text("\n".join(["t,s,url", *rows]))
    words = ["import", "-f", "access-log", "--mapping", str(folder / "m.yaml"), *options]
    return CliRunner().invoke(trace, [*words, str(folder / "log.csv"), str(folder / "trace")])


@pytest.mark.parametrize(
    ("patterns", "names", "folded"),
    [
        ([], ["/a/1", "/a/2"], ["/a/1", "/a/2"]),
        (["[0-9]+"], ["/a/1", None, "/a/22/b/3"], ["/a/*", None, "/a/*/b/*"]),
        (
            [r"\?.*", "[0-9a-f]{8}-[-0-9a-f]{27}"],
            ["/a?b=1", "/c/" + "0" * 8 + "-" + "1" * 27],
            ["/a*", "/c/*"],
        ),
        (["(?<=/user/)[^/]+"], ["/user/ann/x", "/user/bob"], ["/user/*/x", "/user/*"]),
        (["(?i)ÄÖ"], ["/äö"], ["/*"]),
    ],
)
def test_matches_of_patterns_are_folded(
    patterns: list[str], names: list[str | None], folded: list[str | None]
) -> None:
    assert TypeFolding(patterns).fold(pa.array(names)).to_pylist() == folded


def test_folded_types_are_one(tmp_path: Path) -> None:
    done = run(tmp_path, ["/user/1", "/user/2", "/buy"], "--fold-types", "[0-9]+")
    assert done.exit_code == 0
    assert [one.name for one in open_trace(tmp_path / "trace").manifest.types] == [
        "/user/*",
        "/buy",
    ]
    assert "hint" not in done.stderr


def test_an_invalid_pattern(tmp_path: Path) -> None:
    done = run(tmp_path, ["/a"], "--fold-types", "[0-9")
    assert done.exit_code == 2
    assert "--fold-types [0-9: is not a regular expression: " in done.stderr
    with pytest.raises(TraceError, match=r"\*a: is not a regular expression"):
        TypeFolding(["a", "*a"])


def test_a_hint_for_very_many_types(tmp_path: Path) -> None:
    done = run(tmp_path, [f"/user/{number}/{number % 2}x" for number in range(MANY_TYPES)])
    assert done.exit_code == 0
    assert f"hint: the log has {MANY_TYPES:,} types, such as '/user/0/0x'" in done.stderr
    assert "--fold-types '[0-9]+' leaves 1\n" in done.stderr
    assert many_types_hint([str(number) for number in range(MANY_TYPES - 1)]) is None


def test_more_types_than_a_trace_can_number(tmp_path: Path) -> None:
    done = run(tmp_path, [str(number) for number in range(WORDS_MAX + 1)])
    assert done.exit_code == 2
    assert "type: the log has more than 32767 different values" in done.stderr
    assert "--fold-types" in done.stderr


class _Names(list[str]):
    """Names of types that fail the test if they are searched linearly."""

    def __contains__(self, name: object) -> bool:
        raise AssertionError("searched from its beginning for every word")


def test_names_are_not_searched_linearly() -> None:
    words = pa.array(["a", "b"]).dictionary_encode()
    batch = pa.record_batch({"type": words.cast(pa.dictionary(pa.int16(), pa.string()))})
    assert first_fault(batch, _Names(["b", "a"])) is None
    assert first_fault(batch, _Names(["b"])) is not None
