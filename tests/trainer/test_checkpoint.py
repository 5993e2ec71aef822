from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest

from trainer.checkpoint import (
    FILE_NAME,
    Checkpoint,
    CheckpointError,
    GenerationRecord,
    WritingError,
    best_curve,
    remove_unfinished,
    write_atomically,
)

RECORD = GenerationRecord(1, 40, 100, 12.5, 1.1, 0.9, 0.2, "occ")
STATE = Checkpoint(2.0, {"a": [1], "é": None}, [], [RECORD], 40, 100, 1 / 3, "run", {"seed": "1"})


def test_a_saved_checkpoint_is_loaded(tmp_path: Path) -> None:
    STATE.save(tmp_path)
    assert Checkpoint.load(tmp_path) == STATE
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_generations_of_earlier_versions_show_their_own_best() -> None:
    assert RECORD.estimate == RECORD.best
    assert replace(RECORD, incumbent=1.3).estimate == 1.3
    before = asdict(RECORD)
    for name in ("incumbent", "samples", "best_so_far"):
        del before[name]
    assert GenerationRecord.from_json(before) == RECORD
    assert GenerationRecord.from_json(before | {"so_far": 1.3}) == replace(RECORD, incumbent=1.3)


def test_the_best_never_decreases() -> None:
    estimates = [1.955, 1.272, 1.4]
    history = [replace(RECORD, incumbent=one, samples=3) for one in estimates]
    assert best_curve(history) == [1.955, 1.955, 1.955]  # of a version without the best value
    noted = [1.2, 1.2, 1.35]
    history = [replace(one, best_so_far=at) for one, at in zip(history, noted, strict=True)]
    assert best_curve(history) == noted
    assert history[1].incumbent_words == "1.272 (3 samples)"
    assert replace(history[1], samples=1).incumbent_words == "1.272 (1 sample)"


def test_a_missing_checkpoint_is_empty(tmp_path: Path) -> None:
    assert Checkpoint.load(tmp_path) == Checkpoint()


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.load(folder)
    message = str(caught.value)
    assert message.startswith(str(folder / FILE_NAME))
    assert "start a new run" in message
    assert len(message) < len(str(folder)) + 300
    return message


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\0", b"{", b"[]", b"{}", b"null", b"1e999", b"\xff\xfe", b"[" * 100_000),
        *(b'{"schema_version": 4}', b'{"schema_version": 5, "state": 1, "digest": "0"}'),
        b'{"schema_version": 5, "state": {"seconds": ' + b"9" * 5000 + b"}}",
    ],
)
def test_an_invalid_checkpoint_is_reported(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(data)
    assert "is damaged" in refusal(tmp_path)


@pytest.mark.parametrize("version", [1, 2, 3, "4", None, True, "x" * 1000])
def test_a_checkpoint_of_another_version_is_reported(tmp_path: Path, version: object) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps({"schema_version": version}))
    assert "resume it with that version, or start a new run" in refusal(tmp_path)


def test_an_unreadable_checkpoint_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    assert "Is a directory" in refusal(tmp_path)
    (tmp_path / FILE_NAME).rmdir()
    (tmp_path / FILE_NAME).symlink_to(FILE_NAME)
    assert "symbolic links" in refusal(tmp_path)


def test_a_truncated_checkpoint_is_refused(tmp_path: Path) -> None:
    STATE.save(tmp_path)
    data = (tmp_path / FILE_NAME).read_bytes()
    for length in range(len(data)):
        (tmp_path / FILE_NAME).write_bytes(data[:length])
        refusal(tmp_path)


def test_a_checkpoint_with_a_flipped_bit_is_refused_or_equal(tmp_path: Path) -> None:
    """A changed digit is still valid JSON, but would continue a different search."""
    STATE.save(tmp_path)
    data = (tmp_path / FILE_NAME).read_bytes()
    random, refused = Random(1), 0
    for place in range(len(data)):
        turned = bytearray(data)
        turned[place] ^= 1 << random.randrange(8)
        (tmp_path / FILE_NAME).write_bytes(turned)
        try:
            assert Checkpoint.load(tmp_path) == STATE
        except CheckpointError:
            refused += 1
    assert refused > 0.9 * len(data)


def test_only_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    STATE.save(tmp_path)
    for name in (f".{FILE_NAME}.77.tmp", ".0123456789abcdef.tmp", ".lock", "policy.json"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {FILE_NAME, ".lock", "policy.json"}


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("trainer.checkpoint.os.fsync", full)
    with pytest.raises(WritingError, match=r"file: can.t be written: No space left.*; free"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert (tmp_path / "link").is_symlink()
