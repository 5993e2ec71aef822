"""Seed policies: known concurrency control algorithms as tables for a workload's signature.

To add one, write a module here with `build(signature) -> PolicyDocument` and register it in
`SEEDS`, which every search starts from. A module whose `build(signature, text)` takes what follows
the name and a colon is registered in `WITH_TEXT`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policies.document import PolicyDocument
from policies.seeds import ic3, occ, random, tebaldi, two_phase_locking_star
from policies.seeds.ic3 import ic3_without as ic3_without
from policies.signature import Signature

SEEDS: Mapping[str, Callable[[Signature], PolicyDocument]] = {
    "occ": occ.build,
    "two_phase_locking_star": two_phase_locking_star.build,
    "ic3": ic3.build,
}
"""The seed policies without further text, by name."""


@dataclass(frozen=True)
class WithText:
    """A seed policy whose name may be followed by a colon and a text.

    Attributes:
        build: returns the table for a workload and a text; empty without one.
        form: the text in words, for lists of names.
    """

    build: Callable[[Signature, str], PolicyDocument]
    form: str


WITH_TEXT: Mapping[str, WithText] = {
    "random": WithText(random.build, "SEED"),
    tebaldi.NAME: WithText(tebaldi.build, "GROUPS"),
}
"""The seed policies that a text may follow, by name."""


def seed_names() -> tuple[str, ...]:
    """Return the names that `build_seed` accepts, such as `occ` and `random:SEED`."""
    return (*SEEDS, *(f"{name}:{found.form}" for name, found in WITH_TEXT.items()))


def is_seed(name: str) -> bool:
    """Return whether a name, without any text after a colon, is that of a seed policy."""
    return name in SEEDS or name.partition(":")[0] in WITH_TEXT


def build_seed(name: str, signature: Signature) -> PolicyDocument:
    """Build a seed policy for a workload.

    Args:
        name: one of `SEEDS`, or one of `WITH_TEXT`, alone or followed by a colon and a text.
        signature: signature of the workload.

    Raises:
        ValueError: there is no such seed policy, or it does not accept the text.
    """
    if name in SEEDS:
        return SEEDS[name](signature)
    stem, colon, text = name.partition(":")
    if stem not in WITH_TEXT:
        raise ValueError(f"no seed policy {name!r}; known are {', '.join(seed_names())}")
    found = WITH_TEXT[stem]
    if colon and not text:
        raise ValueError(f"seed policy {name!r}: leave out the colon, or add {found.form}")
    return found.build(signature, text)
