"""Integration: a table that is shipped does on the compiled engine what its file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policies.shipped import library_path
from trainer.command.main import heddle

NAME = "tpcc_1_warehouse_16_virtual_cores"


BRIEF = {
    "run": {"repeats": 1},
    "tuning": {
        "slice_seconds": 0.0005,
        "warmup_seconds": 0.0001,
        "rounds": 1,
        "finalists": 1,
        "final_rounds": 1,
        "final_slices": 1,
    },
}
"""A measurement without `silo_tuned`, so that its sweep may be as brief as it gets."""


@pytest.mark.parametrize(
    ("beside", "changed"),
    [
        (("silo",), BRIEF),
        # These stand for all baselines, each of which takes its time.
        pytest.param(("silo", "silo_tuned"), {"run": {"repeats": 2}}, marks=pytest.mark.full),
    ],
    ids=["brief", "as-recorded"],
)
def test_the_engine_reproduces_recorded_scores(
    beside: tuple[str, ...], changed: dict[str, dict[str, float]], tmp_path: Path
) -> None:
    """In either direction: a table that gained as much would be an engine that changed, too.

    Two repeats of the five that were recorded are a percent off.
    """
    document = json.loads(library_path(NAME).read_text(encoding="utf-8"))
    provenance = document["provenance"]
    provenance["scores"] = {name: provenance["scores"][name] for name in beside}
    measured = provenance["library"]["measured"]
    measured["baselines"] = list(beside)
    for part, settings in changed.items():
        measured[part] |= settings
    table, found = tmp_path / f"{NAME}.json", tmp_path / "found.json"
    table.write_text(json.dumps(document), encoding="utf-8")
    done = CliRunner().invoke(heddle, ["policy", "verify", str(table), "--json", str(found)])
    assert done.exit_code == 0, done.output
    (verified,) = json.loads(found.read_text(encoding="utf-8"))["tables"]
    assert verified["recorded"].keys() == set(beside)
    assert verified["measured"] == pytest.approx(verified["recorded"], rel=0.05)
