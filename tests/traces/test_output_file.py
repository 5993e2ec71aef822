from __future__ import annotations

import os
from pathlib import Path

import pytest

from traces.atomic_file import replaced_atomically
from traces.errors import TraceError
from traces.output_file import refuse_bad_output


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    """Otherwise a command that runs as root would replace `/dev/null`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(TraceError, match=r"--json .*/pipe: is a device or a pipe; name a file"):
        refuse_bad_output(pipe, "--json")
    with pytest.raises(FileExistsError, match="is not a regular file"), replaced_atomically(pipe):
        pass
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    with replaced_atomically(link) as beside:
        beside.write_text("whole")
    assert link.is_symlink()
    assert target.read_text() == "whole"
