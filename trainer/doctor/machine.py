"""The machine: cores, processor time, clock, memory, load."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import psutil

from envs.control_groups import memory_groups
from envs.host import COUNTER_CLOCK, UNKNOWN, Host, this_host
from trainer.doctor.finding import Finding, gibibytes

CALIBRATION_BYTES = 3 << 30
"""Memory that `heddle machine calibrate` takes."""

BUSY_SHARE = 0.5
"""A load of more than this share of the cores disturbs measurements of real cores."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def examine_machine(host: Host | None = None, huge_pages: Path = HUGE_PAGES) -> Iterator[Finding]:
    """Examine the machine.

    Args:
        host: the machine; None: this one.
        huge_pages: the kernel's file of the mode of transparent huge pages.
    """
    host = host or this_host()
    yield _cores(host)
    yield _quota(host)
    yield _clock(host)
    yield _memory(host)
    yield _huge_pages(huge_pages)
    yield _load(host)


def _cores(host: Host) -> Finding:
    found = f"{host.processor}, {host.cores} of {host.cores_online} usable"
    if host.cores == 1:
        return Finding(
            "cores",
            found,
            "one real core shows no conflicts between transactions",
            "machine=virtual simulates more cores",
        )
    return Finding("cores", found)


def _quota(host: Host) -> Finding:
    if host.quota is None:
        return Finding("processor time", "no quota")
    found = f"a quota of {host.quota:g} processors (cpu.max)"
    if host.quota >= host.cores:
        return Finding("processor time", found)
    return Finding(
        "processor time",
        found,
        f"figures of {host.cores} real cores are doubtful, and heddle machine calibrate refuses",
        f"raise the quota, or use machine.cores={max(1, int(host.quota))} or machine=virtual",
    )


def _clock(host: Host) -> Finding:
    if host.clock in (COUNTER_CLOCK, UNKNOWN) or platform.machine() != "x86_64":
        return Finding("clock source", host.clock)
    return Finding(
        "clock source",
        host.clock,
        "counters of different cores may differ, and so may latencies of real cores",
        "boot with clocksource=tsc if the processor's counter is reliable",
    )


def _memory(host: Host) -> Finding:
    left = min([psutil.virtual_memory().available, *(group.left for group in memory_groups())])
    found = f"{gibibytes(left)} of {gibibytes(host.memory_bytes)} available"
    if host.memory_limit_bytes is not None:
        found += f", limited to {gibibytes(host.memory_limit_bytes)}"
    if left < CALIBRATION_BYTES:
        return Finding(
            "memory",
            found,
            f"heddle machine calibrate needs {gibibytes(CALIBRATION_BYTES)}",
            "end other programs or raise the limit",
        )
    return Finding("memory", found)


def _huge_pages(path: Path) -> Finding:
    try:
        modes = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return Finding("huge pages", UNKNOWN)
    chosen = next((mode.strip("[]") for mode in modes if mode.startswith("[")), UNKNOWN)
    if chosen == "never":
        return Finding(
            "huge pages",
            chosen,
            "databases on real cores are up to twice as slow",
            f"echo madvise > {path}",
        )
    return Finding("huge pages", chosen)


def _load(host: Host) -> Finding:
    if host.load is None:
        return Finding("load", UNKNOWN)
    found = f"{host.load:g} over the last minute"
    if host.load > BUSY_SHARE * host.cores:
        return Finding(
            "load",
            found,
            "other programs use the cores: figures of real cores are too low",
            "measure on an idle machine",
        )
    return Finding("load", found)
