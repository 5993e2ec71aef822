"""Seed policies: known concurrency control algorithms as tables for a workload's signature.

To add one, write a module here with `build(signature) -> PolicyDocument` and register it in
`SEEDS`. A module with `build(signature, seed)`, which draws random numbers, is registered in
`SEEDED` and named `NAME` or `NAME:SEED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policies.document import PolicyDocument
from policies.seeds import ic3, occ, random, two_phase_locking_star
from policies.seeds.ic3 import ic3_without as ic3_without
from policies.signature import Signature

SEEDS: Mapping[str, Callable[[Signature], PolicyDocument]] = {
    "occ": occ.build,
    "two_phase_locking_star": two_phase_locking_star.build,
    "ic3": ic3.build,
}
"""The seed policies without random numbers, by name."""

SEEDED: Mapping[str, Callable[[Signature, int], PolicyDocument]] = {
    "random": random.build,
}
"""The seed policies with a random seed, by name."""


def seed_names() -> tuple[str, ...]:
    """Return the names that `build_seed` accepts, such as `occ` and `random:SEED`."""
    return (*SEEDS, *(f"{name}:SEED" for name in SEEDED))


def is_seed(name: str) -> bool:
    """Return whether a name, without any `:SEED`, is that of a seed policy."""
    return name in SEEDS or name.partition(":")[0] in SEEDED


def build_seed(name: str, signature: Signature) -> PolicyDocument:
    """Build a seed policy for a workload.

    Args:
        name: one of `SEEDS`, or one of `SEEDED`, alone (seed 1) or followed by `:SEED`.
        signature: signature of the workload.

    Raises:
        ValueError: there is no such seed policy, or SEED is not a whole number from 0.
    """
    if name in SEEDS:
        return SEEDS[name](signature)
    stem, colon, number = name.partition(":")
    if stem not in SEEDED:
        raise ValueError(f"no seed policy {name!r}; known are {', '.join(seed_names())}")
    if colon and not (number.isascii() and number.isdigit()):
        raise ValueError(
            f"seed policy {name!r}: {number!r} is not a seed; write a whole number, as in {stem}:7"
        )
    return SEEDED[stem](signature, int(number) if colon else 1)
