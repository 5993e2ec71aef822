"""Estimate the memory of databases, and end runs before memory is exhausted."""

from __future__ import annotations

from collections.abc import Mapping

import psutil

from envs.control_groups import memory_groups
from envs.engine_interface import EngineModule

RESERVE_SHARE = 0.1
"""Share of the memory that is left free. Ray kills processes if less than 5 % are free."""

RESERVE_MAX = 2 << 30

FITS = 0.8
"""Length of later runs relative to a run that ended for lack of memory; also the share of memory
that a suggested database uses."""


SCALES: Mapping[str, tuple[str, ...]] = {
    "tpcc": ("warehouses",),
    "tpce": ("customers",),
    "ycsb": ("records",),
    "micro": ("records", "hot_records", "own_records"),
    "smallbank": ("accounts",),
    "tpcb": ("branches",),
    "bomb": ("factories", "materials", "trees"),
    "epinions": ("users", "items"),
    "taobench": ("objects",),
}
"""The options that set the size of a workload's database. Other workloads have no estimate; their
loading is guarded as well."""

SMALL = {"tpcc": 1, "tpce": 100}
SMALL_ROWS = 20_000
"""Sum of these options for a database that loads quickly."""

WORTH_AN_ESTIMATE = 64
"""Size of a database, relative to a small one, from which it is estimated before loading."""


def total_memory() -> int:
    """Return the bytes that the machine has or the tightest control group allows."""
    limits = [group.limit for group in memory_groups()]
    return min([psutil.virtual_memory().total, *limits])


def reserve_bytes() -> int:
    """Return the bytes that databases leave free."""
    return min(RESERVE_MAX, int(total_memory() * RESERVE_SHARE))


def guard(engine: EngineModule) -> None:
    """Let the engine refuse databases and end runs that would use the reserve."""
    groups = [
        (str(group.usage_file), str(group.stat_file), group.limit) for group in memory_groups()
    ]
    engine.guard_memory(reserve_bytes(), groups)


def available_bytes(engine: EngineModule) -> int:
    """Return the bytes that a database may use now."""
    return max(0, engine.memory_left() - reserve_bytes())


def estimated_bytes(
    engine: EngineModule, workload: Mapping[str, str], machine: Mapping[str, str]
) -> int | None:
    """Estimate the size of a database in bytes by loading two small ones.

    Args:
        engine: the engine.
        workload: name of the workload under `name`, and its options.
        machine: kind of the machine under `kind`, and its options.

    Returns:
        The estimate; None if the database is small or its size options are unknown.

    Raises:
        MemoryError: there is not enough memory for a small database.
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
    """Return settings under which a database fits, such as `workload.warehouses=80`.

    Args:
        engine: the engine, which has the defaults.
        workload: name and options of the workload.
        needed: estimated size of the database in bytes.
        available: available memory in bytes.

    Returns:
        The settings; None if they are unknown.
    """
    sizes = _sizes(engine, workload)
    if not sizes:
        return None
    found = []
    for name, size in sizes.items():
        fits = int(size * FITS * available / needed)
        digits = max(0, len(str(fits)) - 2)
        found.append(f"workload.{name}={fits // 10**digits * 10**digits}")
    return None if any(setting.endswith("=0") for setting in found) else " ".join(found)


def gib(number: float) -> str:
    """Return a number of bytes as text in GiB or MiB."""
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.0f} MiB"


def _sizes(engine: EngineModule, workload: Mapping[str, str]) -> dict[str, int]:
    """Return the values of the options that set the size of the database."""
    names = SCALES.get(workload["name"], ())
    specs = engine.option_specs("workload", workload["name"]) if names else ()
    defaults = {spec.name: spec.default for spec in specs}
    return {name: int(workload.get(name) or defaults[name]) for name in names if name in defaults}
