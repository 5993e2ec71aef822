"""Searches that may choose the protocol, its options, and who is granted a lock."""

from __future__ import annotations

import json

import pytest

from policies import ACTION_GROUPS, GRANT, SCHEDULE, Signature, validate
from policies.protocol import IN_MEMORY, LOCKING, TABLE, protocol_name
from tests.slow import some_slow
from tests.trainer.dummy_search import Dummy, DummyConfig
from tests.trainer.fake_signatures import SIGNATURES
from tests.trainer.test_searches import NAMES, noise, play, small
from trainer.search import SEARCHES, Candidate, Measured, Search, build_search, warm_start
from trainer.search.registry import Entry
from trainer.search.space import Space, space_of

FAR = {"guided", "local", "random", "reduction"}
"""Searches that within few evaluations reach the cells that need others to have an effect."""

ALL = [*ACTION_GROUPS, SCHEDULE, GRANT]


@pytest.fixture(autouse=True)
def dummy_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEARCHES, "dummy", Entry(Dummy, DummyConfig))


def make(name: str, signature: Signature, seed: int = 1, **changed: object) -> tuple[Search, Space]:
    config = SEARCHES[name].config(name=name, **{**small(name), **changed})
    space = space_of(config, signature)
    return build_search(config, space, warm_start(space.encoding, [4.0]), seed), space


@pytest.mark.parametrize("name", some_slow(NAMES, ["reduction"]))
@pytest.mark.slow
def test_every_search_tries_every_protocol(name: str, tpcc: Signature) -> None:
    search, space = make(name, tpcc, protocols=list(IN_MEMORY), actions=ALL)
    found: dict[str, set[object]] = {"grant": set(), "rank": set()}
    names = set()

    def worth(candidate: Candidate) -> float:
        protocol = space.encoding.decode(candidate.vector, "x").protocol
        return noise(candidate) + (protocol_name(protocol) == LOCKING)

    for candidates in play(search, worth, 160):
        for candidate in candidates:
            document = space.encoding.decode(candidate.vector, "x")
            validate(document)
            assert tuple(space.encoding.encode(document)) == candidate.vector
            names.add(protocol_name(document.protocol))
            options = {} if document.protocol is None else document.protocol["options"]
            for option, values in found.items():
                values.add(options.get(option))
    # A random walk from one table does not have the warm start.
    assert names == set(IN_MEMORY) or name == "dummy"
    if name in FAR:
        assert len(found["grant"]) > 3
        assert len(found["rank"]) > 1


@pytest.mark.parametrize("name", some_slow(NAMES, ["reduction"]))
@pytest.mark.slow
def test_a_search_over_protocols_resumes_identically(name: str, tpcc: Signature) -> None:
    settings = {"protocols": list(IN_MEMORY), "actions": ALL}
    straight, _ = make(name, tpcc, 5, **settings)
    asked = play(straight, noise, 96)
    stopped, _ = make(name, tpcc, 5, **settings)
    done = sum(map(len, asked[:4]))
    assert play(stopped, noise, done) == asked[:4]
    resumed, _ = make(name, tpcc, 99, **settings)
    resumed.load_state_dict(json.loads(json.dumps(stopped.state_dict(), allow_nan=False)))
    assert play(resumed, noise, 96 - done) == asked[4:]


@pytest.mark.parametrize("name", some_slow(NAMES, ["reduction"]))
@pytest.mark.parametrize("actions", [[GRANT], [GRANT, SCHEDULE]])
def test_the_grant_policy_is_searched_alone_or_with_the_schedule(
    name: str, actions: list[str], tpcc: Signature
) -> None:
    search, space = make(name, tpcc, protocols=[LOCKING], actions=actions)
    documents = [
        space.encoding.decode(candidate.vector, "x")
        for candidates in play(search, noise, 60)
        for candidate in candidates
    ]
    assert {protocol_name(document.protocol) for document in documents} == {LOCKING}
    # The policy gradient draws from its distribution, in which the first table is likely.
    least = 3 if name == "policy_gradient" else 8
    assert len({json.dumps(document.protocol) for document in documents}) > least
    assert len({str(document.cc) + str(document.backoff) for document in documents}) == 1
    assert any(document.schedule for document in documents) == (SCHEDULE in actions)


@pytest.mark.slow
def test_guided_search_finds_the_protocol_and_the_ranks_that_win(tpcc: Signature) -> None:
    search, space = make("guided", tpcc, protocols=list(IN_MEMORY), actions=ALL)

    def worth(candidate: Candidate) -> float:
        protocol = space.encoding.decode(candidate.vector, "x").protocol
        if protocol_name(protocol) != LOCKING or protocol is None:
            return 0.5
        options = protocol["options"]
        rank = options.get("rank", "000")
        return 0.6 + 0.1 * (options.get("grant") == "hldsf") + 0.1 * (rank[2] > rank[0])

    asked = play(search, worth, 400)
    assert max(worth(one) for candidates in asked for one in candidates) == pytest.approx(0.8)
    assert worth(search.parents[0]) == pytest.approx(0.8)


def test_by_default_only_the_table_is_searched(tpcc: Signature) -> None:
    for name in NAMES:
        config = SEARCHES[name].config(name=name)
        assert config.protocols == [TABLE]
        assert space_of(config, tpcc).encoding.protocol_cells == range(
            (size := space_of(config, tpcc).encoding.size), size
        )


def test_rows_are_closed_without_the_table() -> None:
    signature = Signature.from_dict(SIGNATURES["transfer"])
    _, space = make("guided", signature, protocols=["mvto"])
    assert not set(space.open) & set(space.encoding.cc_cells)
    assert space.base[space.encoding.protocol_cells.start] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"protocols": ["mvtoo"]}, r"search\.protocols=\[mvtoo\].*use some of policy_table"),
        ({"protocols": []}, r"search\.protocols=\[\]: must name"),
        ({"actions": ["grant"]}, "add two_phase_locking to"),
        ({"protocols": ["mvto"], "actions": ["wait_fine"]}, "allows only one"),
    ],
)
def test_settings_that_leave_nothing_are_refused(
    settings: dict[str, list[str]], message: str, tpcc: Signature
) -> None:
    with pytest.raises(ValueError, match=message):
        make("guided", tpcc, **settings)


def test_measurements_reach_the_tables_that_were_proposed(tpcc: Signature) -> None:
    search, _ = make("evolution", tpcc, protocols=list(IN_MEMORY), actions=ALL)
    candidates = search.ask(search.batch)
    search.tell(candidates, [Measured(1.0) for _ in candidates])
    assert search.ask(search.batch)
