"""What a table of the library is called: its workload and its cores."""

from __future__ import annotations

from collections.abc import Mapping

CONTENTION: Mapping[str, str] = {
    "epinions": "theta",
    "micro": "theta",
    "smallbank": "hot_accounts",
    "taobench": "theta",
    "tpcc": "warehouses",
    "ycsb": "theta",
}
"""The option that decides the contention: always told."""


def telling(workload: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """The options that tell a workload from others: its contention, and what is not as usual.

    Args:
        workload: its options, the name among them.
        defaults: what they are if nothing is said.
    """
    contention = CONTENTION.get(workload.get("name", ""))
    return {
        key: value
        for key, value in workload.items()
        if key != "name" and (key == contention or value != defaults.get(key))
    }


def entry_name(workload: Mapping[str, str], defaults: Mapping[str, str], cores: int) -> str:
    """Such as `tpcc_4_warehouses_16_virtual_cores`, `ycsb_theta_0_9_16_virtual_cores`.

    Args:
        workload: its options, the name among them.
        defaults: what they are if nothing is said; what is as there is left out.
        cores: virtual ones.
    """
    words = [_option(key, value) for key, value in sorted(telling(workload, defaults).items())]
    return "_".join([workload["name"], *words, f"{cores}_virtual_core{'' if cores == 1 else 's'}"])


def _option(key: str, value: str) -> str:
    """A count comes before what it counts: `1_warehouse`; else `theta_0_9`."""
    if key.endswith("s") and value.isdigit():
        return f"{value}_{key.removesuffix('s') if value == '1' else key}"
    return f"{key}_{''.join(letter if letter.isalnum() else '_' for letter in value)}"
