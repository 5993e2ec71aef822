"""Names of the library's tables: generated from workload and cores, and rules for others."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envs import NATIVE, TUNED
from policies import is_seed
from trainer.policy_library.start import LIBRARY

NAME_LONGEST = 100
NAME = re.compile(rf"[A-Za-z0-9_]{{1,{NAME_LONGEST}}}")

CONTENTION: Mapping[str, str] = {
    "bomb": "products",
    "epinions": "theta",
    "micro": "theta",
    "smallbank": "hot_accounts",
    "taobench": "theta",
    "tpcb": "branches",
    "tpcc": "warehouses",
    "tpce": "theta",
    "ycsb": "theta",
}
"""The option that determines the contention, which is part of every name."""


def invalid_name_reason(name: str) -> str | None:
    """Return why a name can't refer to a table where policies are named; None if it can."""
    if not NAME.fullmatch(name):
        return f"must be up to {NAME_LONGEST} letters, digits and _; use --folder for a path"
    if name in {LIBRARY, TUNED, *NATIVE} or is_seed(name):
        return "has another meaning where policies are named"
    return None


def distinguishing_options(
    workload: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return the options that distinguish a workload: its contention, and non-default values.

    Args:
        workload: its options, including the name.
        defaults: the default options.
    """
    contention = CONTENTION.get(workload.get("name", ""))
    return {
        key: value
        for key, value in workload.items()
        if key != "name" and (key == contention or value != defaults.get(key))
    }


def entry_name(workload: Mapping[str, str], defaults: Mapping[str, str], cores: int) -> str:
    """Return a name such as `tpcc_4_warehouses_16_virtual_cores`.

    Another example is `ycsb_theta_0_9_16_virtual_cores`.

    Args:
        workload: its options, including the name.
        defaults: the default options, which are left out.
        cores: the number of virtual cores.
    """
    words = [
        _option(key, value)
        for key, value in sorted(distinguishing_options(workload, defaults).items())
    ]
    return "_".join([workload["name"], *words, f"{cores}_virtual_core{'' if cores == 1 else 's'}"])


def _option(key: str, value: str) -> str:
    """Format an option: a count precedes its noun, as `1_warehouse`; else `theta_0_9`."""
    if key.endswith("s") and value.isdigit():
        return f"{value}_{key.removesuffix('s') if value == '1' else key}"
    return f"{key}_{''.join(letter if letter.isalnum() else '_' for letter in value)}"
