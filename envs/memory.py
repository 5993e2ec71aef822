"""Memory: what is available here, what a database needs, and what ends a run in time."""

from __future__ import annotations

from collections.abc import Mapping

import psutil

from envs.control_groups import memory_groups
from envs.engine_interface import EngineModule

RESERVE_SHARE = 0.1
"""So much of the memory is left to others: Ray ends processes where 5 % are left."""

RESERVE_MAX = 2 << 30

FITS = 0.8
"""So much of what a run was ended at is tried afterwards."""


SCALES: Mapping[str, tuple[str, ...]] = {
    "tpcc": ("warehouses",),
    "ycsb": ("records",),
    "micro": ("records", "hot_records", "own_records"),
    "smallbank": ("accounts",),
    "epinions": ("users", "items"),
    "taobench": ("objects",),
}
"""The options by which a workload's database grows; loading any other one is watched, too."""

SMALL = {"tpcc": 1}
SMALL_ROWS = 20_000
"""What such options come to together in a database that loads in a moment."""

WORTH_AN_ESTIMATE = 64
"""Ratio of a database's size to the small one's above which it is estimated before it is loaded."""


def total_memory() -> int:
    """Bytes that the machine has, or the tightest control group allows."""
    limits = [group.limit for group in memory_groups()]
    return min([psutil.virtual_memory().total, *limits])


def reserve_bytes() -> int:
    """Memory that databases leave to others."""
    return min(RESERVE_MAX, int(total_memory() * RESERVE_SHARE))


def guard(engine: EngineModule) -> None:
    """Have the engine refuse memory, and end runs, before the reserve is touched."""
    groups = [
        (str(group.usage_file), str(group.stat_file), group.limit) for group in memory_groups()
    ]
    engine.guard_memory(reserve_bytes(), groups)


def available_bytes(engine: EngineModule) -> int:
    """Bytes that a database may take now."""
    return max(0, engine.memory_left() - reserve_bytes())


def estimated_bytes(
    engine: EngineModule, workload: Mapping[str, str], machine: Mapping[str, str]
) -> int | None:
    """What a database takes, from loading two small ones; None if it is small itself, or unknown.

    Args:
        engine: loads them.
        workload: its name under "name", and its options.
        machine: its kind and its options.

    Raises:
        MemoryError: there is no memory for a small one.
        ValueError: an option is out of range.
    """
    sizes = _sizes(engine, workload)
    times = sum(sizes.values()) / SMALL.get(workload["name"], SMALL_ROWS)
    if times < WORTH_AN_ESTIMATE:
        return None

    def loaded(factor: int) -> int:
        smaller = {name: str(max(2, int(size * factor / times))) for name, size in sizes.items()}
        return engine.Session({**workload, **smaller}, 1, 1, machine).memory_bytes

    once, twice = loaded(2), loaded(4)
    return int(once + (twice - once) * (times / 2 - 1))


def fitting_settings(
    engine: EngineModule, workload: Mapping[str, str], needed: int, available: int
) -> str | None:
    """The setting under which a database fits, such as `workload.warehouses=80`; None: unknown.

    Args:
        engine: knows the defaults.
        workload: its options, as estimated.
        needed: bytes, estimated.
        available: bytes.
    """
    sizes = _sizes(engine, workload)
    if not sizes:
        return None
    found = []
    for name, size in sizes.items():
        fits = int(size * FITS * available / needed)
        digits = max(0, len(str(fits)) - 2)
        found.append(f"workload.{name}={fits // 10**digits * 10**digits}")
    return None if any(one.endswith("=0") for one in found) else " ".join(found)


def gib(number: float) -> str:
    """Bytes for people."""
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"


def _sizes(engine: EngineModule, workload: Mapping[str, str]) -> dict[str, int]:
    """What the options are set to, or are by default, by which the database grows."""
    names = SCALES.get(workload["name"], ())
    specs = engine.option_specs("workload", workload["name"]) if names else ()
    defaults = {spec.name: spec.default for spec in specs}
    return {name: int(workload.get(name) or defaults[name]) for name in names if name in defaults}
