from __future__ import annotations

from policies import Signature
from policies.groups import edges_between_groups, propose_groups
from tests.policies.made_up import R, W, workload


def test_types_that_visit_tables_in_one_order_are_joined() -> None:
    both = workload(one=[("A", R), ("A", W), ("B", W)], two=[("A", W), ("B", W)])
    assert propose_groups(both) == (frozenset(["one", "two"]),)


def test_types_in_opposite_orders_stay_apart() -> None:
    """Joined, the accesses of each would be one piece."""
    opposite = workload(one=[("A", W), ("B", W)], two=[("B", W), ("A", W)])
    assert propose_groups(opposite) == (frozenset(["one"]), frozenset(["two"]))


def test_types_without_conflicts_stay_apart() -> None:
    apart = workload(one=[("A", W)], two=[("B", W)])
    assert len(propose_groups(apart)) == 2


def test_every_type_is_in_one_group(signature: Signature) -> None:
    groups = propose_groups(signature)
    assert sorted(name for group in groups for name in group) == sorted(signature.type_names)


def test_edges_between_groups_join_types_of_different_groups(tpcc: Signature) -> None:
    groups = (frozenset(["new_order", "payment"]), frozenset(["delivery"]))
    for edge in edges_between_groups(tpcc, groups):
        names = [tpcc.type_of(state).name for state in edge]
        assert names.count("delivery") == 1
    assert not edges_between_groups(tpcc, (frozenset(tpcc.type_names),))
