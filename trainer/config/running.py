"""The settings of commands that run a workload: serve, switch, trace record, check."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.place import PlaceConfig


@dataclass
class ServeConfig(PlaceConfig):
    """`heddle serve`; `machine` is a real one.

    Attributes:
        policy: policy file to follow, or the folder `state` of `heddle nightly`.
        fallback: runs until there is a policy.
        poll_seconds: seconds between two checks of the file.
        report_seconds: running time between two printed lines.
        seconds: running time; null = until it is ended.
        grown_mib_max: growth of the database, MiB, after which it is reloaded.
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
        policy: policy tables, in the order in which they run.
        at: times of the switches, in seconds since the beginning of the window; null = at equal
            parts of it.
        seconds: length of the window; null = 12 real seconds, 0.12 virtual ones.
        warmup: unmeasured seconds before it; null = 1 real second, 0.02 virtual ones.
        intervals: number of equal parts of the window, counted separately.
        output: JSON file for the results.
        picture: image of throughput by interval.
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
        output: folder for the trace.
        policy: policy to run.
        seconds: length of the run.
        sessions: sessions per worker, which it serves in turn.
        mib_max: memory for the recording, MiB; a run that needs more ends early.
        name: name of the trace; null = the name of its folder.
        replace: whether to replace the trace at `output` if there is one.
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
        policy: policies to run in turn; `switching` is random tables that replace one another.
        random: random tables after each round of `policy`.
        draw: whether each trial of the workload `generic` draws its transaction types, except for
            the workload's options that the user sets.
        schedules: schedules of virtual cores, in turn.
        seconds: length of a trial; null = 0.001 virtual seconds, 0.2 real ones.
        trials: number of trials; null = until the budget is spent.
        budget: seconds after which no trial begins; null = no bound.
        jobs: processes; null = one per core, or one if the cores are real.
        allow: anomalies that histories of policies with a weaker isolation level may have.
        shrink: whether to reduce a failing trial before it is shown.
        output: folder for a failing trial.
        replay: only run the trial in this file.
        history: only check the history in this file.
    """

    policy: list[str] = field(default_factory=list)
    random: int = 7
    draw: bool = True
    schedules: list[str] = field(default_factory=list)
    seconds: float | None = None
    trials: int | None = 100
    budget: float | None = None
    jobs: int | None = None
    allow: list[str] = field(default_factory=list)
    shrink: bool = True
    output: str = "counterexample"
    replay: str | None = None
    history: str | None = None
