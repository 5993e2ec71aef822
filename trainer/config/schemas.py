"""Registers the types of all settings with Hydra."""

from __future__ import annotations

from trainer.config.classifying import ClassifyConfig
from trainer.config.comparing import ContestConfig, EvaluateConfig
from trainer.config.machines import CalibrateConfig, FidelityConfig
from trainer.config.nightly import NightlyConfig
from trainer.config.place import MachineConfig, ScheduleConfig, VirtualConfig
from trainer.config.running import CheckConfig, RecordConfig, ServeConfig, SwitchConfig
from trainer.config.showing import ReportConfig, TimelineConfig, VarianceConfig
from trainer.config.training import TrainConfig


def register_schemas() -> None:
    """Register the types of all settings; `configs/*.yaml` name them in their defaults."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    store.store("calibrate_schema", CalibrateConfig)
    store.store("check_schema", CheckConfig)
    store.store("classify_schema", ClassifyConfig)
    store.store("contest_schema", ContestConfig)
    store.store("fidelity_schema", FidelityConfig)
    store.store("nightly_schema", NightlyConfig)
    store.store("report_schema", ReportConfig)
    store.store("serve_schema", ServeConfig)
    store.store("switch_schema", SwitchConfig)
    store.store("trace_record_schema", RecordConfig)
    store.store("timeline_schema", TimelineConfig)
    store.store("train_schema", TrainConfig)
    store.store("variance_schema", VarianceConfig)
    store.store("evaluate_schema", EvaluateConfig)
    store.store("threads_schema", MachineConfig, group="machine")
    store.store("schedule_schema", ScheduleConfig, group="schedule")
    store.store("virtual_schema", VirtualConfig, group="machine")
