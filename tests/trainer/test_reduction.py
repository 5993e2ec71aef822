from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

import pytest

from policies import ACTION_GROUPS, Encoding, build_seed, ic3_without
from policies.conflicts import Edge, conflict_edges
from tests.trainer.test_searches import play
from trainer.search import Candidate, Measured, warm_start
from trainer.search.reduction import Reduction, ReductionConfig
from trainer.search.space import Space


def make(encoding: Encoding, **changed: object) -> Reduction:
    config = ReductionConfig(name="reduction", **changed)  # type: ignore[arg-type]
    return Reduction(Space(encoding, config.actions), config, warm_start(encoding, [4.0]), 1)


def near(encoding: Encoding, target: list[int]) -> Callable[[Candidate], float]:
    """Return the share of cells, except the backoff, that equal the target."""
    cells = [index for index, cell in enumerate(encoding.cells) if cell.state is not None]

    def worth(candidate: Candidate) -> float:
        return sum(candidate.vector[cell] == target[cell] for cell in cells) / len(cells)

    return worth


def reduce(search: Reduction, worth: Callable[[Candidate], float]) -> list[list[Candidate]]:
    """Play the first step only."""
    asked = []
    while not search.reduced:
        candidates = search.ask(search.batch)
        search.tell(candidates, [Measured(worth(candidate)) for candidate in candidates])
        asked.append(candidates)
    return asked


def removable(encoding: Encoding) -> list[Edge]:
    """Return the edges whose removal changes the table."""
    ic3 = build_seed("ic3", encoding.signature)
    return [
        edge
        for edge in conflict_edges(encoding.signature)
        if ic3_without(encoding.signature, frozenset({edge})).cc != ic3.cc
    ]


def left_in(search: Reduction, encoding: Encoding) -> list[Edge]:
    """Return the edges that the search has not dropped."""
    edges = conflict_edges(encoding.signature)
    return [edge for edge in edges if edge not in search.dropped]


def test_reduction_begins_with_ic3_under_all_backoffs(encoding: Encoding) -> None:
    first = make(encoding).ask(40)
    ic3 = build_seed("ic3", encoding.signature)
    documents = [encoding.decode(candidate.vector, "x") for candidate in first]
    assert all(document.cc == ic3.cc for document in documents)
    assert len({tuple(document.backoff.values()) for document in documents}) == len(first) > 2


@pytest.mark.slow
def test_conflicts_whose_removal_gains_are_dropped(encoding: Encoding) -> None:
    wanted = frozenset(removable(encoding)[2:6:3])
    target = encoding.encode(ic3_without(encoding.signature, wanted))
    worth = near(encoding, target)
    search = make(encoding, proposals=12)
    asked = reduce(search, worth)
    assert wanted <= search.dropped
    found = max((one for candidates in asked for one in candidates), key=worth)
    assert worth(found) == 1.0
    assert found.origin.startswith("ic3 without ")


def test_conflicts_whose_removal_does_not_gain_stay(encoding: Encoding) -> None:
    search = make(encoding)
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    reduce(search, near(encoding, ic3))
    assert ic3_without(encoding.signature, search.dropped).cc == encoding.decode(ic3, "x").cc


def test_a_round_compares_every_removed_edge_with_the_whole_graph(
    encoding: Encoding,
) -> None:
    search = make(encoding, proposals=7)
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    _, *rounds = reduce(search, near(encoding, ic3))
    assert len({candidates[0] for candidates in rounds}) == 1
    tables = [candidate.vector for candidates in rounds for candidate in candidates[1:]]
    assert len(tables) > 2 * search.batch
    assert rounds[0][0].vector not in tables


@pytest.mark.slow
def test_rounds_are_bounded(encoding: Encoding) -> None:
    occ = encoding.encode(build_seed("occ", encoding.signature))
    found = []
    for rounds in (0, 1, 2):
        search = make(encoding, rounds=rounds)
        reduce(search, near(encoding, occ))
        found.append(len(search.dropped))
    assert found == sorted(found)
    assert len(set(found)) == 3


def test_of_too_many_conflicts_those_of_one_table_are_dropped_together(
    encoding: Encoding,
) -> None:
    """The micro-benchmark has 1895 conflicts, too many to remove one by one."""
    accesses = encoding.signature.accesses
    edges = left_in(make(encoding), encoding)
    tables = {accesses[one].table for one, _ in edges}
    search = make(encoding, edges=len(edges) - 1, rounds=1)
    occ = encoding.encode(build_seed("occ", encoding.signature))
    _, *rounds = reduce(search, near(encoding, occ))
    asked = {one.vector: one.origin for candidates in rounds for one in candidates[1:]}
    assert len(asked) == len(tables) < len(edges)
    (table,) = {accesses[one].table for one, _ in search.dropped & set(edges)}
    assert {edge for edge in edges if accesses[edge[0]].table == table} <= search.dropped
    assert any(origin.endswith(f" on {table}") for origin in asked.values())


@pytest.mark.slow
def test_few_remaining_conflicts_are_dropped_one_by_one(encoding: Encoding) -> None:
    edges = left_in(make(encoding), encoding)
    search = make(encoding, edges=len(edges) - 1)
    occ = encoding.encode(build_seed("occ", encoding.signature))
    origins = [one.origin for found in reduce(search, near(encoding, occ)) for one in found]
    assert any(" on " in origin for origin in origins)
    assert any(" – " in origin for origin in origins)


def test_a_state_of_earlier_versions_is_read(encoding: Encoding) -> None:
    search, other = make(encoding, proposals=7), make(encoding, proposals=7)
    for _ in range(4):
        candidates = search.ask(7)
        search.tell(candidates, [Measured(0.5) for _ in candidates])
    state = search.state_dict()
    assert state["left"]
    assert state["round"]
    before = state | {
        "left": [edge for (edge,) in state["left"]],
        "round": [[*edge, fitness] for edge, fitness in state["round"]],
    }
    other.load_state_dict(json.loads(json.dumps(before)))
    assert other.ask(7) == search.ask(7)
    other.load_state_dict(json.loads(json.dumps(state)))
    assert other.ask(7) == search.ask(7)


@pytest.mark.slow
def test_remaining_cells_and_the_backoff_are_tuned_afterwards(encoding: Encoding) -> None:
    """The target is a hidden table: IC3 with a third of its cells changed."""
    space, random = Space(encoding, ACTION_GROUPS), Random(2)
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    hidden = space.redraw(ic3, random.sample(space.open, len(space.open) // 3), random)

    def worth(candidate: Candidate) -> float:
        return sum(v == h for v, h in zip(candidate.vector, hidden, strict=True)) / len(hidden)

    search = make(encoding, proposals=24, rounds=1, startup=24)
    reduce(search, worth)
    kept = search.ask(24)[0]
    tuned = [one for candidates in play(search, worth, 240) for one in candidates]
    for candidate in tuned:
        for cell, value, before in zip(encoding.cells, candidate.vector, kept.vector, strict=True):
            assert cell.state is None or value == before or before != cell.default
    best = max(tuned, key=worth)
    assert best.origin == "Bayesian optimisation"
    assert worth(best) > worth(kept) + 0.02
    assert worth(best) > max(map(worth, warm_start(encoding, [4.0]))) + 0.02
    chance = (Candidate(space.draw(random), "random") for _ in range(240))
    assert worth(best) > max(map(worth, chance)) + 0.1


def test_the_graph_without_any_edge_is_occ(encoding: Encoding) -> None:
    edges = frozenset(conflict_edges(encoding.signature))
    assert ic3_without(encoding.signature, edges).cc == build_seed("occ", encoding.signature).cc
    none = ic3_without(encoding.signature, frozenset())
    assert none == build_seed("ic3", encoding.signature)


def test_only_the_backoff_is_tuned_if_no_other_action_is_allowed(encoding: Encoding) -> None:
    asked = play(make(encoding, proposals=8, startup=8, actions=["backoff"]), lambda _: 1.0, 40)
    allowed = encoding.allowed(["backoff"])
    for candidate in (one for candidates in asked for one in candidates):
        assert all(v in values for v, values in zip(candidate.vector, allowed, strict=True))


def test_without_remaining_cells_all_open_cells_are_tuned(encoding: Encoding) -> None:
    """Every conflict is dropped, and the backoff is not among the actions."""
    dirty = encoding.allowed(["dirty_read"])
    free = [cell for cell, values in enumerate(dirty) if len(values) > 1]

    def worth(candidate: Candidate) -> float:
        return -float(sum(candidate.vector[cell] != encoding.cells[cell].default for cell in free))

    search = make(encoding, proposals=8, startup=8, actions=["dirty_read"])
    asked = play(search, worth, 60)
    assert search.reduced
    last = {candidate.vector for candidates in asked[-3:] for candidate in candidates}
    assert len(last) > 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"proposals": 1}, "search.proposals=1: must be at least 2"),
        ({"rounds": -1}, "search.rounds=-1"),
        ({"edges": 0}, "search.edges=0"),
        ({"startup": 0}, "search.startup=0"),
        ({"startup": 1000}, "search.startup=1000: must be below 1000"),
        ({"cells": 0}, "search.cells=0"),
    ],
)
def test_a_setting_out_of_range_is_named(
    encoding: Encoding, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(encoding, **changed)
