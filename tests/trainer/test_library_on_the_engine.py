"""Integration: a bundled table reaches its recorded score on the compiled engine."""

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
"""A measurement without `silo_tuned`, with the shortest possible sweep."""


@pytest.mark.parametrize(
    ("baselines", "changed"),
    [
        (("silo",), BRIEF),
        # A few baselines represent all of them, to save time.
        pytest.param(("silo", "silo_tuned"), {"run": {"repeats": 2}}, marks=pytest.mark.full),
    ],
    ids=["brief", "as-recorded"],
)
@pytest.mark.slow
def test_the_engine_reproduces_recorded_scores(
    baselines: tuple[str, ...], changed: dict[str, dict[str, float]], tmp_path: Path
) -> None:
    """A better score would also show that the engine has changed.

    Two repeats instead of the recorded five change a score by about a percent.
    """
    document = json.loads(library_path(NAME).read_text(encoding="utf-8"))
    provenance = document["provenance"]
    provenance["scores"] = {name: provenance["scores"][name] for name in baselines}
    measured = provenance["library"]["measured"]
    measured["baselines"] = list(baselines)
    for part, settings in changed.items():
        measured[part] |= settings
    table, found = tmp_path / f"{NAME}.json", tmp_path / "found.json"
    table.write_text(json.dumps(document), encoding="utf-8")
    done = CliRunner().invoke(heddle, ["policy", "verify", str(table), "--json", str(found)])
    assert done.exit_code == 0, done.output
    (verified,) = json.loads(found.read_text(encoding="utf-8"))["tables"]
    assert verified["recorded"].keys() == set(baselines)
    assert verified["measured"] == pytest.approx(verified["recorded"], rel=0.05)
