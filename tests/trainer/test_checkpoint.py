from __future__ import annotations

from pathlib import Path

import pytest

from trainer.checkpoint import (
    FILE_NAME,
    Checkpoint,
    CheckpointError,
    GenerationRecord,
    write_atomically,
)

RECORD = GenerationRecord(1, 40, 100, 12.5, 1.1, 0.9, 0.2, "occ")


def test_it_comes_back_whole(tmp_path: Path) -> None:
    state = Checkpoint(2.0, {"a": [1]}, [], [RECORD], 40, 100, 12.5, "run")
    state.save(tmp_path)
    assert Checkpoint.load(tmp_path) == state
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_none_yet_is_an_empty_one(tmp_path: Path) -> None:
    assert Checkpoint.load(tmp_path) == Checkpoint()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema_version": 1}', '{"schema_version": 2, "x": 1}']
)
def test_a_damaged_one_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(CheckpointError, match=r"checkpoint\.json"):
        Checkpoint.load(tmp_path)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("trainer.checkpoint.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
