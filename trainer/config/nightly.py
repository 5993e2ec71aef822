"""The settings of `heddle nightly` and `heddle nightly --backtest`."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.training import TrainingConfig


@dataclass
class ConflictConfig:
    """How the conflict rate of an hour is measured (`heddle trace stats`).

    Attributes:
        window_minutes: two requests conflict only within so many minutes; divides 60.
        types: the transaction types that count; empty = all.
    """

    window_minutes: int = 5
    types: list[str] = field(default_factory=list)


@dataclass
class HeldOutConfig:
    """What of the peak hour a policy is judged on, and not trained on.

    Attributes:
        minutes: the last so many of the hour.
        blocks: they are cut into so many blocks at most, each replayed by itself.
        confidence: of the interval of a ratio, 0 to 1.
        resamples: of the bootstrap.
    """

    minutes: int = 20
    blocks: int = 10
    confidence: float = 0.95
    resamples: int = 9999


@dataclass
class NightConfig:
    """What a night needs beyond a training.

    Attributes:
        trace: the folder of the trace.
        state: the folder that keeps the policy that is served, and what was decided.
        day: which day of the trace; null = its last.
        threshold: train if the conflict rate differs by so much, relatively.
        retrain_after: days until it trains again for conditions like those of a training whose
            candidate was not served; null = never.
        keep_policies: so many policies that were served before are kept.
        registered_model: the model in MLflow's registry whose alias `champion` is the policy that
            is served; null = none.
        conflict: how the conflict rate is measured.
        held_out: what is judged on.
    """

    trace: str | None = None
    state: str | None = None
    day: str | None = None
    threshold: float = 0.15
    retrain_after: int | None = 7
    keep_policies: int = 10
    registered_model: str | None = "heddle-policy"
    conflict: ConflictConfig = field(default_factory=ConflictConfig)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)


@dataclass
class NightlyConfig(TrainingConfig, NightConfig):  # in this order, what is the night's own is first
    """`heddle nightly`: a workload `replay` or `shop`, of the night's part; `run` is of a block."""
