"""The settings of `heddle nightly` and `heddle nightly --backtest`."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.training import TrainingConfig


@dataclass
class ConflictConfig:
    """The conflict rate of an hour (`heddle trace stats`).

    Attributes:
        window_minutes: two requests conflict only within this number of minutes; divides 60.
        types: the transaction types that count; empty = all.
    """

    window_minutes: int = 5
    types: list[str] = field(default_factory=list)


@dataclass
class HeldOutConfig:
    """The part of the peak hour that judges policies and trains none.

    Attributes:
        minutes: length of the part, at the end of the hour.
        blocks: most blocks that it is divided into; each is replayed separately.
        confidence: of the interval of a ratio, 0 to 1.
        resamples: of the bootstrap.
    """

    minutes: int = 20
    blocks: int = 10
    confidence: float = 0.95
    resamples: int = 9999


@dataclass
class NightConfig:
    """The settings of a night in addition to those of a training.

    Attributes:
        trace: folder of the trace.
        state: folder of the served policy, the previous ones and all decisions.
        day: day of the trace; null = its last.
        threshold: relative change of the conflict rate at which to train.
        retrain_after: days until it retries conditions whose candidate was not served; null =
            never.
        keep_policies: number of previously served policies to keep.
        registered_model: model in MLflow's registry whose alias `champion` is the served policy;
            null = none.
        conflict: how the conflict rate is measured.
        held_out: the part of the hour that judges policies.
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
class NightlyConfig(TrainingConfig, NightConfig):  # this order lists the night's settings first
    """`heddle nightly`; the workload is `replay` or `shop`, and `run` measures one block."""
