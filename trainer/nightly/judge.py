"""Judging a candidate on what was held out: champion, candidate and baselines side by side.

Every block is a comparison of its own, whose runs share their inputs (on real cores: take turns),
so that ratios are taken within a run of all. A block's ratio is the geometric mean over its
repeats, the ratio that counts the geometric mean over the blocks. The interval comes from
resampling the blocks (bootstrap, percentiles): what it covers is that another twenty minutes would
have brought other transactions. Of less than five blocks resampling has little more than their
extremes, and calls three lucky ones sure: there the interval is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from envs import Comparison, Machine
from envs.comparison import paired_ratios
from envs.ratio_interval import ratio_interval
from trainer.config import HeldOutConfig
from trainer.verdict import left_out_by

RESAMPLED = 5
"""With fewer blocks the interval is Student's: all of three are above 1 by luck once in eight."""

CANDIDATE = "candidate"
CHAMPION = "champion"

FARTHEST = 100.0
"""No block counts as more than so many times faster or slower: some commit nothing at all."""


@dataclass(frozen=True)
class Standing:
    """How much faster the candidate is than another policy, as a ratio of throughputs.

    Attributes:
        name: the other's.
        ratio: over all blocks.
        low: end of the interval …
        high: … and the other.
        blocks: each block's ratio.
    """

    name: str
    ratio: float
    low: float
    high: float
    blocks: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"blocks": list(self.blocks)}


@dataclass(frozen=True)
class Verdict:
    """Whether the candidate is to be served.

    Attributes:
        promotes: whether.
        opponent: whom it had to beat: the champion or, without one that can run, the best baseline.
        standings: against every other policy.
        throughput: of each policy, its median over the blocks of the medians of their repeats,
            commits a second.
        machine: where.
        left_out: the types of the mix that the candidate leaves out, in words, where the opponent
            does not: it is not promoted then, however many others it commits.
    """

    promotes: bool
    opponent: str
    standings: tuple[Standing, ...]
    throughput: dict[str, float]
    machine: Machine
    left_out: str | None = None

    @property
    def decisive(self) -> Standing:
        """Against the opponent."""
        return next(one for one in self.standings if one.name == self.opponent)


def judge(blocks: Sequence[Comparison], settings: HeldOutConfig, seed: int) -> Verdict:
    """Come to a verdict.

    Args:
        blocks: the comparisons, each with a row of `CANDIDATE`, perhaps one of `CHAMPION`, and one
            of every baseline.
        settings: of the interval.
        seed: of the resampling.
    """
    names = [row.subject.name for row in blocks[0].rows if row.subject.name != CANDIDATE]
    standings = tuple(_standing(name, blocks, settings, seed) for name in names)
    # One that left a type of the mix out is no measure, however much it commits.
    short = {row.subject.name for one in blocks for row in one.rows if row.shortfalls}
    kept = [one for one in standings if one.name not in short] or standings
    slowest = min(kept, key=lambda one: one.ratio)
    opponent = next((one for one in standings if one.name == CHAMPION), slowest)
    left_out = left_out_by(CANDIDATE, blocks) if opponent.name not in short else None
    return Verdict(
        promotes=opponent.low > 1.0 and left_out is None,
        opponent=opponent.name,
        standings=standings,
        throughput={name: _throughput(name, blocks) for name in (CANDIDATE, *names)},
        machine=blocks[0].rows[0].machine,
        left_out=left_out,
    )


def _standing(
    name: str, blocks: Sequence[Comparison], settings: HeldOutConfig, seed: int
) -> Standing:
    logs = np.array([_block_log(name, block) for block in blocks])
    low, high = _interval(logs, settings, seed)
    ratio, low, high = (math.exp(value) for value in (float(logs.mean()), low, high))
    return Standing(name, ratio, low, high, tuple(np.exp(logs).tolist()))


def _interval(logs: np.ndarray, settings: HeldOutConfig, seed: int) -> tuple[float, float]:
    if len(logs) < RESAMPLED:
        found = ratio_interval(np.exp(logs).tolist(), settings.confidence)
        if found.low is not None and found.high is not None:
            return math.log(found.low), math.log(found.high)
    from scipy.stats import bootstrap  # takes half a second to load

    resampled = bootstrap(
        (logs,),
        np.mean,
        confidence_level=settings.confidence,
        n_resamples=settings.resamples,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return float(resampled.low), float(resampled.high)


def _block_log(name: str, block: Comparison) -> float:
    """Logarithm of how much faster the candidate was than a policy on a block."""
    mine, other = block.row(CANDIDATE), block.row(name)
    assert mine is not None
    assert other is not None
    ratios = paired_ratios(mine, other) or [FARTHEST]  # the other committed nothing
    return float(np.mean(np.log(np.clip(ratios, 1 / FARTHEST, FARTHEST))))


def _throughput(name: str, blocks: Sequence[Comparison]) -> float:
    rows = [block.row(name) for block in blocks]
    return float(np.median([row.throughput for row in rows if row is not None]))
