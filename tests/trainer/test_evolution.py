from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from policies import ACTION_GROUPS, Encoding, Signature, build_seed
from trainer.search import Candidate, Measured, warm_start
from trainer.search.evolution import Evolution, EvolutionConfig
from trainer.search.space import Space


def config(**changed: object) -> EvolutionConfig:
    return EvolutionConfig(name="evolution", **changed)  # type: ignore[arg-type]


def evolution(
    encoding: Encoding, settings: EvolutionConfig, start: Sequence[Candidate], seed: int
) -> Evolution:
    return Evolution(Space(encoding, settings.actions), settings, start, seed)


def worth(candidates: Sequence[Candidate]) -> list[Measured]:
    """Return a fitness that grows with the number of cells that are 1."""
    return [Measured(sum(v == 1 for v in c.vector) / len(c.vector)) for c in candidates]


def play(search: Evolution, generations: int) -> list[list[Candidate]]:
    asked = []
    for _ in range(generations):
        candidates = search.ask(search.batch)
        search.tell(candidates, worth(candidates))
        asked.append(candidates)
    return asked


@pytest.fixture
def start(encoding: Encoding) -> list[Candidate]:
    return warm_start(encoding, [4.0])


def test_evolution_begins_with_the_warm_start(encoding: Encoding, start: list[Candidate]) -> None:
    assert evolution(encoding, config(), start, 1).ask(40) == start


def test_a_generation_has_parents_and_four_children_of_each(
    encoding: Encoding, start: list[Candidate]
) -> None:
    search = evolution(encoding, config(), start, 1)
    first, second, third = play(search, 3)
    assert search.batch == 40
    assert len(second) == len(third) == 40
    assert len({candidate.vector for candidate in second}) == 40
    best = sorted((measured.fitness for measured in worth(first)), reverse=True)[:8]
    assert [measured.fitness for measured in worth(second[:8])] == best
    assert {candidate.vector for candidate in second[:8]} <= {c.vector for c in first}
    assert all(candidate.origin == "mutation" for candidate in second[8:])


def test_parents_survive_until_better_tables_appear(
    encoding: Encoding, start: list[Candidate]
) -> None:
    asked = play(evolution(encoding, config(), start, 1), 20)
    bests = [max(measured.fitness for measured in worth(candidates)) for candidates in asked]
    assert bests == sorted(bests)
    assert bests[-1] > bests[0]


def test_no_child_is_proposed_twice(encoding: Encoding, start: list[Candidate]) -> None:
    asked = play(evolution(encoding, config(probability=0.01), start, 1), 20)
    children = [c.vector for candidates in asked[1:] for c in candidates[8:]]
    assert len(children) == len(set(children))


def test_one_high_slice_does_not_outrank_many(encoding: Encoding, start: list[Candidate]) -> None:
    search = evolution(encoding, config(parents=1), start[:2], 1)
    search.tell(start[:2], [Measured(1.05, error=0.01), Measured(1.10, error=0.10)])
    assert search.ask(5)[0] == start[0]


def test_p_and_lambda_decay_to_their_floors(encoding: Encoding, start: list[Candidate]) -> None:
    search = evolution(encoding, config(decay=0.5, probability=0.05), start, 1)
    seen = []
    for _ in range(8):
        seen.append((search.probability, search.distance))
        play(search, 1)
    assert seen[:3] == [(0.05, 4.0), (0.025, 2.0), (0.0125, 1.0)]
    assert seen[-1] == (0.01, 1.0)


def test_seeds_differ_and_repeat(encoding: Encoding, start: list[Candidate]) -> None:
    one, same, other = (evolution(encoding, config(), start, seed) for seed in (1, 1, 2))
    assert play(one, 4) == play(same, 4)
    assert play(evolution(encoding, config(), start, 1), 4) != play(other, 4)


def test_evolution_resumes_identically(encoding: Encoding, start: list[Candidate]) -> None:
    straight = evolution(encoding, config(), start, 5)
    asked = play(straight, 6)
    stopped = evolution(encoding, config(), start, 5)
    play(stopped, 3)
    state = json.loads(json.dumps(stopped.state_dict()))
    resumed = evolution(encoding, config(), start, 99)
    resumed.load_state_dict(state)
    assert play(resumed, 3) == asked[3:]
    assert resumed.state_dict() == straight.state_dict()


def test_only_the_allowed_actions_are_used(encoding: Encoding, start: list[Candidate]) -> None:
    search = evolution(encoding, config(actions=["backoff", "wait_coarse"]), start, 1)
    for candidates in play(search, 5):
        for candidate in candidates:
            document = encoding.decode(candidate.vector, "x")
            assert all(row.write_visibility in (None, "PRIVATE") for row in document.cc)
            assert {w for row in document.cc for w in row.wait.values()} <= {"NO_WAIT", "COMMIT"}


def test_crossover_takes_rows_of_another_parent(encoding: Encoding, start: list[Candidate]) -> None:
    search = evolution(encoding, config(crossover=1.0, probability=0.0), start, 1)
    _, children = play(search, 2)
    assert len(children) > 8


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parents": 0}, "search.parents=0"),
        ({"probability": 1.5}, "search.probability=1.5"),
        ({"decay": 0.0}, "search.decay=0.0"),
        ({"distance": -1.0}, "search.distance=-1.0: must be from 1"),
        ({"distance": math.inf}, "search.distance=inf"),
        ({"distance_min": 0.0}, "search.distance_min=0.0"),
        ({"actions": ["wait"]}, "wait_coarse"),
    ],
)
def test_a_setting_out_of_range_is_named(
    encoding: Encoding, start: list[Candidate], changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        evolution(encoding, config(**changed), start, 1)


def test_the_warm_start_has_the_seeds_and_silo_tuned_as_a_table(
    encoding: Encoding, tpcc: Signature
) -> None:
    start = warm_start(encoding, [16.0])
    documents = [encoding.decode(candidate.vector, "x") for candidate in start]
    for name in ("occ", "two_phase_locking_star", "ic3"):
        seed = build_seed(name, tpcc)
        backoffs = {
            row.initial_us
            for document in documents
            if document.cc == seed.cc
            for row in document.backoff.values()
            if row.abort == (0.0, 0.0, 0.0)
        }
        assert 16.0 in backoffs
        assert seed.backoff in [d.backoff for d in documents if d.cc == seed.cc]
    assert len({candidate.vector for candidate in start}) == len(start)


def test_too_many_children_for_a_generation_are_refused(encoding: Encoding) -> None:
    message = r"search\.parents × \(1 \+ search\.children\)=100010000: must be at most 10000"
    with pytest.raises(ValueError, match=message):
        Evolution(
            Space(encoding, ACTION_GROUPS), EvolutionConfig(parents=10**4, children=10**4), [], 1
        )


def test_parents_are_different_policies_with_a_searched_schedule(
    encoding: Encoding,
) -> None:
    """Under `fifo` no parameter has an effect, so that many tables are one policy."""
    both = Encoding(encoding.signature, scheduled=True)
    actions = [*ACTION_GROUPS, "schedule"]
    policy = both.schedule_cells.start
    search = evolution(both, config(actions=actions, focus=0.7), warm_start(both, [4.0]), 1)
    for _ in range(12):
        asked = search.ask(search.batch)
        # The best tables are a few with `fifo`.
        worth = [float(one.vector[policy] == 0) + 0.01 * sum(one.vector[:9]) for one in asked]
        search.tell(asked, [Measured(value) for value in worth])
    parents = [both.canonical(one.vector) for one in search.parents]
    assert len(set(parents)) == len(parents) == 8
