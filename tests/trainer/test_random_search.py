from __future__ import annotations

import pytest

from policies import Encoding
from trainer.search import Candidate, Measured, warm_start
from trainer.search.random import RandomConfig, RandomSearch
from trainer.search.space import Space


def asked(encoding: Encoding, generations: int, **changed: object) -> list[Candidate]:
    config = RandomConfig(name="random", **changed)  # type: ignore[arg-type]
    search = RandomSearch(Space(encoding, config.actions), config, warm_start(encoding, [4.0]), 1)
    found = []
    for _ in range(generations):
        candidates = search.ask(search.batch)
        search.tell(candidates, [Measured(1.0)] * len(candidates))
        found += candidates
    return found


def test_tables_are_drawn_uniformly_and_never_twice(encoding: Encoding) -> None:
    found = asked(encoding, 20)
    assert len({candidate.vector for candidate in found}) == 800
    assert {candidate.origin for candidate in found} == {"random"}
    for index, size in enumerate(encoding.nvec):
        values = [candidate.vector[index] for candidate in found]
        for value in range(size):
            assert values.count(value) / 800 == pytest.approx(1 / size, abs=0.08)


def test_a_share_of_tables_can_be_near_the_seeds(encoding: Encoding) -> None:
    found = asked(encoding, 10, near=0.25, redrawn=0.02)
    near = [candidate for candidate in found if candidate.origin != "random"]
    assert len(near) / len(found) == pytest.approx(0.25, abs=0.08)
    start = [candidate.vector for candidate in warm_start(encoding, [4.0])]
    for candidate in near:
        changed = (
            sum(a != b for a, b in zip(candidate.vector, seed, strict=True)) for seed in start
        )
        assert min(changed) < encoding.size // 8


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"proposals": 0}, "search.proposals=0"), ({"near": 1.5}, "search.near=1.5: must be from 0")],
)
def test_a_setting_out_of_range_is_named(
    encoding: Encoding, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        asked(encoding, 1, **changed)
