"""Ctrl-C outside the search of a training."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.trainer.tiny_training import TINY
from trainer.command.main import heddle


def interrupted(*arguments: object, **named: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["build_backend", "Record", "remove_unfinished"])
def test_an_interrupt_before_the_search_shows_how_to_resume(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"trainer.command.train.{where}", interrupted)
    runs_dir = tmp_path / "a b"
    done = CliRunner().invoke(heddle, ["train", *TINY, f"runs_dir={runs_dir}"])
    assert done.exit_code == 130
    (folder,) = (path for path in runs_dir.iterdir() if path.name.startswith("20"))
    if where == "remove_unfinished":
        assert f"interrupted before {folder} was started" in done.output
    else:
        assert f"interrupted; resume with: heddle train 'resume={folder}'" in done.output
