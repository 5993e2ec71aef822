"""A run whose backend can't be started, is lost, or waits for machines."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from tests.trainer.fake_run import make_training, settings
from trainer.checkpoint import Checkpoint
from trainer.command.main import heddle
from trainer.evaluation import BackendError, backend
from trainer.evaluation.in_process import InProcess

QUICK = ["mlflow.enabled=false", "tuning.rounds=1", "tuning.final_rounds=1", "search.generations=2"]


@pytest.fixture(autouse=True)
def elsewhere(fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lost(*arguments: Any, **named: Any) -> None:
    raise BackendError("every machine is gone")


@pytest.mark.parametrize("when", ["it starts", "it measures"])
@pytest.mark.slow
def test_the_cause_of_a_lost_backend_is_shown_with_how_to_resume(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(backend.BACKENDS, "ray", lost if when == "it starts" else InProcess)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InProcess, "evaluate", lost)
        done = CliRunner().invoke(heddle, ["train", *QUICK], catch_exceptions=False)
    (folder,) = Path("runs").glob("*seed*")
    assert done.exit_code == 1
    wanted = f"error: every machine is gone\nThen resume with: heddle train resume={folder}\n"
    assert done.output.endswith(wanted)
    monkeypatch.setitem(backend.BACKENDS, "ray", InProcess)
    again = CliRunner().invoke(heddle, ["train", f"resume={folder}"], catch_exceptions=False)
    assert again.exit_code == 0, again.output


def test_ctrl_c_while_the_backend_starts_shows_how_to_resume(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*arguments: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(backend.BACKENDS, "ray", interrupted)
    done = CliRunner().invoke(heddle, ["train", *QUICK], catch_exceptions=False)
    (folder,) = Path("runs").glob("*seed*")
    assert done.exit_code == 130
    assert f"resume with: heddle train resume={folder}" in done.output


def test_time_without_a_machine_does_not_count_for_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With waits of 1000 s for each call, the search must not count the waits."""
    training = make_training(settings(2), tmp_path / "run")
    measure = InProcess.evaluate

    def after_waiting(self: InProcess, *arguments: Any, **named: Any) -> Any:
        self.waited_s += 1000.0
        return measure(self, *arguments, **named)

    monkeypatch.setattr(InProcess, "evaluate", after_waiting)
    training.run()
    rungs = len(settings(2).evaluation.rungs)
    for record in Checkpoint.load(tmp_path / "run").history:
        waited = 1000.0 * rungs * record.generation
        assert -waited < record.seconds < 600.0 - waited
