"""The settings of the commands that show what a policy does: timeline, report."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.place import PlaceConfig


@dataclass
class TimelineConfig(PlaceConfig):
    """`heddle timeline`; `machine` is a virtual one.

    Attributes:
        policy: what runs.
        seconds: virtual time that is recorded …
        warmup: … and what comes before.
        events: how many are recorded at most.
        output: the trace.
        picture: the image, or null.
        from_us: where the picture begins in the window, µs …
        until_us: … and ends.
        draw_cores: which cores it has; null = the first eight.
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
class ReportTimelineConfig:
    """The timelines in a report.

    Attributes:
        enabled: whether there are any.
        seconds: virtual time that is recorded …
        warmup: … and what comes before.
        lanes: how many cores are drawn.
        seed: of the inputs.
    """

    enabled: bool = True
    seconds: float = 0.0003
    warmup: float = 0.005
    lanes: int = 6
    seed: int = 1


@dataclass
class ReportConfig:
    """`heddle report`.

    Attributes:
        runs_dir: where runs are kept.
        output: the page; null = `report.html`, in the run's folder, or here for several runs.
        beside: the seed policy that the table is explained beside; null = the nearest.
        timeline: what is recorded of runs on virtual cores.
    """

    runs_dir: str = "runs"
    output: str | None = None
    beside: str | None = None
    timeline: ReportTimelineConfig = field(default_factory=ReportTimelineConfig)
