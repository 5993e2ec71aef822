"""The settings of `heddle train`, and what every training needs.

A search adds its own settings: see `trainer.search.registry`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from omegaconf import MISSING

from envs import BASELINES
from policies import ACTION_GROUPS
from trainer.config.measuring import (
    ChampionConfig,
    EvaluationConfig,
    RunConfig,
    TableCheckConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.config.place import PlaceConfig


@dataclass
class SearchConfig:
    """What all searches share; each has a dataclass that extends it.

    Attributes:
        name: which search.
        generations: stop after this many; null = no bound.
        evaluations: stop after this many measured candidates; null = no bound.
        seconds: stop after this many seconds of searching; null = no bound.
        actions: action groups that may be used, see `policies.ACTION_GROUPS`; and `schedule`.
        base: the policy that the actions change; null = OCC under binary exponential backoff.
        classifiers: files of what may foretell the hot keys of a schedule, besides its hints.
        start: policies that the search starts from besides the seeds: names, paths, or `library`,
            the tables of the library whose workloads and cores are nearest.
    """

    name: str = MISSING
    generations: int | None = 300
    evaluations: int | None = None
    seconds: float | None = None
    actions: list[str] = field(default_factory=lambda: list(ACTION_GROUPS))
    base: str | None = None
    classifiers: list[str] = field(default_factory=list)
    start: list[str] = field(default_factory=list)


@dataclass
class RobustConfig:
    """Training one table for several workloads or machines of one signature (docs/robust.md).

    Attributes:
        scenarios: the settings of each scenario, of the workload and the machine, by name. A
            setting with a list of values gives a scenario for every combination. Empty: the
            workload and the machine as they are set are the only scenario.
        objective: how a table's scores in the scenarios are combined: `mean`, the geometric mean,
            or `worst`, the lowest.
    """

    scenarios: list[dict[str, Any]] = field(default_factory=list)
    objective: str = "mean"


@dataclass
class MlflowConfig:
    """The record.

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
    """The page that a run ends with.

    Attributes:
        enabled: whether `report.html` is written.
        timeline: whether it has timelines, for which the workload is loaded once more.
    """

    enabled: bool = True
    timeline: bool = True


@dataclass
class TrainingConfig(PlaceConfig):
    """What every training needs, by whichever command.

    Attributes:
        search: how.
        evaluation: how candidates are measured.
        tuning: the sweep of `silo_tuned`, which fitness is relative to.
        champion: how the best policy is chosen.
        check: how tables are checked.
        run: how policies are compared.
        baselines: what the learned policy is compared with.
        mlflow: the record.
    """

    search: SearchConfig = field(default_factory=SearchConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    champion: ChampionConfig = field(default_factory=ChampionConfig)
    check: TableCheckConfig = field(default_factory=TableCheckConfig)
    run: RunConfig = field(default_factory=RunConfig)
    baselines: list[str] = field(default_factory=lambda: list(BASELINES))
    mlflow: MlflowConfig = field(default_factory=MlflowConfig)

    def shared(self) -> dict[str, Any]:
        """These settings by name, of a command that has more."""
        return {one.name: getattr(self, one.name) for one in fields(TrainingConfig)}


@dataclass
class TrainConfig(TrainingConfig):
    """`heddle train`; `run` is the closing comparison.

    Attributes:
        robust: the scenarios, if one table is trained for several workloads.
        validation: after a search on virtual cores, the comparison on real ones.
        verdict: how sure these comparisons must be.
        registered_model: the model in MLflow's registry that the policy becomes a version of;
            null = none.
        resume: the run to resume: its name in `runs_dir`, or its folder.
        sweep: with -m: the sweep to begin or to resume: its name, or its folder.
        runs_dir: where runs are kept.
        report: the page.
        budget: of time for everything, such as `5min`: sweep, search, choice, comparison and
            validation are made to fit; null = they take what they take as they are set.
        forecast: whether some short runs before the beginning say how long it takes.
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
