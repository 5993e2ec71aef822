"""What a table of the library is called: its workload and its cores; and what it may be called."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envs import NATIVE, TUNED
from policies import is_seed
from trainer.policy_library.start import LIBRARY

NAME_LONGEST = 100
NAME = re.compile(rf"[A-Za-z0-9_]{{1,{NAME_LONGEST}}}")

CONTENTION: Mapping[str, str] = {
    "epinions": "theta",
    "micro": "theta",
    "smallbank": "hot_accounts",
    "taobench": "theta",
    "tpcc": "warehouses",
    "ycsb": "theta",
}
"""The option that decides the contention: always told."""


def invalid_name_reason(name: str) -> str | None:
    """Why a name, typed where a policy is named, could never mean a table; None if it may."""
    if not NAME.fullmatch(name):
        return (
            f"must be of letters, digits and _, at most {NAME_LONGEST}; --folder says where it goes"
        )
    if name in {LIBRARY, TUNED, *NATIVE} or is_seed(name):
        return "means something else where policies are named"
    return None


def distinguishing_options(
    workload: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
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
    words = [
        _option(key, value)
        for key, value in sorted(distinguishing_options(workload, defaults).items())
    ]
    return "_".join([workload["name"], *words, f"{cores}_virtual_core{'' if cores == 1 else 's'}"])


def _option(key: str, value: str) -> str:
    """A count comes before what it counts: `1_warehouse`; else `theta_0_9`."""
    if key.endswith("s") and value.isdigit():
        return f"{value}_{key.removesuffix('s') if value == '1' else key}"
    return f"{key}_{''.join(letter if letter.isalnum() else '_' for letter in value)}"
