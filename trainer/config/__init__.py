"""The settings of all commands, typed; `configs/` holds their values."""

from __future__ import annotations

from trainer.config.classifying import ClassifyConfig
from trainer.config.comparing import ContestConfig, EvaluateConfig
from trainer.config.machines import CalibrateConfig, FidelityConfig
from trainer.config.measuring import (
    BackendConfig,
    ChampionConfig,
    EvaluationConfig,
    ObjectiveConfig,
    RunConfig,
    TableCheckConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.config.nightly import ConflictConfig, HeldOutConfig, NightConfig, NightlyConfig
from trainer.config.place import (
    CostsConfig,
    MachineConfig,
    PlaceConfig,
    ScheduleConfig,
    VirtualConfig,
    workload_options,
)
from trainer.config.running import CheckConfig, RecordConfig, ServeConfig, SwitchConfig
from trainer.config.schemas import register_schemas
from trainer.config.showing import (
    ReportConfig,
    ReportTimelineConfig,
    ReportVarianceConfig,
    TimelineConfig,
    VarianceConfig,
)
from trainer.config.training import (
    MlflowConfig,
    PageConfig,
    RobustConfig,
    SearchConfig,
    TrainConfig,
    TrainedObjectiveConfig,
    TrainingConfig,
)

__all__ = [
    "BackendConfig",
    "CalibrateConfig",
    "ChampionConfig",
    "CheckConfig",
    "ClassifyConfig",
    "ConflictConfig",
    "ContestConfig",
    "CostsConfig",
    "EvaluateConfig",
    "EvaluationConfig",
    "FidelityConfig",
    "HeldOutConfig",
    "MachineConfig",
    "MlflowConfig",
    "NightConfig",
    "NightlyConfig",
    "ObjectiveConfig",
    "PageConfig",
    "PlaceConfig",
    "RecordConfig",
    "ReportConfig",
    "ReportTimelineConfig",
    "ReportVarianceConfig",
    "RobustConfig",
    "RunConfig",
    "ScheduleConfig",
    "SearchConfig",
    "ServeConfig",
    "SwitchConfig",
    "TableCheckConfig",
    "TimelineConfig",
    "TrainConfig",
    "TrainedObjectiveConfig",
    "TrainingConfig",
    "TuningConfig",
    "ValidationConfig",
    "VarianceConfig",
    "VerdictConfig",
    "VirtualConfig",
    "register_schemas",
    "workload_options",
]
