"""The settings of the commands that run a workload as it is: serve, switch, trace record, check."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.place import PlaceConfig


@dataclass
class ServeConfig(PlaceConfig):
    """`heddle serve`; `machine` is a real one.

    Attributes:
        policy: the file to follow, or the folder that `heddle nightly` calls state.
        fallback: what runs until there is a policy.
        poll_seconds: how often the file is looked at.
        report_seconds: of running, between two lines.
        seconds: of running in all; null = until it is ended.
        grown_mib_max: growth of the database, MiB, after which it is loaded anew.
    """

    policy: str | None = None
    fallback: str = "silo"
    poll_seconds: float = 1.0
    report_seconds: float = 10.0
    seconds: float | None = None
    grown_mib_max: int = 4096


@dataclass
class SwitchConfig(PlaceConfig):
    """`heddle evaluate --switch`.

    Attributes:
        policy: tables, in the order in which they run.
        at: when the run goes over to the second, third …, seconds since the window began; null =
            at equal parts of it.
        seconds: of the window; null = 12 real ones, 0.12 virtual ones.
        warmup: before it, under the first table; null = 1 real second, 0.02 virtual ones.
        intervals: so many equal parts of the window are counted by themselves.
        output: write what was measured to this JSON file.
        picture: throughput by interval, as an image.
    """

    policy: list[str] = field(default_factory=list)
    at: list[float] | None = None
    seconds: float | None = None
    warmup: float | None = None
    intervals: int = 24
    output: str | None = None
    picture: str | None = None


@dataclass
class RecordConfig(PlaceConfig):
    """`heddle trace record`; `machine` is a real one.

    Attributes:
        output: the folder of the trace.
        policy: what runs.
        seconds: of running.
        sessions: a worker is taken to serve so many clients in turn.
        mib_max: memory for what is recorded, MiB; a run that needs more ends before its time.
        name: the trace's; null = that of its folder.
        replace: whether output may be a trace already.
    """

    output: str | None = None
    policy: str = "silo"
    seconds: float = 5.0
    sessions: int = 64
    mib_max: int = 2048
    name: str | None = None
    replace: bool = False


@dataclass
class CheckConfig(PlaceConfig):
    """`heddle check`; a trial has 2 to `machine.cores` cores, and `seed` is the first trial's.

    Attributes:
        policy: what runs, in turn; `switching` is random tables that replace one another.
        random: random tables after each round of these.
        draw: whether every trial of the workload `generic` draws its transaction types anew, but
            for settings of the workload that are typed.
        schedules: of virtual cores, in turn.
        seconds: of each trial; null = 0.001 virtual ones, 0.2 real ones.
        trials: how many; null = until the budget is spent.
        budget: seconds after which no trial begins; null = no bound.
        jobs: processes; null = one a core, or one where the cores are real.
        shrink: whether a trial that fails is made smaller before it is shown.
        output: the folder that a trial which fails is written to.
        replay: run the trial of this file instead.
        history: check the history of this file instead.
    """

    policy: list[str] = field(default_factory=list)
    random: int = 7
    draw: bool = True
    schedules: list[str] = field(default_factory=list)
    seconds: float | None = None
    trials: int | None = 100
    budget: float | None = None
    jobs: int | None = None
    shrink: bool = True
    output: str = "counterexample"
    replay: str | None = None
    history: str | None = None
