"""Describe the machine that results are from, and warn where its figures are doubtful."""

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
"""Linux's name of the time-stamp counter as a clock source."""

BUSY_OTHERS = 0.1
"""Share of the cores from which the load of other programs is worth a warning."""

SHORTEST_S = 0.05
"""Shortest run, in seconds, whose load can be measured. The kernel counts hundredths of seconds."""

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Host:
    """The machine, the system and the build that a result is from.

    Attributes:
        processor: model of the processor.
        cores: number of cores that the process may use.
        cores_online: number of cores of the machine.
        quota: processor time that a control group allows, in processors; None without a limit.
        memory_bytes: memory of the machine.
        memory_limit_bytes: memory that a control group allows; None without a limit.
        kernel: name and release of the kernel.
        clock: clock source of the kernel.
        compiler: compiler of the engine.
        commit: commit of the sources, followed by `+` if they are modified; "unknown" outside a
            repository.
        load: mean number of running processes over the last minute.
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
        """Read the JSON values that `as_dict` returns. Missing ones are unknown."""
        return cls(**{name: source[name] for name in cls.__dataclass_fields__ if name in source})

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON values."""
        return asdict(self)

    @property
    def words(self) -> str:
        """Processor, cores, memory and kernel in one line of text."""
        parts = [self.processor, f"{self.cores} of {self.cores_online} cores"]
        if self.quota is not None:
            parts.append(f"a quota of {self.quota:g}")
        memory = f"{self.memory_bytes / 2**30:.1f} GiB"
        if self.memory_limit_bytes is not None:
            memory += f", limited to {self.memory_limit_bytes / 2**30:.1f} GiB"
        return ", ".join([*parts, memory, self.kernel])


def this_host() -> Host:
    """Return the machine that this process runs on, with its current load."""
    now = {"cores": usable_cores(), "load": _load(), "compiler": _compiler()}
    return Host(**(asdict(_fixed()) | now))


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def local_machine(kind: str, cores: int) -> Machine:
    """Return the machine that results measured on this host name.

    Args:
        kind: `threads` or `virtual`.
        cores: number of workers, one per core.
    """
    return Machine(kind, cores, usable_cores() if kind == "threads" else None)


def machine_warnings(machine: Machine, host: Host, takes_turns: bool = True) -> list[str]:
    """Return the reasons to doubt figures of real cores before a run, one sentence each.

    Args:
        machine: the machine that the run uses.
        host: the machine and system that it runs on.
        takes_turns: whether workers beyond the number of cores take turns. Those of external stores
            don't, because they wait most of the time.
    """
    if machine.kind != "threads":
        return []
    found = []
    real = machine.real_cores
    if takes_turns and real is not None and machine.cores > real:
        found.append(
            f"{machine.cores} workers share {_counted(real, 'core')} and take turns: the figures "
            f"are not those of {machine.cores} cores; use machine.cores={real}, or simulate them "
            f"with machine=virtual machine.cores={machine.cores}"
        )
    if host.quota is not None and host.quota < min(machine.cores, host.cores):
        found.append(
            f"a control group limits this process to {host.quota:g} processors (cpu.max), and the "
            f"run uses {_counted(min(machine.cores, host.cores), 'core')}: all workers stop when "
            "the quota is used up; raise the quota or lower machine.cores"
        )
    if host.clock not in (COUNTER_CLOCK, UNKNOWN) and platform.machine() == "x86_64":
        found.append(
            f"the kernel's clock source is {host.clock}, not the time-stamp counter (tsc): the "
            "counters of the cores may differ, and measured times with them"
        )
    return found


def disturbance_warning(others: float | None, machine: Machine) -> str | None:
    """Return a warning if other programs used too much of the cores during a run, else None.

    Args:
        others: cores that other programs used on average; None if unknown.
        machine: the machine of the run.
    """
    real = machine.real_cores
    if others is None or real is None or others < BUSY_OTHERS * real:
        return None
    return (
        f"other programs used {others:.1f} of {_counted(real, 'core')} during the run: the figures "
        "are lower than on an idle machine"
    )


class LoadMeter:
    """Measures the load of other programs on the usable cores since its construction."""

    def __init__(self) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self._begin = self._sample()

    def others(self) -> float | None:
        """Return how many cores other processes used on average, since the construction.

        None if the time is too short or the load is unknown. Descendants of this process, such as
        the server of an external store, are not others.
        """
        begin, end = self._begin, self._sample()
        if begin is None or end is None or end[0] - begin[0] < SHORTEST_S:
            return None
        busy, own = end[1] - begin[1], end[2] - begin[2]
        return max(0.0, busy - own) / (end[0] - begin[0])

    def _sample(self) -> tuple[float, float, float] | None:
        """Return the time, the busy time of the cores, and this process's own, in seconds.

        That of its descendants is its own as well.
        """
        try:
            times = psutil.cpu_times(percpu=True)
        except (OSError, RuntimeError, psutil.Error):
            return None
        if not self._cores or self._cores[-1] >= len(times):
            return None  # cores are offline, so the list is not indexed by core
        chosen = [times[core] for core in self._cores]
        # A guest's time is also counted under user. Stolen time is the load of other guests.
        busy = sum(sum(t) - t.idle - t.iowait - t.guest - t.guest_nice for t in chosen)
        process = psutil.Process()
        own = sum(map(_processor_seconds, [process, *process.children(recursive=True)]))
        return time.monotonic(), busy, own


def _processor_seconds(process: psutil.Process) -> float:
    """Return what a process has used, with its children that have ended; 0 if it has ended."""
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.Error:
        return 0.0


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
    """Return the commit of the repository that contains this file, or "unknown"."""
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
