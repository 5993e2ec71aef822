"""Names of the library's policies: generated from their places, and rules for others."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envs import NATIVE, TUNED
from envs.external_sweep import TUNED_EXTERNAL
from policies import is_seed
from policies.protocol import DEFAULTS, EXTERNAL, PLACES, STORE, store_name
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
    if name in {LIBRARY, TUNED, EXTERNAL, TUNED_EXTERNAL, *NATIVE} or is_seed(name):
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


def entry_name(
    workload: Mapping[str, str],
    defaults: Mapping[str, str],
    cores: int,
    store: Mapping[str, str] | None = None,
) -> str:
    """Return a name such as `tpcc_4_warehouses_16_virtual_cores`.

    Other examples are `ycsb_theta_0_9_16_virtual_cores` and, in front of a store,
    `smallbank_10_hot_accounts_16_connections_sqlite_durability_off`.

    Args:
        workload: its options, including the name.
        defaults: the default options, which are left out.
        cores: the number of virtual cores, or of connections to the store.
        store: the fixed options of `external`; None for the engine.
    """
    words = [
        _option(key, value)
        for key, value in sorted(distinguishing_options(workload, defaults).items())
    ]
    unit = "virtual_core" if store is None else "connection"
    words.append(f"{cores}_{unit}{'' if cores == 1 else 's'}")
    if store is not None:
        words.append(store_name(store))
        unusual = {key for key, text in store.items() if DEFAULTS.get(key) != text}
        words += [f"{key}_{_plain(store[key])}" for key in sorted(unusual - {STORE, *PLACES})]
    return "_".join([workload["name"], *words])


def _option(key: str, value: str) -> str:
    """Format an option: a count precedes its noun, as `1_warehouse`; else `theta_0_9`."""
    if key.endswith("s") and value.isdigit():
        singular = key.removesuffix("es" if key.endswith("ches") else "s")
        return f"{value}_{singular if value == '1' else key}"
    return f"{key}_{_plain(value)}"


def _plain(value: str) -> str:
    """Return a value with the characters of names only."""
    return "".join(letter if letter.isalnum() else "_" for letter in value)
