"""Policy gradient: a softmax for every cell of the table, trained by REINFORCE (paper §5.2, §7.5).

Each cell has a parameter for every value that it may take; their softmax is the probability of
that value. A batch of tables is sampled, each table's reward is its throughput relative to the
reference, and the parameters go along the gradient of the expected reward, estimated with a
baseline. A bonus for entropy keeps cells from being decided too early. At first each cell holds
what the seed policy has in it with a fixed probability (paper: IC3's, 80 %) and shares the rest
among the others.

Beyond the paper: the most probable table is proposed with every batch, since it is the one that
would be shipped; its reward is no sample and takes no part in the gradient. A table that a batch
drew twice is measured and charged once, as the tables of a batch are all different, and counts
twice, so that the estimate stays what it is. Nothing is had for nothing by that: what searches are
charged for is measuring. One that an earlier batch drew is measured and charged again; one that
can't run has the reward 0.

Sampling uses the same generator as the other searches, on the processor: so a run does not depend
on PyTorch's own generators, whose streams differ from device to device.
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
"""Below this spread of rewards there is nothing to tell good tables from bad ones."""
IMPOSSIBLE = -1e9
"""The logit of a value that a cell does not have: its softmax is exactly 0."""


@dataclass
class PolicyGradientConfig(SearchConfig):
    """Settings of `search=policy_gradient`.

    Attributes:
        proposals: candidates at a time: sampled tables and the most probable one.
        learning_rate: Adam's.
        entropy: weight of the entropy, summed over the cells, beside the reward in units of its
            standard deviation.
        baseline: what rewards are compared with: `batch`, their mean; `moving`, an average over
            all batches.
        momentum: of the moving average: weight of what was before.
        seed_policy: which seed the search starts from …
        confidence: … and the probability of its values at first, in each cell; 0 for none.
        device: `cpu`, `cuda`, or `auto`: CUDA where there is one.
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
    """Why it can't start from a table: it changes a distribution, not tables."""
    return (
        f"search={config.name} starts from a seed, not from a table; leave it out "
        "(search.seed_policy names the seed), or take search=guided"
    )


class PolicyGradient:
    """See the module. Arguments as for `registry.build_search`; of the warm start nothing is used.

    Raises:
        ValueError: a setting is out of its range, or PyTorch or the device is not there.
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
        """The samples and the most probable table."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """No table: its state is a distribution."""
        return ()

    def ask(self, n: int) -> list[Candidate]:
        """The most probable table, then those sampled, each once; of one, a sample."""
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
        """One step of Adam along the gradient that the samples estimate."""
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
        """The logits, Adam's moments, the moving baseline, and the random generator."""
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
        """The seed's values with the settings' probability, the rest shared by all others."""
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
        """A table drawn from each cell's cumulated probabilities."""
        choices, indexes = self._random.choices, range(self._width)
        return self._table([choices(indexes[: len(row)], cum_weights=row)[0] for row in steps])

    def _table(self, chosen: Sequence[int]) -> tuple[int, ...]:
        vector = list(self._fixed)
        for cell, values, index in zip(self._space.open, self._values, chosen, strict=True):
            vector[cell] = values[index]
        return tuple(vector)

    def _indexes(self, vector: Sequence[int]) -> list[int]:
        """Which of its values each open cell holds."""
        pairs = zip(self._space.open, self._index, strict=True)
        return [index[vector[cell]] for cell, index in pairs]

    def _advantages(self, rewards: Sequence[float], counts: Sequence[int]) -> list[float] | None:
        """Rewards above the baseline, in standard deviations; None where they are all alike."""
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
        """One of Adam's, as it keeps it: the count of steps stays on the processor."""
        if name == "step":
            return self._torch.tensor(value, dtype=self._torch.float32)
        return self._tensor(value, "float64")

    def _tensor(self, values: Any, kind: str) -> Any:
        dtype = getattr(self._torch, kind)
        return self._torch.tensor(values, dtype=dtype, device=self._device)


def load_torch() -> ModuleType:
    """PyTorch on one thread, imported where it is needed: it is large, and slow to import.

    Raises:
        ValueError: it is not installed; the message says how to get it.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise ValueError(
            "search=policy_gradient needs PyTorch, which can't be imported "
            f"({error}): make setup EXTRAS=policy-gradient, or pip install torch"
        ) from error
    # Sums in one order whatever the machine, and no threads that spin beside what is measured.
    torch.set_num_threads(1)
    return torch


def choose_device(torch: ModuleType, wanted: str) -> str:
    """The device that the setting means.

    Raises:
        ValueError: CUDA is asked for, and there is none.
    """
    found = torch.cuda.is_available() if wanted != "cpu" else False
    if wanted == "cuda" and not found:
        raise ValueError("search.device=cuda: PyTorch finds no CUDA here; take cpu or auto")
    return "cuda" if found else "cpu"


def _check(config: PolicyGradientConfig) -> None:
    check_proposals(config.proposals, least=2)
    check_shares(momentum=config.momentum, confidence=config.confidence)
    if config.confidence == 1.0:
        raise ValueError("search.confidence=1.0: must be below 1, or nothing else is ever tried")
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
