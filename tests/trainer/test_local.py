from __future__ import annotations

import pytest

from policies import ACTION_GROUPS, Encoding, Signature
from tests.trainer.fake_signatures import SIGNATURES
from trainer.search import Candidate, Measured, warm_start
from trainer.search.local import Local, LocalConfig
from trainer.search.space import Space


def make(encoding: Encoding, start: list[Candidate], **changed: object) -> Local:
    config = LocalConfig(name="local", **changed)  # type: ignore[arg-type]
    return Local(Space(encoding, config.actions), config, start, 1)


@pytest.fixture
def transfer() -> Encoding:
    return Encoding(Signature.from_dict(SIGNATURES["transfer"]))


def ones(candidate: Candidate) -> float:
    return float(sum(value == 1 for value in candidate.vector))


def step(search: Local, n: int | None = None) -> list[Candidate]:
    candidates = search.ask(n or search.batch)
    search.tell(candidates, [Measured(ones(candidate)) for candidate in candidates])
    return candidates


def test_a_small_neighbourhood_is_measured_completely(transfer: Encoding) -> None:
    space = Space(transfer, ACTION_GROUPS)
    start = Candidate(space.fit([0] * transfer.size), "zeros")
    search = make(transfer, [start], proposals=1000)
    assert step(search) == [start]
    here = start
    for _ in range(5):
        candidates = step(search)
        assert candidates[0].vector == here.vector
        for neighbour in candidates[1:]:
            pairs = zip(here.vector, neighbour.vector, strict=True)
            assert sum(one != other for one, other in pairs) == 1
        better = max(candidates, key=ones)
        assert ones(better) == ones(here) + 1
        here = better


def test_no_neighbour_is_measured_twice(transfer: Encoding) -> None:
    """Not even the common neighbours of the old and the new table."""
    start = Candidate(Space(transfer, ACTION_GROUPS).fit([0] * transfer.size), "zeros")
    search = make(transfer, [start], proposals=9)
    seen: set[tuple[int, ...]] = set()
    step(search)
    while not search.restarts:
        _, *neighbours = step(search)
        vectors = {candidate.vector for candidate in neighbours}
        assert not vectors & seen
        seen |= vectors


def test_a_local_optimum_leads_to_the_next_seed_then_to_a_kick(
    transfer: Encoding,
) -> None:
    space = Space(transfer, ACTION_GROUPS)
    summit = [1 if 1 in values else values[0] for values in space.values]
    other = [*summit[:-1], 0]
    start = [Candidate(tuple(other), "lower"), Candidate(tuple(summit), "summit")]
    search = make(transfer, start, proposals=1000, kick=2)
    assert step(search) == start
    assert step(search)[0].origin == "summit"
    assert step(search)[0].origin == "lower"
    step(search)  # to the local optimum again
    kicked = step(search)[0]
    assert kicked.origin == "restart"
    assert search.restarts == 2
    pairs = zip(kicked.vector, summit, strict=True)
    assert sum(one != other for one, other in pairs) == 2


def test_a_large_neighbourhood_is_sampled(encoding: Encoding) -> None:
    search = make(encoding, warm_start(encoding, [4.0])[:1], proposals=30)
    step(search)
    first, second = step(search), step(search)
    assert len(first) == len(second) == 30
    assert len({c.vector for c in [*first[1:], *second[1:]]}) == 58


@pytest.mark.parametrize(
    ("changed", "message"), [({"proposals": 1}, "at least 2"), ({"kick": 0}, "search.kick=0")]
)
def test_a_setting_out_of_range_is_named(
    encoding: Encoding, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(encoding, [], **changed)
