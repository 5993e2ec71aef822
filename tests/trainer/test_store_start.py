"""The warm start in front of an external store, and the moves of a search there."""

from __future__ import annotations

from random import Random

import pytest

from envs.external_sweep import TUNED_EXTERNAL
from policies import GRANT, SCHEDULE, Signature, validate
from policies.protocol import EXTERNAL, TABLE
from trainer.search import SEARCHES, build_search
from trainer.search.blame import Blame
from trainer.search.layout import Layout
from trainer.search.moves import Context, Moves
from trainer.search.space import Space, space_of, store_of
from trainer.search.store_start import store_start

POSTGRESQL = "external:store=postgresql"
TUNED = {
    "store": "postgresql",
    "concurrency": "8",
    "backoff_first_us": "1000",
    "backoff_longest_us": "64000",
}


def space(signature: Signature, *actions: str, protocol: str = POSTGRESQL) -> Space:
    config = SEARCHES["guided"].config(
        name="guided", protocols=[protocol], actions=list(actions or [SCHEDULE])
    )
    return space_of(config, signature)


def test_it_has_the_store_alone_tuned_and_with_each_scheduler(tpcc: Signature) -> None:
    encoding = space(tpcc).encoding
    start = store_start(encoding, [TUNED])
    documents = [encoding.decode(each.vector, "x") for each in start]
    assert [each.origin for each in start[:2]] == [EXTERNAL, TUNED_EXTERNAL]
    assert documents[0].protocol == {"name": EXTERNAL, "options": {"store": "postgresql"}}
    assert documents[1].protocol == {"name": EXTERNAL, "options": TUNED}
    options = [each.protocol["options"] for each in documents if each.protocol]
    assert any(each.get("merge") and each.get("locks") for each in options)
    assert any(each.get("isolation") == "read_committed" for each in options)
    assert not any("begin" in each for each in options)
    assert any(each.schedule is not None for each in documents)
    assert len({each.vector for each in start}) == len(start)
    for document, each in zip(documents, start, strict=True):
        validate(document)
        assert encoding.canonical(each.vector) == each.vector
    # The engine refuses weaker isolation without locks, in effect: the checker would find it.
    for each in options:
        assert "isolation" not in each or each["locks"] == "hints"


def test_settings_that_a_search_cannot_express_are_rounded(tpcc: Signature) -> None:
    encoding = space(tpcc).encoding
    odd = {**TUNED, "concurrency": "24", "backoff_longest_us": "70000"}
    document = encoding.decode(store_start(encoding, [odd])[1].vector, "x")
    assert document.protocol is not None
    assert document.protocol["options"]["concurrency"] in ("16", "32")
    assert document.protocol["options"]["backoff_longest_us"] == "64000"


def test_only_the_protocol_and_the_schedule_are_searched(tpcc: Signature) -> None:
    found = space(tpcc, "backoff", "wait_fine", SCHEDULE)
    start = found.encoding.schedule_cells.start
    assert found.open[0] >= start
    names = [found.encoding.cells[cell].name for cell in found.open]
    assert "protocol.merge" in names
    assert "protocol.name" not in names
    assert found.draw(Random(1))[found.encoding.protocol_cells.start] == 1


def test_a_move_brings_what_an_option_needs(tpcc: Signature) -> None:
    encoding = space(tpcc).encoding
    layout = Layout(encoding)
    isolation = layout.option("isolation")
    vector = encoding.encode(encoding.decode(store_start(encoding, [])[0].vector, "x"))
    needed = layout.needs(isolation, vector, Random(1))
    vector = [needed.get(cell, value) for cell, value in enumerate(vector)]
    vector[isolation] = 1
    found = encoding.decode(encoding.canonical(vector), "x").protocol
    assert found is not None
    assert found["options"] == {
        "store": "postgresql",
        "locks": "hints",
        "isolation": "read_committed",
    }


def test_guided_moves_reach_every_option(tpcc: Signature) -> None:
    found = space(tpcc)
    moves = Moves(found, Random(3))
    assert set(moves.names) == {"schedule", "protocol", "merge"}
    vector = store_start(found.encoding, [])[0].vector
    states = len(tpcc.accesses)
    blame = Blame(tuple([1.0] * states), tuple([1.0] * len(tpcc.types)), 0.5)
    seen: set[str] = set()
    for _ in range(400):
        moved = moves.make("protocol", Context(vector, blame, [vector]))
        document = found.encoding.decode(found.encoding.canonical(moved), "x")
        validate(document)
        assert document.protocol is not None
        seen |= {*document.protocol["options"]}
    assert seen >= {option.name for option in found.encoding.protocol.options}


@pytest.mark.parametrize("name", ["guided", "evolution", "local", "random", "policy_gradient"])
def test_every_search_stays_in_the_store(name: str, tpcc: Signature) -> None:
    config = SEARCHES[name].config(name=name, protocols=[POSTGRESQL], actions=[SCHEDULE])
    found = space_of(config, tpcc)
    search = build_search(config, found, store_start(found.encoding, [TUNED]), 1)
    for candidate in search.ask(search.batch):
        document = found.encoding.decode(candidate.vector, "x")
        assert document.protocol is not None
        assert document.protocol["name"] == EXTERNAL
        validate(document)


@pytest.mark.parametrize(
    ("protocols", "actions", "message"),
    [
        ([POSTGRESQL, TABLE], [SCHEDULE], "name it alone"),
        ([POSTGRESQL], [GRANT], "no grant policy"),
        (["external:store=oracle"], [SCHEDULE], "oracle"),
        (["external:merge=0"], [SCHEDULE], "merge"),
        (["external:store postgresql"], [SCHEDULE], "options of external:store postgresql can't"),
        (["external:folder=/tmp/a b"], [SCHEDULE], "write :option=value for each"),
        (["mvto", f"{POSTGRESQL}:dsn=postgresql://me:secret@db/x"], [SCHEDULE], "has a password"),
    ],
)
def test_wrong_protocols_are_refused(
    protocols: list[str], actions: list[str], message: str, tpcc: Signature
) -> None:
    config = SEARCHES["guided"].config(name="guided", protocols=protocols, actions=actions)
    with pytest.raises(ValueError, match=message):
        space_of(config, tpcc)


def test_the_engine_has_no_store() -> None:
    assert store_of(SEARCHES["guided"].config(name="guided")) is None
