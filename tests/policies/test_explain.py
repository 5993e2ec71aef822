from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from policies import PolicyFileError, Signature, build_seed
from policies.explain import differences, differences_table, render, wait_label


def drawn(what: RenderableType) -> list[str]:
    console = Console(width=200, force_terminal=False, markup=False)
    with console.capture() as capture:
        console.print(what)
    return capture.get().splitlines()


def test_waits_are_named(tpcc: Signature) -> None:
    assert wait_label(tpcc, "NO_WAIT") == "-"
    assert wait_label(tpcc, "COMMIT") == "commit"
    assert wait_label(tpcc, 16) == "16 w CUSTOMER"
    assert wait_label(tpcc, 19) == "19 del NEW_ORDER"


def test_each_access_has_a_row_with_its_name_and_waits(tpcc: Signature) -> None:
    lines = drawn(render(build_seed("ic3", tpcc)))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]
    by_state = {row[0]: row for row in rows if len(row) == 9}
    assert by_state["7"] == [
        "7",
        f"new_order.{tpcc.accesses[7].name}",
        "ins OORDER",
        "7 ins OORDER",
        "16 w CUSTOMER",
        "21 w OORDER",
        "",
        "public",
        "early",
    ]
    assert by_state["3"][2] == "r ITEM *"
    assert len(by_state) == 26


def test_provenance_has_a_line_for_each_field(tpcc: Signature) -> None:
    known = {"search": "evolution", "scores": {"silo": 1.5, "ic3": 2.0}, "of": {"a": {"b": 1}}}
    lines = drawn(render(replace(build_seed("ic3", tpcc), provenance=known)))
    assert lines[0] == "ic3  for tpcc: 3 types, 26 states"
    told = ["provenance:", "  search: evolution", "  scores: silo 1.5, ic3 2.0", "  of: a b 1"]
    assert lines[-4:] == told


def test_every_policy_of_every_workload_can_be_drawn(signature: Signature) -> None:
    for name in ("occ", "two_phase_locking_star", "ic3", "random:3"):
        lines = drawn(render(build_seed(name, signature)))
        for kind, access in signature.rows():
            assert any(f"{kind.name}.{access.name} " in line for line in lines)


def test_many_types_share_a_column() -> None:
    from policies import workload_signature

    text = "\n".join(
        drawn(render(build_seed("two_phase_locking_star", workload_signature("micro"))))
    )
    assert "all: commit" in text


def test_a_policy_does_not_differ_from_itself(signature: Signature) -> None:
    ic3 = build_seed("ic3", signature)
    assert differences(ic3, replace(ic3, name="renamed", provenance={})) == []


def test_differences_are_in_words(tpcc: Signature) -> None:
    one = build_seed("occ", tpcc)
    row = replace(
        one.cc[15],
        wait={**one.cc[15].wait, "new_order": 5, "delivery": "COMMIT"},
        read_version="DIRTY",
        early_validation=True,
    )
    payment = replace(one.backoff["payment"], initial_us=8.0, abort=(1.0, 4.0, 1.0))
    other = replace(
        one,
        cc=(*one.cc[:15], row, *one.cc[16:]),
        backoff={**one.backoff, "payment": payment},
        schedule={"k": 5},
    )
    assert [str(difference) for difference in differences(one, other)] == [
        "15 payment.read_customer: wait for new_order: - → 5 w STOCK",
        "15 payment.read_customer: wait for delivery: - → commit",
        "15 payment.read_customer: read version: clean → dirty",
        "15 payment.read_customer: early validation: no → yes",
        "backoff of payment: initial_us: 1 µs → 8 µs",
        "backoff of payment: abort[1]: alpha 1 → alpha 4",
        "schedule: parameters: none → k 5",
    ]
    text = "\n".join(drawn(differences_table(one, other)))
    assert "7 of 177 cells differ" in text


def test_policies_of_different_workloads_are_not_compared(tpcc: Signature) -> None:
    from policies import workload_signature

    occ = build_seed("occ", tpcc)
    with pytest.raises(PolicyFileError, match="tpcc and ycsb"):
        differences(occ, build_seed("occ", workload_signature("ycsb")))
    first = tpcc.types[0]
    renamed = replace(first.accesses[0], table="DEPOT")
    changed = replace(
        tpcc, types=(replace(first, accesses=(renamed, *first.accesses[1:])), *tpcc.types[1:])
    )
    with pytest.raises(PolicyFileError, match=r"WAREHOUSE.* and .*DEPOT"):
        differences(occ, build_seed("occ", changed))
