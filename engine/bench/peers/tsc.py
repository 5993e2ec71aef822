"""The frequency of the time-stamp counter, and the one that the processor's name states."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

# rdtsc; shl rdx, 32; or rax, rdx; ret
_READ_TSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
_SECONDS = 0.1
_PAIRS = 100
_CPUINFO = Path("/proc/cpuinfo")


class NoTscError(Exception):
    """Its text says why the time-stamp counter can't be read."""


@lru_cache(maxsize=1)
def measured_mhz() -> float:
    """Returns the ticks of the time-stamp counter in a microsecond, measured in 0.1 s."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        raise NoTscError(f"{platform.machine()} has no time-stamp counter")
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except (OSError, ValueError) as error:
        raise NoTscError(f"the time-stamp counter can't be read: {error}") from None
    code.write(_READ_TSC)
    view = ctypes.c_char.from_buffer(code)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(view))
    start_ns, start = _moment(read)
    time.sleep(_SECONDS)
    end_ns, end = _moment(read)
    return (end - start) / (end_ns - start_ns) * 1000


def _moment(read: Callable[[], int]) -> tuple[int, int]:
    """Returns the clock in nanoseconds and the counter, read closely after one another.

    A process may lose its core between two readings. Of several pairs one is undisturbed.
    """
    pairs = []
    for _ in range(_PAIRS):
        before, ticks, after = time.perf_counter_ns(), read(), time.perf_counter_ns()
        pairs.append((after - before, before, ticks))
    _, clock_ns, ticks = min(pairs)
    return clock_ns, ticks


def named_mhz() -> float:
    """Returns the frequency in the processor's name; 1 GHz if it has none, as STO assumes."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 1000.0
    name = re.search(r"^model name\s*:(.*)$", text, re.MULTILINE)
    found = None if name is None else re.search(r"([0-9.]+) ?([MG])Hz", name[1])
    if found is None:
        return 1000.0
    return float(found[1]) * (1000 if found[2] == "G" else 1)
