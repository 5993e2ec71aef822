"""Integration: a tiny training by every search on the compiled engine, on virtual cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from policies import load
from tests.trainer.test_searches import SMALL
from tests.trainer.tiny_training import TINY, run_of
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle


@pytest.mark.parametrize("name", SMALL)
def test_it_trains(tmp_path: Path, name: str) -> None:
    small = [f"search.{key}={value}" for key, value in SMALL[name].items()]
    chosen = [text for text in TINY if not text.startswith("search.")]
    chosen += ["workload=ycsb", "workload.records=1000", f"search={name}", *small]
    chosen += ["search.evaluations=18", "evaluation.looks=[1]", f"runs_dir={tmp_path}/runs"]
    done = CliRunner().invoke(heddle, ["train", *chosen])
    assert done.exit_code == 0, done.output
    history = Checkpoint.load(run_of(tmp_path)).history
    assert len(history) >= 2
    assert history[-1].evaluations == 18
    assert max(record.best for record in history) > 0.0
    assert load(run_of(tmp_path) / "policy.json").provenance["search"] == name
