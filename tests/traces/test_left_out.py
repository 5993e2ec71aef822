from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.traces.some_transactions import row, write
from traces.errors import TraceError
from traces.importers.base import NAMED_MAX, LeftOut
from traces.manifest import Manifest, Source, read_manifest


def test_guesses_are_counted_separately_and_named() -> None:
    left_out = LeftOut()
    left_out.bad("no user", 2, ["log:1: user is ''"])
    left_out.guess("time taken for the first", 9, [f"log:{line}" for line in range(9)])
    left_out.guess("nothing", 0, [])
    left_out.skip("views", 3, "log:7: a view")
    left_out.skip("views", 1, "log:9: another")
    assert left_out.counts == {"no user": 2, "views": 4}
    assert left_out.guessed == {"time taken for the first": 9}
    assert left_out.named["views"] == ["log:7: a view"]
    assert len(left_out.named["time taken for the first"]) == NAMED_MAX


def test_strict_rejects_a_guess() -> None:
    with pytest.raises(TraceError, match=r"^log:3: is local; .* leave out --strict to accept"):
        LeftOut(strict=True).guess("local", 1, ["log:3: is local"])


def test_the_manifest_has_the_guesses(tmp_path: Path) -> None:
    folder = write(tmp_path / "trace", [row(1)])
    path = folder / "trace.json"
    manifest = Manifest("t", Source("some", (), {"a": 1}, {"b": 2}), read_manifest(folder).types)
    path.write_text(manifest.to_json())
    assert read_manifest(folder) == manifest
    document = json.loads(manifest.to_json())
    document["source"]["guessed"] = {"b": "many"}
    path.write_text(json.dumps(document))
    with pytest.raises(TraceError, match=r"source\.guessed\.b: must be an integer"):
        read_manifest(folder)
    del document["source"]["guessed"]
    path.write_text(json.dumps(document))
    assert read_manifest(folder).source.guessed == {}
