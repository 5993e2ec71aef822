from __future__ import annotations

from policies import PolicyDocument, Signature, build_seed
from policies.effects import Effects
from policies.seeds.table import Actions, make_table
from policies.signature import Access, TransactionType


def two_types(workload: str = "made_up", loop: bool = False) -> Signature:
    """`a` reads and writes R, then reads S; `b` writes S, then R."""
    a = (
        Access(0, "read_r", "R", "read", loop),
        Access(1, "write_r", "R", "update", loop),
        Access(2, "read_s", "S", "read"),
    )
    b = (Access(3, "write_s", "S", "update"), Access(4, "write_r", "R", "update"))
    return Signature(workload, (TransactionType("a", a), TransactionType("b", b)))


def made(signature: Signature, **actions: Actions) -> PolicyDocument:
    """Return a table with the given cells and OCC's for the others."""
    return make_table(
        "made", signature, lambda kind, access: actions.get(f"{kind.name}_{access.name}", Actions())
    )


WAIT = {"a": "COMMIT", "b": 3}


def test_occ_does_nothing(signature: Signature) -> None:
    for row in Effects(build_seed("occ", signature)).rows:
        assert set(row.wait.values()) == {"NO_WAIT"}
        assert not any((row.dirty, row.publishes, row.validates))


def test_every_wait_of_ic3_has_an_effect(tpcc: Signature) -> None:
    ic3 = build_seed("ic3", tpcc)
    assert [row.wait for row in Effects(ic3).rows] == [dict(row.wait) for row in ic3.cc]


def test_waits_need_a_published_write() -> None:
    table = made(two_types(), a_read_s=Actions(wait=WAIT, dirty_read=True, early_validation=True))
    row = Effects(table).rows[2]
    assert row.wait == {"a": "NO_WAIT", "b": "NO_WAIT"}
    assert not row.dirty
    assert row.validates


def test_a_dirty_read_makes_its_writers_dependencies() -> None:
    table = made(
        two_types(),
        a_read_r=Actions(wait=WAIT, dirty_read=True),
        a_write_r=Actions(wait=WAIT),
        a_read_s=Actions(dirty_read=True),
        b_write_r=Actions(wait=WAIT, public_write=True),
    )
    rows = Effects(table).rows
    assert rows[0].dirty
    assert rows[0].wait == {"a": "NO_WAIT", "b": "NO_WAIT"}  # there is no earlier access
    assert rows[1].wait == {"a": "NO_WAIT", "b": 3}  # a publishes nothing
    assert not rows[
        2
    ].dirty  # b also writes S, but no row publishes to it, so it has no access lists
    assert rows[4].wait == {"a": "NO_WAIT", "b": "NO_WAIT"}  # b's only publication point is later


def test_a_publication_makes_access_list_entries_dependencies() -> None:
    public, waits = Actions(public_write=True), Actions(wait=WAIT)
    table = made(two_types(), a_write_r=public, a_read_s=waits)
    assert Effects(table).rows[2].wait == {"a": "COMMIT", "b": "NO_WAIT"}
    table = made(
        two_types(), a_write_r=public, a_read_s=waits, b_write_s=Actions(early_validation=True)
    )
    assert Effects(table).rows[2].wait == WAIT  # b's point may enter its accesses to R


def test_later_accesses_of_a_loop_can_precede() -> None:
    actions = {"a_read_r": Actions(wait=WAIT), "a_write_r": Actions(public_write=True)}
    assert Effects(made(two_types(), **actions)).rows[0].wait["a"] == "NO_WAIT"
    assert Effects(made(two_types(loop=True), **actions)).rows[0].wait["a"] == "COMMIT"


def test_all_accesses_without_an_order_can_precede() -> None:
    actions = {"a_read_r": Actions(wait=WAIT), "a_write_r": Actions(public_write=True)}
    assert Effects(made(two_types("generic"), **actions)).rows[0].wait["a"] == "COMMIT"


def test_a_published_write_is_validated() -> None:
    row = Effects(made(two_types(), b_write_s=Actions(public_write=True))).rows[3]
    assert row.publishes
    assert row.validates
