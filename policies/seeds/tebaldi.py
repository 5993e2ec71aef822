"""Tebaldi as a table: pieces are pipelined within a group of types, and commits order the groups.

Su et al., SIGMOD 2017, as Polyjuice's evaluation simulates it (§7.2): IC3 within a group, 2PL
between groups. Three layers are several groups; two layers are one group, which is `ic3`.

- *Within a group*: the actions of `ic3`, from a conflict graph without the other groups.
- *Between groups*: from the first access after a conflict on, a transaction waits until those of
  the other group that it depends on have committed. An access that conflicts with other groups only
  is exposed and validated at once, as in `two_phase_locking_star`.
"""

from __future__ import annotations

from dataclasses import replace

from policies.conflicts import accesses_conflict, analyse
from policies.document import PolicyDocument, WaitAction
from policies.groups import Groups, edges_between_groups, propose_groups
from policies.seeds.ic3 import pipelined
from policies.seeds.table import Actions, make_table
from policies.seeds.two_phase_locking_star import written_next
from policies.signature import Access, Signature, TransactionType

NAME = "tebaldi"

KNOWN: dict[str, Groups] = {
    "tpcc": (frozenset(["new_order", "payment"]), frozenset(["delivery"])),
}
"""The groups of Polyjuice's evaluation (§7.2), by workload; other types form one more."""

BETWEEN_GROUPS, BETWEEN_TYPES = ":", "."


def build(signature: Signature, groups: str = "") -> PolicyDocument:
    """Return the table of a workload.

    Args:
        signature: signature of the workload.
        groups: the groups, such as `new_order.payment:delivery`; types that are not named form one
            more. Empty: those of `KNOWN`, or those that the conflict graph suggests.

    Raises:
        ValueError: a type is unknown, or named twice.
    """
    given = _read(signature, groups) if groups else KNOWN.get(signature.workload)
    parted = _with_the_rest(signature, given) if given else propose_groups(signature)
    analysis = analyse(signature, edges_between_groups(signature, parted))
    pipeline = pipelined(analysis)
    foreign = {name: _foreign(signature, parted, name) for name in signature.type_names}

    def actions(kind: TransactionType, access: Access) -> Actions:
        inside = pipeline(kind, access)
        others = foreign[kind.name]
        commits: dict[str, WaitAction] = {
            other.name: "COMMIT" for other in others if _met_before(kind, access, other)
        }
        alone = not analysis.piece_of(access.state).conflicting
        if alone and any(_conflicts(access, other) for other in others):
            inside = Actions(inside.wait, True, True, not written_next(kind, access))
        return replace(inside, wait={**inside.wait, **commits})

    name = f"{NAME}:{groups}" if groups else NAME
    return make_table(name, signature, actions)


def _foreign(signature: Signature, groups: Groups, name: str) -> list[TransactionType]:
    """Return the types of other groups than that of a type."""
    (own,) = (group for group in groups if name in group)
    return [kind for kind in signature.types if kind.name not in own]


def _conflicts(access: Access, other: TransactionType) -> bool:
    return any(accesses_conflict(access, theirs) for theirs in other.accesses)


def _met_before(kind: TransactionType, access: Access, other: TransactionType) -> bool:
    """Whether a transaction may depend on one of another type when it comes to an access."""
    return any(_conflicts(own, other) for own in kind.accesses if own.state < access.state)


def _read(signature: Signature, text: str) -> Groups:
    """Return the groups that a text names.

    Raises:
        ValueError: a type is unknown, or named twice.
    """
    groups = [group.split(BETWEEN_TYPES) for group in text.split(BETWEEN_GROUPS)]
    named = [name for group in groups for name in group]
    for name in named:
        if name not in signature.type_names:
            raise ValueError(
                f"{NAME}:{text}: {signature.workload} has no type {name!r}; there are "
                f"{', '.join(signature.type_names)}"
            )
        if named.count(name) > 1:
            raise ValueError(f"{NAME}:{text}: {name} is named twice; a type is in one group")
    return tuple(map(frozenset, groups))


def _with_the_rest(signature: Signature, groups: Groups) -> Groups:
    """Return the groups, and one of the types that are in none, if there are any."""
    rest = frozenset(signature.type_names).difference(*groups)
    return (*groups, *([rest] if rest else []))
