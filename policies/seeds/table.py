"""Build a seed policy from the actions of each state, with masks and names filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from policies.document import BINARY_EXPONENTIAL, CcRow, PolicyDocument, WaitAction
from policies.signature import Access, Signature, TransactionType


@dataclass(frozen=True)
class Actions:
    """The actions of a state. The defaults are OCC's (paper table 1).

    Attributes:
        wait: wait action by type name; `NO_WAIT` for missing types.
        dirty_read: read the latest uncommitted version; ignored unless the access reads one row.
        public_write: publish after the write; ignored for a read.
        early_validation: validate after the access.
    """

    wait: Mapping[str, WaitAction] = field(default_factory=dict)
    dirty_read: bool = False
    public_write: bool = False
    early_validation: bool = False


def make_table(
    name: str, signature: Signature, actions_of: Callable[[TransactionType, Access], Actions]
) -> PolicyDocument:
    """Return the policy with the actions of `actions_of` in every state, and Silo's backoff."""
    rows = []
    for kind, access in signature.rows():
        actions = actions_of(kind, access)
        rows.append(
            CcRow(
                state=access.state,
                type=kind.name,
                access=access.name,
                wait={other: actions.wait.get(other, "NO_WAIT") for other in signature.type_names},
                read_version=("DIRTY" if actions.dirty_read else "CLEAN")
                if access.has_read_version
                else None,
                write_visibility=("PUBLIC" if actions.public_write else "PRIVATE")
                if access.writes
                else None,
                early_validation=actions.early_validation,
            )
        )
    backoff = dict.fromkeys(signature.type_names, BINARY_EXPONENTIAL)
    return PolicyDocument(name, signature, tuple(rows), backoff, provenance={"seed_policy": name})
