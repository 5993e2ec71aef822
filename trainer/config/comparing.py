"""The settings of the commands that compare policies: `evaluate` and `lab searches`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from envs import BASELINES, TUNED
from trainer.config.measuring import (
    BackendConfig,
    ObjectiveConfig,
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
        reference: the policy that ratios are relative to; null = the first of `policy`, or
            `silo_tuned` in a matrix.
        run: length and number of repeats.
        tuning: the sweep of `silo_tuned`.
        schedule: which transaction starts next, unless a policy's name sets it (`silo+smf`).
        output: file for the results, or folder for those of a matrix.
        verdict: certainty of the comparison if it includes a learned policy.
        objective: what policies are compared by. In a matrix it is throughput.
    """

    policy: list[str] = field(default_factory=lambda: list(BASELINES))
    reference: str | None = None
    run: RunConfig = field(default_factory=RunConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    output: str | None = None
    verdict: VerdictConfig = field(default_factory=VerdictConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)


@dataclass
class ContestConfig:
    """`heddle lab searches`.

    Attributes:
        sweep: name or folder of the sweep to compare, or a list of them.
        runs_dir: folder of the sweep.
        output: folder for the results; null = the sweep's, if there is one sweep.
        baselines: policies to compare the methods with, in addition to `silo_tuned`.
        seed: of the population and the inputs of the new measurements.
        rounds: runs of each table.
        seconds: length of a run.
        warmup: unmeasured seconds before each run.
        points: evenly spaced incumbents of each run that are measured again, in addition to its
            first and last, and the one at the end of the shortest run.
        share: share of the best known score at which evaluations are counted.
        tuning: the sweep of `silo_tuned`, the unit of scores.
        evaluation: the backend of the new measurements.
        threads: the comparison of each method's best policy on real cores.
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
