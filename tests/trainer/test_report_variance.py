"""The section on the variance of latency, of a run on the real engine."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from envs import Evaluator
from policies import build_seed
from trainer.command.settings import compose_settings
from trainer.config import ReportVarianceConfig, TrainConfig
from trainer.outcome import LEARNED
from trainer.report.recording import NoRecordingError
from trainer.report.saved_run import SavedScenario
from trainer.report.variance import variance_view

SHORT = ReportVarianceConfig(seconds=0.001, warmup=0.0005)


@pytest.fixture(scope="module")
def scenario() -> SavedScenario:
    config = compose_settings("train", ["machine=virtual", "machine.cores=4"], TrainConfig)
    return SavedScenario("", asdict(config), None, None)


@pytest.mark.slow
def test_the_section_has_both_policies_and_their_trees(scenario: SavedScenario) -> None:
    evaluator = Evaluator({"name": "tpcc"}, 1, machine={"kind": "virtual"})
    ic3 = build_seed("ic3", evaluator.signature)
    evaluator.close()
    view = variance_view(scenario, "two_phase_locking", None, (LEARNED, ic3), SHORT, "v0")
    by_type = {(row.type, row.policy) for row in view.rows}
    assert len(by_type) == len(view.rows) >= 4
    assert {name for name, _ in by_type} >= {"new_order", "payment"}
    assert len({policy for _, policy in by_type}) == 2
    assert all(float(row.mean.replace(",", "")) > 0 for row in view.rows)
    assert any("waits for" in factor for row in view.rows for factor in row.factors)
    assert any(change.startswith("payment: ") for change in view.changes)
    assert view.svg.startswith("<svg")
    assert "4 virtual cores" in view.note


def test_a_run_whose_settings_are_damaged_has_no_section(scenario: SavedScenario) -> None:
    damaged = replace(scenario, settings={**scenario.settings, "seed": -1})
    evaluator = Evaluator({"name": "tpcc"}, 1, machine={"kind": "virtual"})
    ic3 = build_seed("ic3", evaluator.signature)
    evaluator.close()
    with pytest.raises(NoRecordingError, match="-1 is not a seed"):
        variance_view(damaged, "silo", None, (LEARNED, ic3), SHORT, "v0")
