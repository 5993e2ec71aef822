"""The machine underneath: what every result records of it, and what makes its figures doubtful."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from envs.control_groups import memory_groups, processor_quota
from envs.result import Machine

COUNTER_CLOCK = "tsc"
"""How Linux names the time-stamp counter among its clock sources."""

BUSY_OTHERS = 0.1
"""Others that use more than this of the cores disturb what is measured."""

SHORTEST_S = 0.05
"""Shorter runs do not show what others use: the kernel counts in hundredths of a second."""

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Host:
    """The machine, the system and the build that a result is from.

    Attributes:
        processor: its model.
        cores: that the process may use.
        cores_online: that the machine has.
        quota: processors whose whole time a control group allows; None: all.
        memory_bytes: of the machine.
        memory_limit_bytes: that a control group allows; None: all.
        kernel: name and release.
        clock: the kernel's clock source.
        compiler: of the engine.
        commit: of the sources, `+` behind it where they differ; "unknown" outside a repository.
        load: the mean number of running processes over the last minute, when this was asked.
    """

    processor: str = UNKNOWN
    cores: int = 0
    cores_online: int = 0
    quota: float | None = None
    memory_bytes: int = 0
    memory_limit_bytes: int | None = None
    kernel: str = UNKNOWN
    clock: str = UNKNOWN
    compiler: str = UNKNOWN
    commit: str = UNKNOWN
    load: float | None = None

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Host:
        """Read what `as_dict` gives; what is missing is not known."""
        return cls(**{name: source[name] for name in cls.__dataclass_fields__ if name in source})

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @property
    def words(self) -> str:
        """One line for people: processor, cores, memory, kernel."""
        parts = [self.processor, f"{self.cores} of {self.cores_online} cores"]
        if self.quota is not None:
            parts.append(f"a quota of {self.quota:g}")
        memory = f"{self.memory_bytes / 2**30:.1f} GiB"
        if self.memory_limit_bytes is not None:
            memory += f", limited to {self.memory_limit_bytes / 2**30:.1f} GiB"
        return ", ".join([*parts, memory, self.kernel])


def this_host() -> Host:
    """The machine that this runs on, with its load now."""
    now = {"cores": usable_cores(), "load": _load(), "compiler": _compiler()}
    return Host(**(asdict(_fixed()) | now))


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def local_machine(kind: str, cores: int) -> Machine:
    """The machine as results measured here name it.

    Args:
        kind: `threads` or `virtual`.
        cores: workers, one a core.
    """
    return Machine(kind, cores, usable_cores() if kind == "threads" else None)


def machine_warnings(machine: Machine, host: Host) -> list[str]:
    """What makes figures of real cores doubtful before they are measured, one sentence each.

    Args:
        machine: what is measured on.
        host: the machine underneath.
    """
    if machine.kind != "threads":
        return []
    found = []
    real = machine.real_cores
    if real is not None and machine.cores > real:
        found.append(
            f"{machine.cores} workers share {_counted(real, 'core')} and take turns: the figures "
            f"are not those of {machine.cores} cores; use machine.cores={real}, or simulate them "
            f"with machine=virtual machine.cores={machine.cores}"
        )
    if host.quota is not None and host.quota < min(machine.cores, host.cores):
        found.append(
            f"a control group allows this process {host.quota:g} processors' time (cpu.max), and "
            f"{_counted(min(machine.cores, host.cores), 'core')} would be used: all workers are "
            "stopped when it is spent; raise the quota or lower machine.cores"
        )
    if host.clock not in (COUNTER_CLOCK, UNKNOWN) and platform.machine() == "x86_64":
        found.append(
            f"the kernel's clock source is {host.clock}, not the time-stamp counter (tsc): the "
            "counters of different cores may differ, and so may times taken on them"
        )
    return found


def disturbance_warning(others: float | None, machine: Machine) -> str | None:
    """What others took of the cores while something was measured, if that is too much.

    Args:
        others: processors' time that other programs used.
        machine: what was measured on.
    """
    real = machine.real_cores
    if others is None or real is None or others < BUSY_OTHERS * real:
        return None
    return (
        f"other programs used {others:.1f} of {_counted(real, 'core')} meanwhile: the figures are "
        "lower than on an idle machine"
    )


class LoadMeter:
    """How much of the usable cores others use, from its making to `others`."""

    def __init__(self) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self._begin = self._sample()

    def others(self) -> float | None:
        """Processors' time used by other processes; None over too short a time, or unknown.

        Processes that this one has started and not waited for count as others.
        """
        begin, end = self._begin, self._sample()
        if begin is None or end is None or end[0] - begin[0] < SHORTEST_S:
            return None
        busy, own = end[1] - begin[1], end[2] - begin[2]
        return max(0.0, busy - own) / (end[0] - begin[0])

    def _sample(self) -> tuple[float, float, float] | None:
        """Time, busy time of the cores, and this process's own."""
        try:
            times = psutil.cpu_times(percpu=True)
        except (OSError, RuntimeError, psutil.Error):
            return None
        if not self._cores or self._cores[-1] >= len(times):
            return None  # some are off: they can't be told apart
        chosen = [times[core] for core in self._cores]
        # A guest's time is counted under user, too; stolen time is others' under a hypervisor.
        busy = sum(sum(one) - one.idle - one.iowait - one.guest - one.guest_nice for one in chosen)
        own = os.times()
        mine = own.user + own.system + own.children_user + own.children_system
        return time.monotonic(), busy, mine


@functools.cache
def _fixed() -> Host:
    groups = memory_groups()
    return Host(
        processor=_processor(),
        cores=usable_cores(),
        cores_online=os.cpu_count() or 0,
        quota=processor_quota(),
        memory_bytes=psutil.virtual_memory().total,
        memory_limit_bytes=min((group.limit for group in groups), default=None),
        kernel=f"{platform.system()} {platform.release()}",
        clock=_text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        commit=_commit(),
    )


def _compiler() -> str:
    try:
        import engine
    except ImportError:
        return UNKNOWN
    return str(getattr(engine, "compiler", UNKNOWN))


def _commit() -> str:
    """Of the sources that this file lies in, if they are a repository's."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return UNKNOWN
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--match="],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return found.stdout.strip() or UNKNOWN


def _processor() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or UNKNOWN


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return UNKNOWN


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
