"""OCC as a table (paper table 1): never wait, read committed, publish at commit only."""

from __future__ import annotations

from policies.document import PolicyDocument
from policies.seeds.table import Actions, make_table
from policies.signature import Signature


def build(signature: Signature) -> PolicyDocument:
    """Return the OCC table of a workload."""
    return make_table("occ", signature, lambda kind, access: Actions())
