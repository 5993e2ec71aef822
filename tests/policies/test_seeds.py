from __future__ import annotations

import pytest

from policies import (
    SEEDS,
    Encoding,
    PolicyDocument,
    Signature,
    build_seed,
    is_seed,
    seed_names,
    validate,
    workload_signature,
)

NAMES = [*SEEDS, "random", "random:7", "tebaldi"]


@pytest.mark.parametrize("name", NAMES)
def test_every_seed_is_valid_for_every_workload(name: str, signature: Signature) -> None:
    document = build_seed(name, signature)
    validate(document)
    Encoding(signature).encode(document)


def test_occ_does_nothing_before_commit(signature: Signature) -> None:
    for row in build_seed("occ", signature).cc:
        assert set(row.wait.values()) == {"NO_WAIT"}
        assert row.read_version in ("CLEAN", None)
        assert row.write_visibility in ("PRIVATE", None)
        assert not row.early_validation


def test_two_phase_locking_star_waits_for_all_commits_and_exposes_at_once(tpcc: Signature) -> None:
    document = build_seed("two_phase_locking_star", tpcc)
    for row in document.cc:
        assert set(row.wait.values()) == {"COMMIT"}
        assert row.write_visibility in ("PUBLIC", None)
    unvalidated = [row.state for row in document.cc if not row.early_validation]
    # Reads followed by their own write: DISTRICT, STOCK; W, D, C of Payment; Delivery's four.
    assert unvalidated == [1, 4, 11, 13, 15, 18, 20, 22, 24]


def test_random_seeds_repeat_and_differ(signature: Signature) -> None:
    encoding = Encoding(signature)

    def vector(name: str) -> list[int]:
        return encoding.encode(build_seed(name, signature))

    assert vector("random:7") == vector("random:7")
    assert vector("random:7") != vector("random:8")
    assert vector("random") == vector("random:1")


def test_random_tables_reach_every_value(tpcc: Signature) -> None:
    encoding = Encoding(tpcc)
    seen: list[set[int]] = [set() for _ in encoding.cells]
    for seed in range(200):
        document = build_seed(f"random:{seed}", tpcc)
        for values, value in zip(seen, encoding.encode(document), strict=True):
            values.add(value)
    assert [len(values) for values in seen] == list(encoding.nvec)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ic4", "occ, two_phase_locking_star, ic3, random:SEED, tebaldi:GROUPS"),
        ("occ:3", "no seed policy 'occ:3'"),
        ("random:x", "random:7"),
        ("random:", "add SEED"),
        ("random:-1", "random:7"),
    ],
)
def test_an_unknown_name_lists_the_seeds(name: str, message: str, tpcc: Signature) -> None:
    with pytest.raises(ValueError, match=message):
        build_seed(name, tpcc)


def test_names_of_seeds_are_recognised() -> None:
    assert all(is_seed(name.replace("SEED", "3")) for name in seed_names())
    assert not is_seed("ic3.json")


def rows_of(document: PolicyDocument, field: str, value: object) -> list[int]:
    return [row.state for row in document.cc if getattr(row, field) == value]


def test_ic3_exposes_each_piece_at_its_end(tpcc: Signature) -> None:
    ic3 = build_seed("ic3", tpcc)
    ends = [0, 2, 5, 6, 7, 8, 9, 10, 12, 14, 16, 17, 19, 21, 23, 25]
    assert rows_of(ic3, "early_validation", True) == ends
    # WAREHOUSE and CUSTOMER in NewOrder are pieces that only read.
    assert rows_of(ic3, "write_visibility", "PUBLIC") == [s for s in ends if s not in (0, 10)]
    # ITEM is never written, so it has no uncommitted version to read.
    assert rows_of(ic3, "read_version", "CLEAN") == [3]


def test_ic3_waits_before_each_piece(tpcc: Signature) -> None:
    ic3 = build_seed("ic3", tpcc)
    waits = {row.state: tuple(row.wait.values()) for row in ic3.cc}
    none = ("NO_WAIT", "NO_WAIT", "NO_WAIT")
    expected = {
        # new_order. Before WAREHOUSE there are no dependencies, and by it none of its own type.
        1: ("NO_WAIT", 14, "NO_WAIT"),  # DISTRICT
        3: (2, 14, "NO_WAIT"),  # ITEM needs no wait; this one is for the exposure of DISTRICT
        4: (5, 16, "NO_WAIT"),  # STOCK: Payment has none, but may itself depend on a NewOrder
        6: (6, 16, "NO_WAIT"),  # NEW_ORDER
        7: (7, 16, 21),  # OORDER
        8: (8, 16, 23),  # its index: Delivery has none, but may depend on a NewOrder
        9: (9, 16, 23),  # ORDER_LINE
        10: (10, 16, 25),  # CUSTOMER
        # payment
        13: (2, 14, "NO_WAIT"),  # DISTRICT
        15: (10, 16, "NO_WAIT"),  # CUSTOMER
        17: (10, 17, 25),  # HISTORY: after all accesses that conflict with Payment
        # delivery
        20: (7, "NO_WAIT", 21),  # OORDER
        22: (9, "NO_WAIT", 23),  # ORDER_LINE
        24: (10, "NO_WAIT", 25),  # CUSTOMER: no Payment can be a dependency before it
    }
    assert waits == {state: expected.get(state, none) for state in range(26)}


def test_ic3_is_a_pipeline_over_the_micro_benchmark() -> None:
    from policies import workload_signature

    signature = workload_signature("micro")
    ic3 = build_seed("ic3", signature)
    for kind in signature.types:
        rows = [row for row in ic3.cc if row.type == kind.name]
        assert [row.early_validation for row in rows] == [True, *[False] * 5, True, True]
        # Before the cold accesses all dependencies have passed theirs.
        assert list(rows[1].wait.values()) == [other.states[6] for other in signature.types]
        # Before its own table, its type has passed it, and others have passed shared tables.
        assert dict(rows[7].wait) == {
            other.name: other.states[7 if other == kind else 6] for other in signature.types
        }


def test_tebaldi_of_one_group_is_ic3(tpcc: Signature) -> None:
    """The two layers of its paper (Polyjuice §7.2)."""
    one_group = build_seed("tebaldi:new_order.payment.delivery", tpcc)
    assert one_group.cc == build_seed("ic3", tpcc).cc
    assert build_seed("tebaldi:payment.new_order.delivery", tpcc).cc == one_group.cc


def test_tebaldi_waits_for_commits_between_groups_and_pipelines_within(tpcc: Signature) -> None:
    tebaldi = build_seed("tebaldi", tpcc)
    assert tebaldi.cc == build_seed("tebaldi:new_order.payment:delivery", tpcc).cc
    assert tebaldi.cc == build_seed("tebaldi:delivery", tpcc).cc  # the others form one group
    waits = {row.state: row.wait for row in tebaldi.cc}
    ic3 = {row.state: row.wait for row in build_seed("ic3", tpcc).cc}
    for name, states in (("new_order", range(11)), ("payment", range(11, 18))):
        for state in states:
            for other in ("new_order", "payment"):
                assert waits[state][other] == ic3[state][other], (name, state)
    # NewOrder meets Delivery at NEW_ORDER (6) first, Payment at CUSTOMER (15 and 16).
    commits = [state for state in range(18) if waits[state]["delivery"] == "COMMIT"]
    assert commits == [7, 8, 9, 10, 16, 17]
    assert all(waits[state]["delivery"] == "NO_WAIT" for state in range(18) if state not in commits)
    assert all(waits[state]["new_order"] == "COMMIT" for state in range(19, 26))


def test_a_type_outside_the_known_groups_forms_one_of_its_own() -> None:
    options = {"mix": "full", "analytical": "0.5"}
    signature = workload_signature("tpcc", options)
    assert signature.type_names[-1] == "analytical"
    known = build_seed("tebaldi", signature)
    assert known.cc == build_seed("tebaldi:new_order.payment:delivery", signature).cc


def test_types_that_conflict_with_other_groups_only_are_exposed_at_once(tpcc: Signature) -> None:
    alone = build_seed("tebaldi:new_order:payment:delivery", tpcc)
    rows = {row.state: row for row in alone.cc}
    # WAREHOUSE of NewOrder (0) is only written by Payment.
    assert (rows[0].read_version, rows[0].early_validation) == ("DIRTY", True)
    assert rows[3].read_version == "CLEAN"  # nothing writes ITEM
    assert not rows[3].early_validation


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("new_order:pay", "tpcc has no type 'pay'; there are new_order, payment, delivery"),
        ("new_order.payment:payment", "payment is named twice"),
        ("", "add GROUPS"),
        (":", "has no type ''"),
    ],
)
def test_wrong_groups_are_refused(groups: str, message: str, tpcc: Signature) -> None:
    with pytest.raises(ValueError, match=message):
        build_seed(f"tebaldi:{groups}", tpcc)
