"""The verdict on a candidate, from runs of champion, candidate and baselines on held-out blocks.

Every block is a comparison whose runs share their inputs (on real cores, interleaved), so ratios
are taken within a round. A block's ratio is the geometric mean over its repeats, and the overall
ratio the geometric mean over the blocks. The interval is a percentile bootstrap over the blocks: it
covers the variation between other blocks of the hour. With fewer than five blocks a bootstrap has
little more than their extremes and is too narrow, so the interval is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from envs import Comparison, Machine
from envs.comparison import Row, paired_ratios
from envs.ratio_interval import ratio_interval
from trainer.config import HeldOutConfig
from trainer.verdict import beyond_limits, left_out_by

RESAMPLED = 5
"""With fewer blocks the interval is Student's: three are all above 1 by chance once in eight."""

CANDIDATE = "candidate"
CHAMPION = "champion"

FARTHEST = 100.0
"""The limit on a block's ratio and its inverse: some policies commit nothing at all."""


@dataclass(frozen=True)
class Standing:
    """The candidate's value of the objective relative to another policy's.

    Attributes:
        name: the other policy.
        ratio: over all blocks.
        low: the lower end of the interval.
        high: the upper end of the interval.
        blocks: each block's ratio.
    """

    name: str
    ratio: float
    low: float
    high: float
    blocks: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self) | {"blocks": list(self.blocks)}


@dataclass(frozen=True)
class Verdict:
    """Whether to publish the candidate.

    Attributes:
        promotes: whether to publish it.
        opponent: the policy to beat: the champion or, without one that can run, the best baseline.
        standings: the candidate relative to every other policy.
        throughput: of each policy, the median over the blocks of the medians of their repeats,
            commits per second.
        machine: the machine.
        left_out: the types of the mix that the candidate leaves out and the opponent does not, in
            words. Then it is not promoted, whatever its throughput.
        beyond: the limits that the candidate exceeds over all blocks, in words. Then it is not
            promoted either.
    """

    promotes: bool
    opponent: str
    standings: tuple[Standing, ...]
    throughput: dict[str, float]
    machine: Machine
    left_out: str | None = None
    beyond: str | None = None

    @property
    def decisive(self) -> Standing:
        """The candidate relative to the opponent."""
        return next(standing for standing in self.standings if standing.name == self.opponent)


def judge(blocks: Sequence[Comparison], settings: HeldOutConfig, seed: int) -> Verdict:
    """Return the verdict.

    Args:
        blocks: the comparisons, each with a row of `CANDIDATE`, perhaps one of `CHAMPION`, and one
            of every baseline.
        settings: of the interval.
        seed: of the bootstrap.
    """
    names = [row.subject.name for row in blocks[0].rows if row.subject.name != CANDIDATE]
    standings = tuple(_standing(name, blocks, settings, seed) for name in names)
    # A policy that leaves out a type of the mix is no reference, whatever its throughput.
    short = {row.subject.name for block in blocks for row in block.rows if row.shortfalls}
    kept = [standing for standing in standings if standing.name not in short] or standings
    slowest = min(kept, key=lambda standing: standing.ratio)
    opponent = next((standing for standing in standings if standing.name == CHAMPION), slowest)
    left_out = left_out_by(CANDIDATE, blocks) if opponent.name not in short else None
    beyond = _beyond(blocks)
    return Verdict(
        promotes=opponent.low > 1.0 and left_out is None and beyond is None,
        opponent=opponent.name,
        standings=standings,
        throughput={name: _throughput(name, blocks) for name in (CANDIDATE, *names)},
        machine=blocks[0].rows[0].machine,
        left_out=left_out,
        beyond=beyond,
    )


def _beyond(blocks: Sequence[Comparison]) -> str | None:
    """Return the limits that the candidate exceeds in the median run of all blocks, in words."""
    rows = [block.row(CANDIDATE) for block in blocks]
    runs = [result for row in rows if row is not None for result in row.repeats]
    if rows[0] is None or not runs:
        return None
    whole = Comparison([Row(rows[0].subject, runs)], objective=blocks[0].objective)
    return beyond_limits(CANDIDATE, [whole])


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
    """Return the logarithm of the candidate's value of the objective ÷ a policy's on a block."""
    mine, other = block.row(CANDIDATE), block.row(name)
    assert mine is not None
    assert other is not None
    ratios = paired_ratios(mine, other, block.objective) or [
        FARTHEST
    ]  # the other policy committed nothing
    return float(np.mean(np.log(np.clip(ratios, 1 / FARTHEST, FARTHEST))))


def _throughput(name: str, blocks: Sequence[Comparison]) -> float:
    rows = [block.row(name) for block in blocks]
    return float(np.median([row.throughput for row in rows if row is not None]))
