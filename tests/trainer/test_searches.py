"""The contract of all searches, including the example in `docs/add-a-search.md`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from random import Random

import pytest

from policies import ACTION_GROUPS, Encoding, Signature, build_seed, validate
from tests.scale import scaled
from tests.slow import some_slow
from tests.trainer.dummy_search import Dummy, DummyConfig
from tests.trainer.fake_signatures import SIGNATURES
from trainer.config import SearchConfig
from trainer.search import SEARCHES, Candidate, Measured, Search, build_search, warm_start
from trainer.search.registry import Entry
from trainer.search.space import Space

Worth = Callable[[Candidate], float]
NAMES = [*SEARCHES, "dummy"]
MOST_QUICK = some_slow(NAMES, ["reduction"])
OWN_SIZES = {
    "evolution": {"parents": 4, "children": 2},
    "reduction": {"proposals": 12, "rounds": 1, "startup": 12},
}
"""Settings of searches whose generations depend on more than `proposals`."""


@pytest.fixture(autouse=True)
def dummy_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEARCHES, "dummy", Entry(Dummy, DummyConfig))


def small(name: str) -> dict[str, int]:
    """Return settings with twelve candidates in a generation."""
    return OWN_SIZES.get(name, {"proposals": 12})


def make(name: str, encoding: Encoding, seed: int = 1, **changed: object) -> Search:
    config: SearchConfig = SEARCHES[name].config(name=name, **{**small(name), **changed})
    space = Space(encoding, config.actions)
    return build_search(config, space, warm_start(encoding, [4.0]), seed)


def separable(encoding: Encoding, seed: int) -> Worth:
    """Return a fitness that adds weights of the cells equal to a hidden table."""
    random = Random(1000 + seed)
    space = Space(encoding, ACTION_GROUPS)
    hidden, weights = space.draw(random), [random.random() for _ in space.values]

    def worth(candidate: Candidate) -> float:
        agreed = (w for v, h, w in zip(candidate.vector, hidden, weights, strict=True) if v == h)
        return sum(agreed) / sum(weights)

    return worth


def noise(candidate: Candidate) -> float:
    """Return a random fitness of a candidate."""
    return hashlib.sha256(str(candidate.vector).encode()).digest()[0] / 255


def play(search: Search, worth: Worth, evaluations: int) -> list[list[Candidate]]:
    """Run a search up to a number of measured candidates, as the training loop does."""
    asked: list[list[Candidate]] = []
    while (left := evaluations - sum(map(len, asked))) > 0:
        candidates = search.ask(min(search.batch, left))
        assert 1 <= len(candidates) <= min(search.batch, left)
        search.tell(candidates, [Measured(worth(candidate)) for candidate in candidates])
        asked.append(candidates)
    return asked


def best(asked: Sequence[Sequence[Candidate]], worth: Worth) -> float:
    return max(worth(candidate) for candidates in asked for candidate in candidates)


@pytest.mark.parametrize("name", MOST_QUICK)
def test_searches_without_a_starting_table_refuse_one(name: str, encoding: Encoding) -> None:
    if name not in {"policy_gradient", "random"}:
        make(name, encoding, start=["ic3"])
        return
    with pytest.raises(ValueError, match=rf"search.start=\[ic3\]: search={name} "):
        make(name, encoding, start=["ic3"])


def test_random_tables_can_be_near_a_given_one(encoding: Encoding) -> None:
    make("random", encoding, start=["ic3"], near=0.5)


@pytest.mark.parametrize("name", MOST_QUICK)
def test_candidates_are_different_tables_of_the_workload(name: str, encoding: Encoding) -> None:
    asked = play(make(name, encoding), noise, scaled(50, most=150))
    for candidates in asked:
        assert len({candidate.key for candidate in candidates}) == len(candidates)
        for candidate in candidates:
            assert candidate.origin
            encoding.decode(candidate.vector, "x")


@pytest.mark.parametrize("name", some_slow(sorted({*NAMES} - {"policy_gradient"}), ["reduction"]))
@pytest.mark.parametrize("scheduled", [False, True])
def test_tables_proposed_again_are_parents(name: str, scheduled: bool, encoding: Encoding) -> None:
    """Otherwise the loop would drop their samples, and a single high one would count alone.

    The policy gradient is exempt, because it draws from its distribution.
    """
    if scheduled:
        encoding = Encoding(encoding.signature, scheduled=True)
    worth, search = separable(encoding, 3), make(name, encoding)
    seen: set[str] = set()
    for _ in range(20):
        known = {candidate.key for candidate in search.parents}
        candidates = search.ask(search.batch)
        again = {candidate.key for candidate in candidates} & seen
        assert again <= known
        seen |= {candidate.key for candidate in candidates}
        search.tell(candidates, [Measured(worth(candidate)) for candidate in candidates])


@pytest.mark.parametrize("name", MOST_QUICK)
@pytest.mark.parametrize("actions", [["early_validation"], ["wait_coarse", "backoff"]])
def test_cells_outside_the_actions_stay_as_in_occ(
    name: str, actions: list[str], encoding: Encoding
) -> None:
    allowed = encoding.allowed(actions)
    asked = play(make(name, encoding, actions=actions), noise, 100)
    used: set[int] = set()
    for candidate in (one for candidates in asked for one in candidates):
        for index, (value, values) in enumerate(zip(candidate.vector, allowed, strict=True)):
            assert value in values
            if value != encoding.cells[index].default:
                used.add(index)
    assert len(used) > 5


@pytest.mark.parametrize("name", MOST_QUICK)
@pytest.mark.parametrize(
    ("actions", "message"),
    [([], r"search.actions=\[\]"), (["wait"], r"search.actions=\[wait\].*wait_coarse, wait_fine")],
)
def test_an_unknown_group_is_reported_with_the_known_ones(
    name: str, actions: list[str], message: str, encoding: Encoding
) -> None:
    with pytest.raises(ValueError, match=message):
        make(name, encoding, actions=actions)


@pytest.mark.parametrize("name", MOST_QUICK)
@pytest.mark.parametrize("generations", [1, 4])
def test_a_search_resumes_identically(name: str, generations: int, encoding: Encoding) -> None:
    worth = separable(encoding, 3)
    straight = make(name, encoding, 5)
    asked = play(straight, worth, 12 * 8)
    stopped = make(name, encoding, 5)
    done = sum(map(len, asked[:generations]))
    assert play(stopped, worth, done) == asked[:generations]
    state = json.loads(json.dumps(stopped.state_dict(), allow_nan=False))
    resumed = make(name, encoding, 99)
    resumed.load_state_dict(state)
    assert play(resumed, worth, 12 * 8 - done) == asked[generations:]
    assert resumed.state_dict() == straight.state_dict()


@pytest.mark.parametrize("name", MOST_QUICK)
def test_seeds_repeat_and_differ(name: str, encoding: Encoding) -> None:
    one, same, other = (play(make(name, encoding, seed), noise, 60) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("name", MOST_QUICK)
def test_an_exhausted_space_does_not_end_a_search(name: str) -> None:
    """A type with two accesses and only early validation has four tables."""
    encoding = Encoding(Signature.from_dict(SIGNATURES["transfer"]))
    asked = play(make(name, encoding, actions=["early_validation"]), noise, 60)
    found = {one.key for candidates in asked for one in candidates}
    # Two are of IC3's graph. Reduction then has only the table that differs from the best twice.
    assert len(found) == (3 if name == "reduction" else 4)


@pytest.mark.parametrize("name", MOST_QUICK)
def test_schedules_are_searched_alone_or_with_the_table(name: str, tpcc: Signature) -> None:
    scheduled = Encoding(tpcc, scheduled=True)
    plain = scheduled.schedule_cells.start
    for actions in (["schedule"], ["schedule", *ACTION_GROUPS]):
        asked = play(make(name, scheduled, actions=actions), noise, 150)
        vectors = {one.vector for candidates in asked for one in candidates}
        has_none = set()
        for vector in vectors:
            document = scheduled.decode(vector, "x")
            validate(document)
            assert tuple(scheduled.encode(document)) == vector
            has_none.add(document.schedule is None)
        assert has_none == {True, False}
        alone = len({vector[:plain] for vector in vectors}) == 1
        assert alone == (actions == ["schedule"])
        tried = {vector[cell] for vector in vectors for cell in scheduled.schedule_cells[1:]}
        assert len(tried) > 2, "parameters are searched for, too"


@pytest.mark.parametrize("name", MOST_QUICK)
def test_cells_outside_the_actions_are_those_of_the_base(name: str, encoding: Encoding) -> None:
    table = encoding.signature.state_count * encoding.row_width
    ic3 = encoding.encode(build_seed("ic3", encoding.signature))
    idle = [*ic3[:table], *ic3[table:]]
    idle[: encoding.row_width] = [1] * encoding.row_width  # waits before the first dependency
    config = SEARCHES[name].config(name=name, **small(name), actions=["backoff"])
    for base in (ic3, Space(encoding, ACTION_GROUPS).fit(idle)):
        space = Space(encoding, config.actions, base)
        search = build_search(config, space, warm_start(encoding, [4.0]), 1)
        for candidates in play(search, noise, 60):
            for candidate in candidates:
                assert candidate.vector[:table] == tuple(base[:table])


@pytest.mark.parametrize("name", MOST_QUICK)
def test_failures_do_not_stop_a_search(name: str, encoding: Encoding) -> None:
    play(make(name, encoding), lambda candidate: 0.0, 60)


# Reduction changes only cells of IC3; it has its own tests.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("random", "reduction")])
@pytest.mark.slow
def test_a_search_is_better_than_chance(name: str, encoding: Encoding) -> None:
    """With equal evaluations, every search is better than chance on each hidden table."""
    for seed in (1, 2):
        worth = separable(encoding, seed)
        found = best(play(make(name, encoding, seed), worth, 600), worth)
        chance = best(play(make("random", encoding, seed), worth, 600), worth)
        assert found > chance + 0.02
