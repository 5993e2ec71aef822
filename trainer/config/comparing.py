"""The settings of the commands that compare policies: `evaluate` and `lab searches`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from envs import BASELINES, TUNED
from trainer.config.measuring import (
    BackendConfig,
    RunConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.config.place import PlaceConfig, ScheduleConfig


@dataclass
class EvaluateConfig(PlaceConfig):
    """`heddle evaluate`.

    Attributes:
        policy: the policies to compare.
        reference: the policy that ratios are relative to; null = the first of `policy`, and
            `silo_tuned` if settings with several values make a matrix.
        run: the length and number of repeats.
        tuning: the sweep of `silo_tuned`.
        schedule: which transaction starts next, unless a policy's name says it (`silo+smf`).
        output: the file that results are written to; of a matrix, the folder.
        verdict: how certain the comparison must be if a learned policy takes part.
    """

    policy: list[str] = field(default_factory=lambda: list(BASELINES))
    reference: str | None = None
    run: RunConfig = field(default_factory=RunConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    output: str | None = None
    verdict: VerdictConfig = field(default_factory=VerdictConfig)


@dataclass
class ContestConfig:
    """`heddle lab searches`.

    Attributes:
        sweep: whose runs are compared: its name, or its folder; or a list of such.
        runs_dir: where it is.
        output: the folder for what is written; null = the sweep's, if it is one.
        baselines: what the methods are compared with, beside `silo_tuned`.
        seed: of the population and the inputs on which tables are measured anew.
        rounds: runs of each table …
        seconds: … of this length …
        warmup: … and what comes before each unmeasured.
        points: moments, evenly apart, whose incumbents of each run are measured anew; its first
            and last best are as well, and the one when the quickest run had ended.
        share: of the best known, to which evaluations are counted.
        tuning: the sweep of `silo_tuned`, which scores are relative to.
        evaluation: where tables are measured anew.
        threads: the best of each method on real cores.
    """

    sweep: Any = None
    runs_dir: str = "runs"
    output: str | None = None
    baselines: list[str] = field(
        default_factory=lambda: [name for name in BASELINES if name != TUNED]
    )
    seed: int = 1001
    rounds: int = 5
    seconds: float = 0.05
    warmup: float = 0.01
    points: int = 12
    share: float = 0.95
    tuning: TuningConfig = field(default_factory=TuningConfig)
    evaluation: BackendConfig = field(default_factory=BackendConfig)
    threads: ValidationConfig = field(default_factory=ValidationConfig)
