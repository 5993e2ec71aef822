"""Integration: a tiny training with every search on the compiled engine, on virtual cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from policies import Encoding, build_seed, load
from tests.slow import some_slow
from tests.trainer.test_searches import small
from tests.trainer.tiny_training import TINY, run_of
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.search import SEARCHES

EVALUATE = (
    "workload=smallbank",
    "workload.accounts=1000",
    "workload.hot_accounts=10",
    "machine=virtual",
    "machine.cores=8",
    "run.seconds=0.001",
    "run.repeats=1",
    "run.warmup=0",
)


@pytest.mark.parametrize("name", some_slow(SEARCHES, {*SEARCHES} - {"evolution"}))
def test_every_search_trains(tmp_path: Path, name: str) -> None:
    sizes = [f"search.{key}={value}" for key, value in small(name).items()]
    chosen = [text for text in TINY if not text.startswith("search.")]
    chosen += ["workload=ycsb", "workload.records=1000", f"search={name}", *sizes]
    chosen += ["search.evaluations=36", "evaluation.rungs=[1]", f"runs_dir={tmp_path}/runs"]
    done = CliRunner().invoke(heddle, ["train", *chosen])
    assert done.exit_code == 0, done.output
    history = Checkpoint.load(run_of(tmp_path)).history
    assert len(history) >= 2
    assert history[-1].evaluations == 36
    assert max(record.best for record in history) > 0.0
    assert load(run_of(tmp_path) / "policy.json").provenance["search"] == name


@pytest.mark.slow
def test_every_search_schedules_a_fixed_policy(tmp_path: Path) -> None:
    chosen = [text for text in TINY if not text.startswith("search.")]
    chosen += ["experiment=schedule", *EVALUATE[:5], f"runs_dir={tmp_path}/runs"]
    chosen += ["search.base=ic3", "search.evaluations=24", "check.enabled=true"]
    done = CliRunner().invoke(heddle, ["train", *chosen])
    assert done.exit_code == 0, done.output
    learned = load(run_of(tmp_path) / "policy.json")
    ic3 = build_seed("ic3", learned.signature)
    assert (learned.cc, dict(learned.backoff)) == (ic3.cc, dict(ic3.backoff))
    state = Checkpoint.load(run_of(tmp_path))
    assert state.incumbents[-1].fitness > 0
    cells = Encoding(learned.signature, scheduled=True).schedule_cells
    assert len(state.incumbents[-1].vector) == cells.stop
    told = CliRunner().invoke(
        heddle, ["evaluate", f"policy={run_of(tmp_path)}/policy.json", *EVALUATE]
    )
    assert told.exit_code == 0, told.output
