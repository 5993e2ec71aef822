"""Read the Linux control groups that limit this process's processor time and memory.

Both versions of the interface are read (`cgroups(7)`). Every group up to the root counts, because
the lowest limit applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNLIMITED_BYTES = 1 << 60
"""Limits from this size on are none. Version 1 writes a number near 2⁶³ for no limit."""

PROC = Path("/proc/self")


@dataclass(frozen=True)
class MemoryGroup:
    """A control group that limits memory.

    Attributes:
        usage_file: file with the bytes that the group uses.
        stat_file: file whose line `inactive_file N` says how many of them are cache.
        limit: limit in bytes.
    """

    usage_file: Path
    stat_file: Path
    limit: int

    @property
    def left(self) -> int:
        """Bytes that the group may still take; the whole limit if its use cannot be read."""
        used = _number(self.usage_file) or 0
        for line in (_text(self.stat_file) or "").splitlines():
            name, _, number = line.partition(" ")
            if name == "inactive_file" and number.isdigit():
                used -= int(number)
        return max(0, self.limit - max(0, used))


def processor_quota(proc: Path = PROC) -> float | None:
    """Return the processor time that the groups allow, in processors; None without a limit.

    Args:
        proc: the folder of the process in `/proc`.
    """
    quotas = [
        quota
        for folder in _folders("cpu", proc)
        if (quota := _quota_of(folder)) is not None and quota > 0
    ]
    return min(quotas, default=None)


def memory_groups(proc: Path = PROC) -> list[MemoryGroup]:
    """Return the groups that limit memory, from the process's own group to the root.

    Args:
        proc: the folder of the process in `/proc`.
    """
    found = []
    for folder in _folders("memory", proc):
        for limit_name, usage_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit = _number(folder / limit_name)
            if limit is not None and limit < UNLIMITED_BYTES:
                found.append(MemoryGroup(folder / usage_name, folder / "memory.stat", limit))
    return found


def _quota_of(folder: Path) -> float | None:
    unified = (_text(folder / "cpu.max") or "").split()
    if len(unified) == 2 and all(word.isdigit() for word in unified):
        return int(unified[0]) / max(1, int(unified[1]))
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and period else None


def _folders(controller: str, proc: Path) -> Iterator[Path]:
    """Yield the process's group and its parents in every hierarchy with the controller."""
    groups = dict(_groups(proc))
    for root, mount, kind, controllers in _mounts(proc):
        if kind == "cgroup" and controller in controllers:
            group = groups.get(controller)
        elif kind == "cgroup2":
            group = groups.get("")
        else:
            continue
        if group is None:
            continue
        # In a container the mount may show a part of the hierarchy only.
        below = Path(group.removeprefix(root) if root != "/" else group)
        folder = mount / str(below).lstrip("/")
        while folder != mount and mount in folder.parents:
            yield folder
            folder = folder.parent
        yield mount


def _groups(proc: Path) -> Iterator[tuple[str, str]]:
    """Yield the process's group by controller. Version 2 has the empty name."""
    for line in (_text(proc / "cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            if controller or number == "0":
                yield controller, path


def _mounts(proc: Path) -> Iterator[tuple[str, Path, str, list[str]]]:
    """Yield the root, mount point, type and options of every mounted hierarchy."""
    for line in (_text(proc / "mountinfo") or "").splitlines():
        before, dash, after = line.partition(" - ")
        fields, last = before.split(), after.split()
        if dash and len(fields) > 4 and len(last) > 2 and last[0].startswith("cgroup"):
            yield fields[3], Path(fields[4]), last[0], last[2].split(",")


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
