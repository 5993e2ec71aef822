from __future__ import annotations

from policies import Signature
from policies.conflicts import ConflictAnalysis, analyse, last_conflicting_access
from tests.policies.made_up import INS, R, W, workload


def spans(analysis: ConflictAnalysis) -> dict[str, list[tuple[int, int]]]:
    return {
        name: [(piece.first, piece.last) for piece in pieces]
        for name, pieces in analysis.pieces.items()
    }


def test_tpcc_pieces_are_one_a_table(tpcc: Signature) -> None:
    assert spans(analyse(tpcc)) == {
        "new_order": [(0, 0), (1, 2), (3, 3), (4, 5), (6, 6), (7, 7), (8, 8), (9, 9), (10, 10)],
        "payment": [(11, 12), (13, 14), (15, 16), (17, 17)],
        "delivery": [(18, 19), (20, 21), (22, 23), (24, 25)],
    }
    analysis = analyse(tpcc)
    lonely = [p.first for ps in analysis.pieces.values() for p in ps if not p.conflicting]
    assert lonely == [3]


def test_tpcc_last_conflicting_accesses(tpcc: Signature) -> None:
    def last(state: int) -> list[int | None]:
        return [last_conflicting_access(tpcc.accesses[state], kind) for kind in tpcc.types]

    assert last(0) == [None, 12, None]  # r WAREHOUSE: Payment's update
    assert last(3) == [None, None, None]  # r ITEM
    assert last(5) == [5, None, None]  # w STOCK
    assert last(6) == [6, None, 19]  # ins NEW_ORDER: its own kind, Delivery's removal
    assert last(10) == [None, 16, 25]  # r CUSTOMER: both writers
    assert last(12) == [0, 12, None]  # w WAREHOUSE: readers too
    assert last(22) == [9, None, 23]  # scan ORDER_LINE


def test_the_papers_example_waits_through_a_third_transaction(tpcc: Signature) -> None:
    """§7.3: NewOrder's STOCK waits for Payment's CUSTOMER, which waits for NewOrder's CUSTOMER."""
    analysis = analyse(tpcc)
    assert analysis.wait(analysis.piece_of(5), "payment") == 16
    assert analysis.wait(analysis.piece_of(15), "new_order") == 10


def test_accesses_in_the_same_order_do_not_merge() -> None:
    analysis = analyse(workload(a=[("X", W), ("Y", W)], b=[("X", W), ("Y", W)]))
    assert spans(analysis) == {"a": [(0, 0), (1, 1)], "b": [(2, 2), (3, 3)]}
    assert analysis.wait(analysis.piece_of(1), "b") == 3


def test_opposite_orders_merge() -> None:
    analysis = analyse(workload(a=[("X", W), ("Z", R), ("Y", W)], b=[("Y", W), ("X", R)]))
    assert spans(analysis) == {"a": [(0, 2)], "b": [(3, 4)]}


def test_opposite_orders_of_reads_do_not_merge() -> None:
    analysis = analyse(workload(a=[("X", R), ("Y", R)], b=[("Y", R), ("X", R)]))
    assert spans(analysis) == {"a": [(0, 0), (1, 1)], "b": [(2, 2), (3, 3)]}


def test_a_cycle_of_three_types_merges() -> None:
    ring = workload(
        a=[("X", W), ("Y", W)], b=[("Y", W), ("Z", W)], c=[("Z", W), ("X", W), ("Q", W)]
    )
    assert spans(analyse(ring)) == {"a": [(0, 1)], "b": [(2, 3)], "c": [(4, 5), (6, 6)]}


def test_a_type_that_returns_to_a_table_merges_all_accesses_between() -> None:
    analysis = analyse(workload(a=[("X", W), ("Y", R), ("X", R), ("Y", R)]))
    assert spans(analysis) == {"a": [(0, 2), (3, 3)]}


def test_merging_can_close_further_cycles() -> None:
    # X merges Y and Z of a into one piece, which conflicts with b's order of Z and Y.
    analysis = analyse(
        workload(a=[("X", W), ("Y", W), ("Z", W), ("X", W)], b=[("Z", W), ("Q", R), ("Y", W)])
    )
    assert spans(analysis) == {"a": [(0, 3)], "b": [(4, 6)]}


def test_accesses_without_conflicts_are_not_waited_for() -> None:
    analysis = analyse(workload(a=[("X", W), ("Y", INS)], b=[("Y", R), ("Z", W)]))
    first, second = analysis.pieces["a"]
    assert analysis.waits_after(first) == {"a": 0, "b": "NO_WAIT"}
    assert analysis.waits_after(second) == {"a": 1, "b": 2}
    assert analysis.waits_before(second) == {"a": 1, "b": "NO_WAIT"}
