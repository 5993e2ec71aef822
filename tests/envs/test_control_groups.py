"""Limits of control groups, read from trees in the kernel's layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from envs.control_groups import memory_groups, processor_quota


def process(folder: Path, groups: str, *mounts: str) -> Path:
    """Make a process's folder; `{}` in a mount is the path of the hierarchies."""
    proc = folder / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(groups)
    lines = (f"30 20 0:1 {mount.format(folder)}\n" for mount in mounts)
    (proc / "mountinfo").write_text("".join(lines))
    return proc


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


UNIFIED = "/ {}/fs rw - cgroup2 cgroup2 rw"


@pytest.mark.parametrize(
    ("own", "above", "quota"),
    [
        ("50000 100000", "max 100000", 0.5),
        ("max 100000", "150000 100000", 1.5),
        ("200000 100000", "100000 100000", 1.0),
        ("max 100000", "max 100000", None),
        ("", "broken", None),
    ],
)
def test_the_tightest_quota_of_processors_holds(
    tmp_path: Path, own: str, above: str, quota: float | None
) -> None:
    proc = process(tmp_path, "0::/slice/job\n", UNIFIED)
    write(tmp_path / "fs/slice/job/cpu.max", f"{own}\n")
    write(tmp_path / "fs/slice/cpu.max", f"{above}\n")
    assert processor_quota(proc) == quota


def test_a_quota_of_version_1_within_a_container(tmp_path: Path) -> None:
    """The mount shows the container's subtree, but the path begins at the root of the hierarchy."""
    proc = process(
        tmp_path,
        "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n",
        "/docker/abc {}/cpu rw - cgroup cgroup rw,cpu,cpuacct",
        "/docker/abc {}/memory rw - cgroup cgroup rw,memory",
    )
    write(tmp_path / "cpu/cpu.cfs_quota_us", "25000\n")
    write(tmp_path / "cpu/cpu.cfs_period_us", "100000\n")
    write(tmp_path / "memory/memory.limit_in_bytes", f"{512 << 20}\n")
    assert processor_quota(proc) == 0.25
    (group,) = memory_groups(proc)
    assert group.limit == 512 << 20


def test_reclaimable_cache_is_not_used_memory(tmp_path: Path) -> None:
    proc = process(tmp_path, "0::/job\n", UNIFIED)
    write(tmp_path / "fs/job/memory.max", f"{1000}\n")
    write(tmp_path / "fs/job/memory.current", "900\n")
    write(tmp_path / "fs/job/memory.stat", "anon 500\ninactive_file 300\n")
    (group,) = memory_groups(proc)
    assert group.left == 400


def test_without_files_there_is_no_limit(tmp_path: Path) -> None:
    assert processor_quota(tmp_path / "gone") is None
    assert memory_groups(tmp_path / "gone") == []
    proc = process(tmp_path, "0::/\n", UNIFIED)
    write(tmp_path / "fs/memory.limit_in_bytes", "9223372036854771712\n")
    assert memory_groups(proc) == []
