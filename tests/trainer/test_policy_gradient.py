from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest

from policies import Encoding, build_seed
from tests.trainer.test_searches import separable
from trainer.search import Candidate, Measured, warm_start
from trainer.search.policy_gradient import PolicyGradient, PolicyGradientConfig
from trainer.search.space import Space


def make(encoding: Encoding, **changed: object) -> PolicyGradient:
    config = PolicyGradientConfig(name="policy_gradient", **changed)  # type: ignore[arg-type]
    return PolicyGradient(Space(encoding, config.actions), config, warm_start(encoding, [4.0]), 1)


def step(search: PolicyGradient, worth: Callable[[Candidate], float]) -> list[Candidate]:
    candidates = search.ask(search.batch)
    search.tell(candidates, [Measured(worth(candidate)) for candidate in candidates])
    return candidates


def share_of(encoding: Encoding, vector: list[int], samples: list[Candidate]) -> float:
    """Return the share of cells with a choice in which samples equal the table."""
    open_cells = [index for index, mutable in enumerate(encoding.mask) if mutable]
    agreed = sum(one.vector[cell] == vector[cell] for one in samples for cell in open_cells)
    return agreed / (len(samples) * len(open_cells))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.slow
def test_sampling_starts_from_the_seed_with_the_given_probability(
    encoding: Encoding, confidence: float
) -> None:
    seed = encoding.encode(build_seed("ic3", encoding.signature))
    likely, *samples = make(encoding, proposals=60, confidence=confidence).ask(60)
    assert likely == Candidate(tuple(seed), "most probable")
    assert share_of(encoding, seed, samples) == pytest.approx(confidence, abs=0.02)
    # The other probability is spread over all values of the cell.
    wide = max(range(encoding.size), key=lambda cell: encoding.nvec[cell])
    held = Counter(one.vector[wide] for one in make(encoding, proposals=600).ask(600))
    assert len(held) == encoding.nvec[wide]


def test_without_confidence_sampling_starts_uniformly(encoding: Encoding) -> None:
    seed = encoding.encode(build_seed("ic3", encoding.signature))
    _, *samples = make(encoding, confidence=0.0).ask(40)
    even = [1 / size for size in encoding.nvec if size > 1]
    assert share_of(encoding, seed, samples) == pytest.approx(sum(even) / len(even), abs=0.03)


@pytest.mark.parametrize("baseline", ["batch", "moving"])
@pytest.mark.slow
def test_cells_converge_to_rewarded_values(encoding: Encoding, baseline: str) -> None:
    worth = separable(encoding, 7)
    search = make(encoding, baseline=baseline, learning_rate=0.2)
    first = [worth(candidate) for candidate in step(search, worth)]
    for _ in range(25):
        last = [worth(candidate) for candidate in step(search, worth)]
    assert sum(last) / len(last) > sum(first) / len(first) + 0.1
    assert min(last) > sum(first) / len(first)


def test_entropy_keeps_cells_undecided(encoding: Encoding) -> None:
    """Equal rewards change nothing; under noise, entropy keeps the distribution wide."""
    seed = encoding.encode(build_seed("ic3", encoding.signature))
    still = make(encoding)
    before = still.state_dict()["logits"]
    step(still, lambda candidate: 1.0)
    assert still.state_dict()["logits"] == before
    shares = {}
    for entropy in (0.0, 1.0):
        search = make(encoding, entropy=entropy)
        for _ in range(8):
            _, *samples = step(search, lambda candidate: hash(candidate.vector) % 100 / 100)
        shares[entropy] = share_of(encoding, seed, samples)
    assert shares[1.0] < shares[0.0] - 0.1


def test_a_table_drawn_twice_is_measured_once_but_counts_twice(encoding: Encoding) -> None:
    search = make(encoding, actions=["early_validation"], confidence=0.999)
    asked = [step(search, lambda candidate: float(sum(candidate.vector))) for _ in range(3)]
    for candidates in asked:
        assert len({candidate.vector for candidate in candidates}) == len(candidates) < 40
    again = {c.vector for c in asked[0]} & {c.vector for c in asked[1]}
    assert again  # tables of an earlier batch are proposed again and count again


def test_failing_tables_become_rarer(encoding: Encoding) -> None:
    cell = next(i for i, one in enumerate(encoding.cells) if one.kind == "early_validation")
    search = make(encoding, confidence=0.5, learning_rate=0.3)
    for _ in range(15):
        samples = step(search, lambda candidate: 0.0 if candidate.vector[cell] else 1.0)
    assert sum(one.vector[cell] for one in samples) < len(samples) / 5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"proposals": 1}, "search.proposals=1: must be at least 2"),
        ({"confidence": 1.0}, "search.confidence=1.0: must be below 1"),
        ({"learning_rate": 0.0}, "search.learning_rate=0.0"),
        ({"entropy": -1.0}, "search.entropy=-1.0"),
        ({"baseline": "none"}, "search.baseline=none: must be one of batch, moving"),
        ({"seed_policy": "silo"}, "search.seed_policy=silo: must be one of occ"),
        ({"device": "gpu"}, "search.device=gpu: must be one of auto, cpu, cuda"),
    ],
)
def test_a_setting_out_of_range_is_named(
    encoding: Encoding, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(encoding, **changed)


def test_the_device_must_exist(encoding: Encoding, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    make(encoding, device="auto")
    with pytest.raises(ValueError, match="PyTorch finds no CUDA device"):
        make(encoding, device="cuda")


def test_a_missing_pytorch_is_reported_with_a_remedy(
    encoding: Encoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match="make setup EXTRAS=policy-gradient"):
        make(encoding)


@pytest.mark.slow
def test_the_other_searches_import_no_pytorch() -> None:
    program = (
        "import sys; from trainer.command.settings import compose_settings; "
        "from trainer.config import TrainConfig; compose_settings('train', [], TrainConfig); "
        "assert 'trainer.search.policy_gradient' in sys.modules; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
