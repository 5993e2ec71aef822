"""Policy gradient: a softmax for every cell of the table, trained by REINFORCE (paper §5.2, §7.5).

Each cell has a parameter for every value that it may take; their softmax is the probability of
that value. A batch of tables is sampled, and each table's reward is its throughput relative to the
reference. The parameters follow the gradient of the expected reward, estimated with a baseline. A
bonus for entropy keeps cells from being decided too early. At first each cell has the seed policy's
value with a fixed probability (paper: IC3's, 80 %); the others share the rest.

The search extends the paper in two ways. The most probable table is proposed with every batch,
since it is the result of the training; its reward is no sample and takes no part in the gradient.
The tables of a batch are all different, so a table drawn twice is measured and charged once, and
counts twice: the estimate stays the same. A table of an earlier batch is measured and charged
again. A table that can't run has the reward 0.

Sampling uses the same generator as the other searches, on the CPU. So a run does not depend on
PyTorch's generators, whose streams differ between devices.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from types import ModuleType
from typing import Any

from policies import SEEDS, Encoding, build_seed
from trainer.config import SearchConfig
from trainer.search.base import Candidate, Measured
from trainer.search.limits import check_proposals, check_shares
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space

DEVICES = ("auto", "cpu", "cuda")
BASELINES = ("batch", "moving")
EPSILON = 1e-8
"""Below this spread of rewards, good and bad tables are indistinguishable."""
IMPOSSIBLE = -1e9
"""The logit of a value that a cell can't take: its softmax is exactly 0."""


@dataclass
class PolicyGradientConfig(SearchConfig):
    """Settings of `search=policy_gradient`.

    Attributes:
        proposals: candidates per batch: sampled tables and the most probable one.
        learning_rate: Adam's.
        entropy: weight of the entropy, summed over the cells, relative to the reward in standard
            deviations.
        baseline: what rewards are compared with: `batch`, their mean; `moving`, an average over
            all batches.
        momentum: weight of earlier batches in the moving average.
        seed_policy: the seed that the search starts from.
        confidence: the initial probability of the seed's values, in each cell; 0 for none.
        device: `cpu`, `cuda`, or `auto`: CUDA if available.
    """

    proposals: int = 40
    learning_rate: float = 0.1
    entropy: float = 0.001
    baseline: str = "batch"
    momentum: float = 0.8
    seed_policy: str = "ic3"
    confidence: float = 0.8
    device: str = "cpu"


def gradient_no_start_reason(config: PolicyGradientConfig) -> str:
    """Return why it can't start from a table: it changes a distribution, not tables."""
    return (
        f"search={config.name} starts from a seed, not from a table; omit search.start "
        "(search.seed_policy names the seed), or use search=guided"
    )


class PolicyGradient:
    """Policy gradient (see the module). The arguments are those of `registry.build_search`.

    It does not use the warm start.

    Raises:
        ValueError: a setting is out of range, or PyTorch or the device is not available.
    """

    def __init__(
        self,
        space: Space,
        config: PolicyGradientConfig,
        start: Sequence[Candidate],
        seed: int,
    ) -> None:
        _check(config)
        self._config = config
        self._space = space
        self._random = Random(seed)
        self._torch = load_torch()
        self._device = choose_device(self._torch, config.device)
        self._values = [self._space.values[cell] for cell in self._space.open]
        self._fixed = list(space.base)
        self._index = [{value: i for i, value in enumerate(values)} for values in self._values]
        self._possible = self._tensor(
            [[i < len(values) for i in range(self._width)] for values in self._values], "bool"
        )
        self._logits = self._tensor(self._first_logits(space.encoding), "float64").requires_grad_()
        self._optimiser = self._torch.optim.Adam([self._logits], lr=config.learning_rate)
        self._average: float | None = None
        self._drawn: Counter[tuple[int, ...]] = Counter()

    @property
    def batch(self) -> int:
        """The number of samples, and the most probable table."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """No table: the state is a distribution."""
        return ()

    def ask(self, n: int) -> list[Candidate]:
        """Propose the most probable table, then samples without duplicates; a sample if n = 1."""
        n = min(n, self.batch)
        probabilities = self._distribution().probs.tolist()
        steps = [
            list(accumulate(row[: len(values)]))
            for row, values in zip(probabilities, self._values, strict=True)
        ]
        self._drawn = Counter(self._sample(steps) for _ in range(max(1, n - 1)))
        likely = self._table([row.index(max(row)) for row in probabilities])
        found = {likely: Candidate(likely, "most probable")} if n > 1 else {}
        for vector in self._drawn:
            found.setdefault(vector, Candidate(vector, "sampled"))
        return list(found.values())

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Take one step of Adam along the gradient estimated from the samples."""
        pairs = zip(candidates, results, strict=True)
        samples = [(c.vector, m.fitness) for c, m in pairs if c.vector in self._drawn]
        counts = [self._drawn[vector] for vector, _ in samples]
        rewards = [reward for _, reward in samples]
        advantages = self._advantages(rewards, counts)
        self._drawn = Counter()
        if advantages is None:
            return
        chosen = self._tensor([self._indexes(vector) for vector, _ in samples], "int64")
        weights = [a * count / sum(counts) for a, count in zip(advantages, counts, strict=True)]
        distribution = self._distribution()
        likelihood = distribution.log_prob(chosen).sum(dim=1)
        reward = (self._tensor(weights, "float64") * likelihood).sum()
        self._optimiser.zero_grad()
        (-reward - self._config.entropy * distribution.entropy().sum()).backward()
        self._optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the logits, Adam's moments, the moving baseline, and the random generator."""
        adam = self._optimiser.state_dict()["state"].get(0, {})
        return {
            "logits": self._logits.tolist(),
            "adam": {name: moment.tolist() for name, moment in adam.items()},
            "average": self._average,
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        with self._torch.no_grad():
            self._logits.copy_(self._tensor(state["logits"], "float64"))
        adam = {name: self._moment(name, value) for name, value in state["adam"].items()}
        self._optimiser.load_state_dict(
            {**self._optimiser.state_dict(), "state": {0: adam} if adam else {}}
        )
        self._average = state["average"]
        load_random(self._random, state["random"])

    @property
    def _width(self) -> int:
        return max(len(values) for values in self._values)

    def _first_logits(self, encoding: Encoding) -> list[list[float]]:
        """Return the logits of the seed's values with the set probability, equal for others."""
        torch, config = self._torch, self._config
        seed = self._space.fit(encoding.encode(build_seed(config.seed_policy, encoding.signature)))
        logits = []
        for values, chosen in zip(self._values, self._indexes(seed), strict=True):
            even = 1.0 / len(values)
            sure = max(even, config.confidence)
            other = (1.0 - sure) / (len(values) - 1)
            row = [sure if i == chosen else other for i in range(len(values))]
            row += [1.0] * (self._width - len(values))
            logits.append(row)
        return torch.log(torch.tensor(logits, dtype=torch.float64)).tolist()

    def _distribution(self) -> Any:
        logits = self._logits.masked_fill(~self._possible, IMPOSSIBLE)
        return self._torch.distributions.Categorical(logits=logits, validate_args=False)

    def _sample(self, steps: Sequence[Sequence[float]]) -> tuple[int, ...]:
        """Draw a table from each cell's cumulative probabilities."""
        choices, indexes = self._random.choices, range(self._width)
        return self._table([choices(indexes[: len(row)], cum_weights=row)[0] for row in steps])

    def _table(self, chosen: Sequence[int]) -> tuple[int, ...]:
        vector = list(self._fixed)
        for cell, values, index in zip(self._space.open, self._values, chosen, strict=True):
            vector[cell] = values[index]
        return tuple(vector)

    def _indexes(self, vector: Sequence[int]) -> list[int]:
        """Return the index of each open cell's value."""
        pairs = zip(self._space.open, self._index, strict=True)
        return [index[vector[cell]] for cell, index in pairs]

    def _advantages(self, rewards: Sequence[float], counts: Sequence[int]) -> list[float] | None:
        """Return rewards above the baseline, in standard deviations; None if all are equal."""
        total = sum(counts)
        if not total:
            return None
        mean = sum(r * count for r, count in zip(rewards, counts, strict=True)) / total
        baseline = mean
        if self._config.baseline == "moving":
            baseline = mean if self._average is None else self._average
            keep = self._config.momentum
            self._average = keep * baseline + (1.0 - keep) * mean
        squares = ((r - mean) ** 2 * count for r, count in zip(rewards, counts, strict=True))
        spread = (sum(squares) / total) ** 0.5
        return None if spread < EPSILON else [(r - baseline) / spread for r in rewards]

    def _moment(self, name: str, value: Any) -> Any:
        """Return a value of Adam's on its device: the step count stays on the CPU."""
        if name == "step":
            return self._torch.tensor(value, dtype=self._torch.float32)
        return self._tensor(value, "float64")

    def _tensor(self, values: Any, kind: str) -> Any:
        dtype = getattr(self._torch, kind)
        return self._torch.tensor(values, dtype=dtype, device=self._device)


def load_torch() -> ModuleType:
    """Import PyTorch, on one thread. It is large and slow to import, so only where needed.

    Raises:
        ValueError: it is not installed; the message says how to install it.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ValueError(
            f"search=policy_gradient needs PyTorch, but the import fails ({error}); "
            "run make setup EXTRAS=policy-gradient, or pip install torch"
        ) from error
    # One thread: sums in the same order on every machine, and no spinning threads during runs.
    torch.set_num_threads(1)
    return torch


def choose_device(torch: ModuleType, wanted: str) -> str:
    """Return the device for the setting.

    Raises:
        ValueError: the setting is CUDA, and there is no such device.
    """
    found = torch.cuda.is_available() if wanted != "cpu" else False
    if wanted == "cuda" and not found:
        raise ValueError("search.device=cuda: PyTorch finds no CUDA device; use cpu or auto")
    return "cuda" if found else "cpu"


def _check(config: PolicyGradientConfig) -> None:
    check_proposals(config.proposals, least=2)
    check_shares(momentum=config.momentum, confidence=config.confidence)
    if config.confidence == 1.0:
        raise ValueError("search.confidence=1.0: must be below 1 to allow any other value")
    if not 0.0 < config.learning_rate <= 10.0:
        raise ValueError(
            f"search.learning_rate={config.learning_rate}: must be above 0 and at most 10"
        )
    if not 0.0 <= config.entropy <= 1000.0:
        raise ValueError(f"search.entropy={config.entropy}: must be from 0 to 1000")
    for name, known in (("baseline", BASELINES), ("device", DEVICES), ("seed_policy", SEEDS)):
        value = getattr(config, name)
        if value not in known:
            raise ValueError(f"search.{name}={value}: must be one of {', '.join(known)}")
