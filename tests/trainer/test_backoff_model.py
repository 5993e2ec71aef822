from __future__ import annotations

import json
from math import exp
from random import Random
from statistics import median

import pytest

from policies import ACTION_GROUPS, Encoding, Signature
from tests.trainer.fake_signatures import SIGNATURES
from trainer.search.backoff_model import FEWEST, FITTEST, KNOWN_MAX, BackoffModel
from trainer.search.layout import Layout
from trainer.search.space import Space

Vector = tuple[int, ...]

ENCODING = Encoding(Signature.from_dict(SIGNATURES["transfer"]))
SPACE = Space(ENCODING, ACTION_GROUPS)
LAYOUT = Layout(ENCODING)
CELLS = LAYOUT.backoff(0)
GOOD = (3, 1, 0, 2, 0, 3, 4)


def worth(backoff: Vector, good: Vector = GOOD) -> float:
    """Return a fitness that falls with the distance from one backoff."""
    apart = [
        (a - b) / (4 if at else 12) for at, (a, b) in enumerate(zip(backoff, good, strict=True))
    ]
    return 2.0 * exp(-sum(distance**2 for distance in apart))


def table(backoff: Vector, body: Vector = SPACE.base[: CELLS.start]) -> Vector:
    return (*body, *backoff)


def drawn(random: Random) -> Vector:
    return tuple(random.choice(SPACE.values[cell]) for cell in CELLS)


def model(seed: int = 1) -> BackoffModel:
    return BackoffModel(SPACE, LAYOUT, Random(seed))


def taught(tables: int, noise: float, seed: int = 1) -> BackoffModel:
    found, random = model(seed), Random(seed)
    for _ in range(tables):
        backoff = drawn(random)
        slices = random.choice((1, 7))
        fitness = worth(backoff) * (1.0 + random.gauss(0.0, noise / slices**0.5))
        found.tell(table(backoff), fitness, slices)
    return found


def proposals(found: BackoffModel, vector: Vector, count: int) -> list[Vector]:
    changes = [found.propose(vector) for _ in range(count)]
    assert all(set(change) == set(CELLS) for change in changes)
    return [tuple(change[cell] for cell in CELLS) for change in changes]


def test_the_model_proposes_good_backoffs_from_noisy_samples() -> None:
    random = Random(9)
    at_random = sorted(worth(drawn(random)) for _ in range(500))
    found = taught(80, noise=0.1)
    poor = table((12, 4, 4, 0, 4, 0, 0))
    reached = [worth(one) for one in proposals(found, poor, 24)]
    assert median(reached) > at_random[-25]  # in the best twentieth of all


def test_no_backoff_is_proposed_twice() -> None:
    found = taught(60, noise=0.0)
    best = table(GOOD)
    found.tell(best, worth(GOOD), 7)
    made = proposals(found, best, 50)
    assert GOOD not in made
    assert len({*made}) == 50


def test_the_model_needs_some_samples_first() -> None:
    found = taught(FEWEST - 1, noise=0.0)
    assert found.propose(SPACE.base) == {}
    for useless in (0.0, float("inf"), float("nan")):  # a table that cannot run is no sample
        found.tell(table(GOOD), useless, 1)
    assert found.propose(SPACE.base) == {}
    found.tell(table(GOOD), 1.0, 1)
    assert found.propose(SPACE.base)


def test_a_backoff_is_proposed_for_the_rest_of_the_table() -> None:
    """A backoff that is good for another table may be bad for this one."""
    other_body = tuple(max(SPACE.values[cell]) for cell in range(CELLS.start))
    opposite = (11, 4, 4, 0, 4, 0, 0)
    found, random = model(), Random(5)
    for _ in range(60):
        backoff = drawn(random)
        found.tell(table(backoff), worth(backoff), 7)
        found.tell(table(backoff, other_body), worth(backoff, opposite), 7)
    here = proposals(found, table(opposite), 12)
    there = proposals(found, table(GOOD, other_body), 12)
    assert median(worth(one) for one in here) > median(worth(one, opposite) for one in here)
    assert median(worth(one, opposite) for one in there) > median(worth(one) for one in there)


def test_repeated_samples_count_once_and_old_ones_except_the_fittest_are_dropped() -> None:
    found, random = model(), Random(2)
    for _ in range(3):
        found.tell(table(GOOD), random.random() + 0.1, 1)
    assert len(found.state_dict()) == 1
    backoffs = list({drawn(random): None for _ in range(2 * KNOWN_MAX)})
    for number, backoff in enumerate(backoffs):
        found.tell(table(backoff), 2.0 if number < FITTEST else 1.0, 1)
    known = [*backoffs[:FITTEST], *backoffs[FITTEST - KNOWN_MAX :]]
    assert [tuple(vector) for vector, *_ in found.state_dict()] == [table(one) for one in known]


def test_the_model_resumes_from_its_state() -> None:
    found = taught(40, noise=0.05)
    resumed = model(seed=1)
    resumed.load_state_dict(json.loads(json.dumps(found.state_dict())))
    begin = table(GOOD)
    found._random, resumed._random = Random(7), Random(7)
    assert proposals(found, begin, 5) == proposals(resumed, begin, 5)


def test_equal_tables_are_handled() -> None:
    found = model()
    random = Random(4)
    for _ in range(2 * FEWEST):
        found.tell(table(drawn(random)), 1.1, 1)
    assert len(proposals(found, SPACE.base, 3)) == 3


@pytest.mark.parametrize("actions", [["dirty_read"], ["backoff"]])
def test_proposals_stay_within_the_actions(actions: list[str]) -> None:
    space = Space(ENCODING, actions)
    found, random = BackoffModel(space, LAYOUT, Random(1)), Random(1)
    for _ in range(2 * FEWEST):
        vector = space.draw(random)
        found.tell(vector, 1.0 + random.random(), 1)
    change = found.propose(space.base)
    assert bool(change) == (actions == ["backoff"])
    assert all(value in space.values[cell] for cell, value in change.items())
