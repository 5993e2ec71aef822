"""2PL* as a table (paper table 1 and §3.2): wait for every dependency to commit.

Each write is exposed at once and each access validated at once, so that every conflict immediately
makes a dependency. Every access and validation waits until all dependencies have committed. Two
details:

- Reads are `DIRTY`. Only a dirty read makes its transaction depend on the writer and wait for it.
  When the read is validated, the writer has committed, so the version read is the latest committed
  one. A clean read would not wait, and would fail at commit.
- A read that is followed by a write to the same table is validated with that write, as 2PL takes
  the exclusive lock once for a read-modify-write.
"""

from __future__ import annotations

from policies.document import PolicyDocument
from policies.seeds.table import Actions, make_table
from policies.signature import Access, Signature, TransactionType


def build(signature: Signature) -> PolicyDocument:
    """Return the 2PL* table of a workload."""

    def actions(kind: TransactionType, access: Access) -> Actions:
        return Actions(
            wait=dict.fromkeys(signature.type_names, "COMMIT"),
            dirty_read=True,
            public_write=True,
            early_validation=not written_next(kind, access),
        )

    return make_table("two_phase_locking_star", signature, actions)


def written_next(kind: TransactionType, access: Access) -> bool:
    """Whether an access reads what the next one of its type writes: a lock is then taken once."""
    if access.writes:
        return False
    following = access.state + 1
    if following not in kind.states:
        return False
    other = kind.accesses[following - kind.states.start]
    return other.writes and other.table == access.table
