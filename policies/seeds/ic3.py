"""IC3 and Callas RP as a table (paper table 1, §3.2): pipeline the pieces of transactions.

Pieces and waits come from `policies.conflicts`. Before a piece runs, each dependency must have
finished its last conflicting piece, so that the piece reads its latest, uncommitted version. The
piece ends in a publication point: its last write is `PUBLIC` and its last access validates early. A
piece without conflicts (such as one on ITEM, which is only read) needs neither.

A row has one set of waits for two uses: before its access, and before an early validation of the
previous access (§4.3). The first row of a piece therefore holds, for each type, the later of two
waits: that before this piece runs, and that before the previous piece is exposed. This delays the
exposure of the previous piece until dependencies have passed this one too. The delay costs nothing
while pieces are about equally long: T runs piece i while T' runs piece i + 1. Polyjuice's own seed
has the second wait only, so pieces run early and are repeated if what they read has changed.

A publication point in a loop applies to every iteration, because the table has one row for all of
them. In the workloads that benefit, loops visit their keys in a global order, which prevents cycles
between iterations.
"""

from __future__ import annotations

from collections.abc import Callable

from policies.conflicts import ConflictAnalysis, Edge, analyse
from policies.document import PolicyDocument, WaitAction
from policies.seeds.table import Actions, make_table
from policies.signature import Access, Signature, TransactionType


def build(signature: Signature) -> PolicyDocument:
    """Return the IC3 table of a workload."""
    return ic3_without(signature, frozenset())


def ic3_without(signature: Signature, dropped: frozenset[Edge]) -> PolicyDocument:
    """Return the IC3 table of a workload that ignores some conflicts, left to validation.

    Args:
        signature: signature of the workload.
        dropped: edges of the conflict graph to ignore, as pairs of states (the lower one first).
    """
    return make_table("ic3", signature, pipelined(analyse(signature, dropped)))


def pipelined(analysis: ConflictAnalysis) -> Callable[[TransactionType, Access], Actions]:
    """Return the actions of each state that pipeline the pieces of an analysis."""

    def actions(kind: TransactionType, access: Access) -> Actions:
        piece = analysis.piece_of(access.state)
        return Actions(
            wait=_waits(analysis, access),
            dirty_read=piece.conflicting,
            public_write=piece.conflicting and access.state == piece.last_write,
            early_validation=piece.conflicting and access.state == piece.last,
        )

    return actions


def _waits(analysis: ConflictAnalysis, access: Access) -> dict[str, WaitAction]:
    piece = analysis.piece_of(access.state)
    if piece.index == 0 or access.state != piece.first:
        return {}
    exposed = analysis.waits_after(analysis.pieces[piece.type][piece.index - 1])
    run = analysis.waits_before(piece)
    return {name: max(exposed[name], run[name], key=_lateness) for name in run}


def _lateness(wait: WaitAction) -> int:
    return wait if isinstance(wait, int) else -1  # the analysis has no `COMMIT`
