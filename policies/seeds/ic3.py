"""IC3 and Callas RP as a table (paper table 1, §3.2): pipeline the pieces of transactions.

Pieces and waits come from `policies.conflicts`. Before a piece runs, each dependency must have
finished its last piece that conflicts with it, so the piece reads what they left: the latest
uncommitted version. The piece ends in a publication point: its last write is `PUBLIC` and its last
access validates early. A piece that conflicts with nothing (ITEM is only ever read) needs neither.

A row has one set of waits for two uses: before its access, and before an early validation of the
access just before it (§4.3). So the first row of a piece holds, for each type, the later of what
this piece needs before it runs and what the piece before needs before it is exposed. That delays
the exposure of the piece before until dependencies are past this one too, which costs nothing
while pieces are about equally long: T runs piece i while T' runs piece i + 1. Polyjuice's own seed
holds only the second of the two and lets pieces run early, to be repeated when what they read has
moved.

A point in a loop is met in every round; the table can't say "last round only". Loops visit their
keys in a global order in the workloads that profit, which keeps single rounds free of cycles.
"""

from __future__ import annotations

from policies.conflicts import ConflictAnalysis, Edge, analyse
from policies.document import PolicyDocument, WaitAction
from policies.seeds.table import Actions, make_table
from policies.signature import Access, Signature, TransactionType


def build(signature: Signature) -> PolicyDocument:
    """The IC3 table of the workload."""
    return ic3_without(signature, frozenset())


def ic3_without(signature: Signature, dropped: frozenset[Edge]) -> PolicyDocument:
    """The IC3 table of the workload, were these conflicts none: they are left to validation."""
    analysis = analyse(signature, dropped)

    def actions(kind: TransactionType, access: Access) -> Actions:
        piece = analysis.piece_of(access.state)
        return Actions(
            wait=_waits(analysis, access),
            dirty_read=piece.conflicting,
            public_write=piece.conflicting and access.state == piece.last_write,
            early_validation=piece.conflicting and access.state == piece.last,
        )

    return make_table("ic3", signature, actions)


def _waits(analysis: ConflictAnalysis, access: Access) -> dict[str, WaitAction]:
    piece = analysis.piece_of(access.state)
    if piece.index == 0 or access.state != piece.first:
        return {}
    exposed = analysis.waits_after(analysis.pieces[piece.type][piece.index - 1])
    run = analysis.waits_before(piece)
    return {name: max(exposed[name], run[name], key=_lateness) for name in run}


def _lateness(wait: WaitAction) -> int:
    return wait if isinstance(wait, int) else -1  # the analysis asks for no `COMMIT`
