"""The settings of `heddle train`, and those that every training needs.

A search adds its own settings; see `trainer.search.registry`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from omegaconf import MISSING

from envs import BASELINES
from policies import ACTION_GROUPS
from policies.protocol import TABLE
from trainer.config.measuring import (
    ChampionConfig,
    EvaluationConfig,
    ObjectiveConfig,
    RunConfig,
    TableCheckConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.config.place import PlaceConfig


@dataclass
class SearchConfig:
    """The settings of all searches; each search has a dataclass that extends this one.

    Attributes:
        name: the search.
        generations: stop after this number of generations; null = no bound.
        evaluations: stop after this number of measured candidates; null = no bound.
        seconds: stop after this number of seconds of searching; null = no bound.
        actions: action groups that may be used (`policies.ACTION_GROUPS`), `schedule`, and `grant`.
        protocols: protocols that may be used, such as `policy_table`, `two_phase_locking`, `mvto`
            and `mvschedo`.
        base: policy that the actions change; null = OCC with binary exponential backoff.
        classifiers: files of classifiers that may predict the hot keys of a schedule.
        start: policies that the search starts from, in addition to the seeds: names, paths, or
            `library` for the library's tables with the nearest workloads and cores.
    """

    name: str = MISSING
    generations: int | None = 300
    evaluations: int | None = None
    seconds: float | None = None
    actions: list[str] = field(default_factory=lambda: list(ACTION_GROUPS))
    protocols: list[str] = field(default_factory=lambda: [TABLE])
    base: str | None = None
    classifiers: list[str] = field(default_factory=list)
    start: list[str] = field(default_factory=list)


@dataclass
class TrainedObjectiveConfig(ObjectiveConfig):
    """The objective of a training.

    Attributes:
        margin: the share by which the search stays within each limit, because fresh inputs differ.
        front: metrics between which non-dominated policies are kept; empty = none.
        prefer: which policy of the front is the champion: `balanced`, or a metric of the front.
    """

    margin: float = 0.05
    front: list[str] = field(default_factory=list)
    prefer: str = "balanced"


@dataclass
class RobustConfig:
    """Training of one table for several workloads or machines of one signature (docs/robust.md).

    Attributes:
        scenarios: workload and machine settings of each scenario, by name. Lists of values give a
            scenario for every combination. Empty: `workload` and `machine` are the only scenario.
        combine: how a table's scores in the scenarios are combined: `mean`, the geometric mean, or
            `worst`, the lowest.
    """

    scenarios: list[dict[str, Any]] = field(default_factory=list)
    combine: str = "mean"


@dataclass
class MlflowConfig:
    """The MLflow record.

    Attributes:
        enabled: whether to keep one.
        uri: tracking URI; null = an SQLite file in `runs_dir`.
        experiment: the MLflow experiment's name.
    """

    enabled: bool = True
    uri: str | None = None
    experiment: str = "heddle"


@dataclass
class PageConfig:
    """The page of a run.

    Attributes:
        enabled: whether to write `report.html`.
        timeline: whether it has timelines and the variance of latency, for which the workload is
            loaded twice more.
    """

    enabled: bool = True
    timeline: bool = True


@dataclass
class TrainingConfig(PlaceConfig):
    """The settings of a training in all commands.

    Attributes:
        search: the search.
        objective: what policies are trained for.
        evaluation: how candidates are measured.
        tuning: the sweep of `silo_tuned`, the unit of fitness.
        champion: how the best policy is chosen.
        check: how tables are checked.
        run: how policies are compared.
        baselines: policies that the learned one is compared with.
        mlflow: the record.
    """

    search: SearchConfig = field(default_factory=SearchConfig)
    objective: TrainedObjectiveConfig = field(default_factory=TrainedObjectiveConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    champion: ChampionConfig = field(default_factory=ChampionConfig)
    check: TableCheckConfig = field(default_factory=TableCheckConfig)
    run: RunConfig = field(default_factory=RunConfig)
    baselines: list[str] = field(default_factory=lambda: list(BASELINES))
    mlflow: MlflowConfig = field(default_factory=MlflowConfig)

    def shared(self) -> dict[str, Any]:
        """Return these settings by name, without those of a subclass."""
        return {field.name: getattr(self, field.name) for field in fields(TrainingConfig)}


@dataclass
class TrainConfig(TrainingConfig):
    """`heddle train`; `run` is the closing comparison.

    Attributes:
        robust: the scenarios, if one table is trained for several workloads.
        validation: the comparison on real cores after a search on virtual ones.
        verdict: certainty of these comparisons.
        registered_model: model in MLflow's registry that gets the policy as a version; null =
            none.
        resume: name or folder of the run to resume.
        sweep: with -m: name or folder of the sweep to start or resume.
        runs_dir: folder of the runs.
        report: the page.
        budget: time for the whole run, such as `5min`, to which all phases are shortened; null =
            no bound.
        forecast: whether to forecast time and memory from short runs.
    """

    robust: RobustConfig = field(default_factory=RobustConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    verdict: VerdictConfig = field(default_factory=VerdictConfig)
    registered_model: str | None = None
    resume: str | None = None
    sweep: str | None = None
    runs_dir: str = "runs"
    report: PageConfig = field(default_factory=PageConfig)
    budget: str | None = None
    forecast: bool = True
