"""The settings of `heddle timeline`, `heddle variance` and `heddle report`."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.measuring import TuningConfig
from trainer.config.place import PlaceConfig, ScheduleConfig


@dataclass
class TimelineConfig(PlaceConfig):
    """`heddle timeline`; `machine` is a virtual one.

    Attributes:
        policy: policy to run.
        seconds: length of the recording, in virtual time.
        warmup: virtual time before the recording.
        events: most events to record.
        output: file for the trace.
        picture: image of a part of it; null = none.
        from_us: start of the image in the recording, µs.
        until_us: end of the image, µs.
        draw_cores: cores to draw; null = the first eight.
    """

    policy: str = "ic3"
    seconds: float = 0.0002
    warmup: float = 0.002
    events: int = 500_000
    output: str = "timeline.json"
    picture: str | None = None
    from_us: float = 0.0
    until_us: float = 20.0
    draw_cores: list[int] | None = None


@dataclass
class VarianceConfig(PlaceConfig):
    """`heddle variance`.

    Attributes:
        policy: policies to run; those after the first are compared with it.
        types: transaction types to show; null = all.
        seconds: length of the recording; null = 0.02 on virtual cores, 1 on real ones.
        warmup: time before the recording; null = 0.005 on virtual cores, 0.1 on real ones.
        events: most events to record.
        share: on real cores, share of the time that is recorded.
        k: most factors of a type.
        d: least share of the variance that a factor has.
        output: file for all results; null = none.
        picture: image of the variance trees; null = none.
        draw_share: least share of the variance of a node in the image.
        tuning: the sweep of `silo_tuned`.
        schedule: which transaction starts next, unless a policy's name sets it (`silo+smf`).
    """

    policy: list[str] = field(default_factory=lambda: ["silo_tuned"])
    types: list[str] | None = None
    seconds: float | None = None
    warmup: float | None = None
    events: int = 2_000_000
    share: float = 0.05
    k: int = 5
    d: float = 0.01
    output: str | None = None
    picture: str | None = None
    draw_share: float = 0.03
    tuning: TuningConfig = field(default_factory=TuningConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)


@dataclass
class ReportTimelineConfig:
    """The timelines in a report.

    Attributes:
        enabled: whether the report has them.
        seconds: length of the recording, in virtual time.
        warmup: virtual time before the recording.
        lanes: number of cores to draw.
        seed: of the inputs.
    """

    enabled: bool = True
    seconds: float = 0.0003
    warmup: float = 0.005
    lanes: int = 6
    seed: int = 1


@dataclass
class ReportVarianceConfig:
    """The variance of latency in a report.

    Attributes:
        enabled: whether the report has it.
        seconds: length of the recording, in virtual time.
        warmup: virtual time before the recording.
        events: most events to record.
        seed: of the inputs.
    """

    enabled: bool = True
    seconds: float = 0.01
    warmup: float = 0.005
    events: int = 2_000_000
    seed: int = 1


@dataclass
class ReportConfig:
    """`heddle report`.

    Attributes:
        runs_dir: folder of the runs.
        output: page; null = `report.html` in the run's folder, or here for several runs.
        beside: seed policy that the table is compared with; null = the nearest.
        timeline: the timelines, for runs on virtual cores.
        variance: the variance of latency, for runs on virtual cores.
    """

    runs_dir: str = "runs"
    output: str | None = None
    beside: str | None = None
    timeline: ReportTimelineConfig = field(default_factory=ReportTimelineConfig)
    variance: ReportVarianceConfig = field(default_factory=ReportVarianceConfig)
