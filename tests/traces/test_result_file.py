"""Result files and JSON output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from traces.errors import TraceError
from traces.result_file import csv_text, file_text, named_output

ROWS = [
    {"policy": "silo", "latency": {"pay, now": {"p50": 1.5}}, "low_high": [1, 2], "repeats": [{}]},
    {"policy": 'a,"b"\njürgen \udcff', "latency": {"x": {"p50": None}}, "extra": True},
]


def test_the_ending_determines_the_format() -> None:
    document = {"results": ROWS}
    assert json.loads(file_text(Path("o.json"), document, ROWS)) == document
    assert file_text(Path("o"), document, ROWS) == file_text(Path("o.json"), document, ROWS)
    for name in ("o.csv", "O.CSV"):
        assert file_text(Path(name), document, ROWS).startswith("policy,")
    file_text(Path("o.json"), document, ROWS).encode()


def test_csv_has_all_fields_of_all_rows() -> None:
    first, second = csv.DictReader(io.StringIO(csv_text(ROWS)))
    assert first == {
        "policy": "silo",
        "latency.pay, now.p50": "1.5",
        "low_high.0": "1",
        "low_high.1": "2",
        "latency.x.p50": "",
        "extra": "",
    }
    assert second["policy"] == ROWS[1]["policy"]
    assert second["extra"] == "True"


def test_a_file_is_named_once() -> None:
    assert named_output([], None) is None
    assert named_output(["output=a=b.csv"], None) == Path("a=b.csv")
    assert named_output([], None, Path("x")) == Path("x")
    for words, option in ((["output=a"], Path("b")), (["output=a", "output=b"], None)):
        with pytest.raises(TraceError, match="the output is already a; name one file"):
            named_output(words, option)
    for word in ("a.json", "output=", "out=a"):
        with pytest.raises(TraceError, match=f"{word}: is not output=FILE or an option"):
            named_output([word])
