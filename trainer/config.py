"""The settings of `heddle train` and `heddle evaluate`, typed; `configs/` holds their values.

A search adds its own settings: see `trainer.search.registry`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from envs import BASELINES, TUNED
from policies import ACTION_GROUPS


@dataclass
class MachineConfig:
    """Where policies run.

    Attributes:
        kind: `threads`: real pinned threads; `virtual`: simulated cores.
        cores: how many; null = every core that the process may use.
    """

    kind: str = MISSING
    cores: int | None = None

    def options(self) -> dict[str, str]:
        """The machine as the engine takes it."""
        return {"kind": self.kind}


@dataclass
class CostsConfig:
    """What a virtual core pays (engine/machine/cost_model.h); nanoseconds unless named otherwise.

    Attributes:
        cores_per_socket: cores that share a cache.
        word_ns: the engine's instructions around an access to a shared word …
        lookup_ns: … where a procedure looks a row up …
        insert_ns: … where it inserts one …
        row_ns: … where it goes on with a row it has, or a scan comes to one …
        control_ns: … where concurrency control beyond Silo's acts (a policy's row, a lock; twice
            at a publication point) …
        transaction_ns: … and once a transaction.
        shared_hit_ns: a cache line from the socket's shared cache.
        memory_ns: from memory.
        transfer_ns: from another core's cache, or taken away from it, in the same socket …
        far_transfer_ns: … and across sockets.
        exposed: share of a load's latency that the core waits for, 0..1.
        stream_ns: each line of a copy behind its first.
        atomic_ns: a locked instruction, beyond its access.
        pause_ns: one pause in a spinning wait.
        private_lines: lines of 64 bytes in a core's own cache, a power of two.
        shared_lines: in a socket's shared cache, likewise.
    """

    cores_per_socket: int = MISSING
    word_ns: float = MISSING
    lookup_ns: float = MISSING
    insert_ns: float = MISSING
    row_ns: float = MISSING
    control_ns: float = MISSING
    transaction_ns: float = MISSING
    shared_hit_ns: float = MISSING
    memory_ns: float = MISSING
    transfer_ns: float = MISSING
    far_transfer_ns: float = MISSING
    exposed: float = MISSING
    stream_ns: float = MISSING
    atomic_ns: float = MISSING
    pause_ns: float = MISSING
    private_lines: int = MISSING
    shared_lines: int = MISSING


@dataclass
class VirtualConfig(MachineConfig):
    """Cores simulated in virtual time.

    Attributes:
        seed: decides which of two cores goes first whose clocks are equal, and what a schedule
            other than `clock` draws.
        skew_ns: how far a core may run ahead of the others before it gives way, ns.
        schedule: who goes on: `clock`: the core whose clock is lowest; `delays`: likewise, but
            now and then a core is held up; `priorities`: the core of the highest of random
            priorities.
        delay_every: of `delays`: accesses between two, on average.
        delay_us: … the longest, µs of virtual time.
        depth: of `priorities`: one more than the changes of priority in a stretch.
        steps: … accesses in a stretch.
        rescue: whether a parked core looks up by itself now and then; null = under `clock` only.
        costs: what an access costs.
    """

    seed: int = 1
    skew_ns: float = MISSING
    schedule: str = MISSING
    delay_every: int = MISSING
    delay_us: float = MISSING
    depth: int = MISSING
    steps: int = MISSING
    rescue: bool | None = None
    costs: CostsConfig = field(default_factory=CostsConfig)

    def options(self) -> dict[str, str]:
        """The machine as the engine takes it."""
        plain = {
            "kind": self.kind,
            "seed": self.seed,
            "skew_ns": self.skew_ns,
            "schedule": self.schedule,
            "delay_every": self.delay_every,
            "delay_us": self.delay_us,
            "depth": self.depth,
            "steps": self.steps,
        }
        if self.rescue is not None:
            plain["rescue"] = str(self.rescue).lower()
        return {key: str(value) for key, value in (plain | asdict(self.costs)).items()}


@dataclass
class SearchConfig:
    """What all searches share; each has a dataclass that extends it.

    Attributes:
        name: which search.
        generations: stop after this many; null = no bound.
        evaluations: stop after this many measured candidates; null = no bound.
        seconds: stop after this many seconds of searching; null = no bound.
        actions: action groups that may be used, see `policies.ACTION_GROUPS`.
        start: policies that the search starts from besides the seeds: names, paths, or `library`,
            the tables of the library whose workloads and cores are nearest.
    """

    name: str = MISSING
    generations: int | None = 300
    evaluations: int | None = None
    seconds: float | None = None
    actions: list[str] = field(default_factory=lambda: list(ACTION_GROUPS))
    start: list[str] = field(default_factory=list)


@dataclass
class EvaluationConfig:
    """How candidates are measured.

    Attributes:
        backend: `ray` (one actor a machine, or for each core where they are virtual) or
            `in_process` (no Ray).
        address: of the Ray cluster to join; null = a local one, started quietly.
        slice_seconds: length of one measured slice.
        warmup_seconds: unmeasured run before each slice.
        reference_every: candidates between two slices of the reference, on real cores.
        looks: the race: slices of every candidate still in it at each look.
        keep: share of the candidates that go on from a look to the next.
        settled: on virtual cores looks are lengthened until the seeds' fitness in one slice's time
            is mistaken by no more than this, relatively; null = they are as they are.
        grown_mib_max: growth of a database, MiB, after which it is loaded anew.
    """

    backend: str = "ray"
    address: str | None = None
    slice_seconds: float = 0.05
    warmup_seconds: float = 0.005
    reference_every: int = 2
    looks: list[int] = field(default_factory=lambda: [1, 1, 2, 4])
    keep: float = 0.5
    settled: float | None = None
    grown_mib_max: int = 512


@dataclass
class TuningConfig:
    """The sweep that gives `silo_tuned` its constant backoff.

    Attributes:
        slice_seconds: length of one run.
        warmup_seconds: unmeasured run before each.
        rounds: runs of every constant.
        finalists: how many of the best are repeated.
        final_rounds: further runs of each of those.
    """

    slice_seconds: float = 0.1
    warmup_seconds: float = 0.01
    rounds: int = 3
    finalists: int = 4
    final_rounds: int = 9


@dataclass
class ChampionConfig:
    """How the best policy is chosen at the end: the top candidates, measured anew side by side.

    Attributes:
        finalists: candidates of the search that take part.
        rounds: slices of each at every stage; after a stage the worse half leaves.
        slice_seconds: length of one slice.
        warmup_seconds: unmeasured run before each.
    """

    finalists: int = 6
    rounds: int = 16
    slice_seconds: float = 0.1
    warmup_seconds: float = 0.005


@dataclass
class RunConfig:
    """How policies are compared side by side.

    Attributes:
        seconds: length of one run.
        repeats: runs of each policy, interleaved.
        warmup: unmeasured seconds before each run.
    """

    seconds: float = 1.0
    repeats: int = 5
    warmup: float = 0.1


@dataclass
class ValidationConfig(RunConfig):
    """What follows a search on virtual cores: the same comparison on real ones.

    Attributes:
        enabled: whether it is made.
        cores: how many real cores; null = every core that the process may use.
        tuning: the sweep of `silo_tuned` there.
    """

    enabled: bool = True
    cores: int | None = None
    tuning: TuningConfig = field(default_factory=TuningConfig)


@dataclass
class TableCheckConfig:
    """The check of what a search finds: a short run, recorded (`trainer.table_check`).

    Attributes:
        enabled: whether a table must pass it before it is a generation's best, or the champion.
        seconds: of the run; null = 0.001 virtual ones, 0.2 real ones.
    """

    enabled: bool = True
    seconds: float | None = None


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
class TrainingConfig:
    """What every training needs, by whichever command.

    Attributes:
        workload: what to train for: its name and options, as the engine takes them.
        machine: where.
        search: how.
        evaluation: how candidates are measured.
        tuning: the sweep of `silo_tuned`, which fitness is relative to.
        champion: how the best policy is chosen.
        check: how tables are checked.
        run: how policies are compared.
        baselines: what the learned policy is compared with.
        seed: of the search, the population and the inputs.
        mlflow: the record.
    """

    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    champion: ChampionConfig = field(default_factory=ChampionConfig)
    check: TableCheckConfig = field(default_factory=TableCheckConfig)
    run: RunConfig = field(default_factory=RunConfig)
    baselines: list[str] = field(default_factory=lambda: list(BASELINES))
    seed: int = 1
    mlflow: MlflowConfig = field(default_factory=MlflowConfig)

    def shared(self) -> dict[str, Any]:
        """These settings by name, of a command that has more."""
        return {one.name: getattr(self, one.name) for one in fields(TrainingConfig)}


@dataclass
class TrainConfig(TrainingConfig):
    """`heddle train`; `run` is the closing comparison.

    Attributes:
        validation: after a search on virtual cores, the comparison on real ones.
        registered_model: the model in MLflow's registry that the policy becomes a version of;
            null = none.
        resume: a run to go on with: its name in `runs_dir`, or its folder.
        sweep: with -m: the sweep to begin or to go on with: its name, or its folder.
        runs_dir: where runs are kept.
    """

    validation: ValidationConfig = field(default_factory=ValidationConfig)
    registered_model: str | None = None
    resume: str | None = None
    sweep: str | None = None
    runs_dir: str = "runs"


@dataclass
class ContestConfig:
    """`heddle contest`.

    Attributes:
        sweep: whose runs are compared: its name, or its folder.
        runs_dir: where it is.
        output: the folder for what is written; null = the sweep's.
        seed: of the population and the inputs on which tables are measured anew.
        rounds: runs of each table …
        seconds: … of this length …
        warmup: … and what comes before each unmeasured.
        points: bests so far of each run that are measured anew, at most.
        share: of the best known, to which evaluations are counted.
        evaluation: where tables are measured anew.
        threads: the best of each method on real cores.
    """

    sweep: str | None = None
    runs_dir: str = "runs"
    output: str | None = None
    seed: int = 1001
    rounds: int = 5
    seconds: float = 0.05
    warmup: float = 0.01
    points: int = 12
    share: float = 0.95
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    threads: ValidationConfig = field(default_factory=ValidationConfig)


@dataclass
class EvaluateConfig:
    """`heddle evaluate`.

    Attributes:
        policy: what to compare, the first being what ratios are taken to.
        workload: its name and options, as the engine takes them.
        machine: where.
        run: how much is measured.
        tuning: the sweep of `silo_tuned`.
        seed: of the population and the inputs.
        output: write the results to this JSON file.
    """

    policy: list[str] = field(default_factory=lambda: list(BASELINES))
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    run: RunConfig = field(default_factory=RunConfig)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    seed: int = 1
    output: str | None = None


@dataclass
class TransferConfig(EvaluateConfig):
    """`heddle transfer`: as `heddle evaluate`, in several places; `output` is a folder.

    Attributes:
        reference: what throughput is relative to.
    """

    reference: str = TUNED


@dataclass
class CalibrateConfig:
    """`heddle calibrate`.

    Attributes:
        output: the file of costs to write; `machine/costs=FILE` uses it.
        seconds: length of one slice on a real core.
        rounds: slices of each case.
        virtual_seconds: length of one run on a virtual core.
    """

    output: str | None = None
    seconds: float = 0.1
    rounds: int = 15
    virtual_seconds: float = 0.02


@dataclass
class FidelityConfig:
    """`heddle fidelity`.

    Attributes:
        policy: what to run on both machines beside `random` and `mutated` tables.
        random: how many tables drawn at random.
        mutated: how many mutants of the tables in `policy`.
        reference: what throughput is relative to.
        workload: its name and options, as the engine takes them.
        machine: the virtual machine; the real one has as many cores.
        seconds: length of a slice on real cores.
        rounds: slices of each policy there.
        warmup: unmeasured seconds before each.
        virtual_seconds: length of a run on virtual cores.
        virtual_rounds: runs of each policy there.
        virtual_warmup: unmeasured seconds before each.
        seed: of the tables, the population and the inputs.
        output: the folder for fidelity.json and fidelity.png.
    """

    policy: list[str] = field(default_factory=list)
    random: int = 12
    mutated: int = 24
    reference: str = "silo"
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seconds: float = 0.05
    rounds: int = 16
    warmup: float = 0.005
    virtual_seconds: float = 0.03
    virtual_rounds: int = 2
    virtual_warmup: float = 0.005
    seed: int = 1
    output: str | None = None


@dataclass
class TimelineConfig:
    """`heddle timeline`.

    Attributes:
        policy: what runs.
        workload: its name and options, as the engine takes them.
        machine: the virtual machine.
        seconds: virtual time that is recorded …
        warmup: … and what comes before.
        seed: of the population and the inputs.
        events: how many are recorded at most.
        output: the trace.
        picture: the image, or null.
        from_us: where the picture begins in the window, µs …
        until_us: … and ends.
        draw_cores: which cores it has; null = the first eight.
    """

    policy: str = "ic3"
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seconds: float = 0.0002
    warmup: float = 0.002
    seed: int = 1
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
        machine: the virtual cores that runs on real cores are recorded on.
        timeline: what is recorded.
    """

    runs_dir: str = "runs"
    output: str | None = None
    beside: str | None = None
    machine: MachineConfig = field(default_factory=MachineConfig)
    timeline: ReportTimelineConfig = field(default_factory=ReportTimelineConfig)


@dataclass
class ConflictConfig:
    """How the conflict rate of an hour is measured (`heddle trace stats`).

    Attributes:
        window_minutes: two requests conflict only within so many minutes; divides 60.
        types: the transaction types that count; empty = all.
    """

    window_minutes: int = 5
    types: list[str] = field(default_factory=list)


@dataclass
class HeldOutConfig:
    """What of the peak hour a policy is judged on, and not trained on.

    Attributes:
        minutes: the last so many of the hour.
        blocks: they are cut into so many blocks at most, each replayed by itself.
        confidence: of the interval of a ratio, 0 to 1.
        resamples: of the bootstrap.
    """

    minutes: int = 20
    blocks: int = 10
    confidence: float = 0.95
    resamples: int = 9999


@dataclass
class NightConfig:
    """What a night needs beyond a training.

    Attributes:
        trace: the folder of the trace.
        state: the folder that keeps the policy that is served, and what was decided.
        day: which day of the trace; null = its last.
        threshold: train if the conflict rate differs by so much, relatively.
        retrain_after: days until it trains again for conditions like those of a training whose
            candidate was not served; null = never.
        keep_policies: so many policies that were served before are kept.
        registered_model: the model in MLflow's registry whose alias `champion` is the policy that
            is served; null = none.
        conflict: how the conflict rate is measured.
        held_out: what is judged on.
    """

    trace: str | None = None
    state: str | None = None
    day: str | None = None
    threshold: float = 0.15
    retrain_after: int | None = 7
    keep_policies: int = 10
    registered_model: str | None = "heddle-policy"
    conflict: ConflictConfig = field(default_factory=ConflictConfig)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)


@dataclass
class NightlyConfig(TrainingConfig, NightConfig):  # in this order, what is the night's own is first
    """`heddle nightly`: a workload `replay` or `shop`, of the night's part; `run` is of a block."""


@dataclass
class ServeConfig:
    """`heddle serve`.

    Attributes:
        policy: the file to follow, or the folder that `heddle nightly` calls state.
        fallback: what runs until there is a policy.
        workload: its name and options, as the engine takes them.
        machine: real cores.
        poll_seconds: how often the file is looked at.
        report_seconds: of running, between two lines.
        seconds: of running in all; null = until it is ended.
        grown_mib_max: growth of the database, MiB, after which it is loaded anew.
        seed: of the population and the inputs.
    """

    policy: str | None = None
    fallback: str = "silo"
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    poll_seconds: float = 1.0
    report_seconds: float = 10.0
    seconds: float | None = None
    grown_mib_max: int = 4096
    seed: int = 1


@dataclass
class RecordConfig:
    """`heddle trace record`.

    Attributes:
        output: the folder of the trace.
        policy: what runs.
        workload: its name and options, as the engine takes them.
        machine: real cores.
        seconds: of running.
        sessions: a worker is taken to serve so many clients in turn.
        mib_max: memory for what is recorded, MiB; a run that needs more ends before its time.
        seed: of the population and the inputs.
        name: the trace's; null = that of its folder.
        replace: whether output may be a trace already.
    """

    output: str | None = None
    policy: str = "silo"
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seconds: float = 5.0
    sessions: int = 64
    mib_max: int = 2048
    seed: int = 1
    name: str | None = None
    replace: bool = False


@dataclass
class CheckConfig:
    """`heddle check`.

    Attributes:
        policy: what runs, in turn; `switching` is random tables that replace one another.
        random: random tables after each round of these.
        draw: whether every trial of the workload `generic` draws its transaction types anew.
        schedules: of virtual cores, in turn.
        workload: its name and options, as the engine takes them.
        machine: where; a trial has 2 to `machine.cores` cores.
        seconds: of each trial; null = 0.001 virtual ones, 0.2 real ones.
        trials: how many; null = until the budget is spent.
        budget: seconds after which no trial begins; null = no bound.
        seed: of the first trial; the next one's is one more.
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
    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seconds: float | None = None
    trials: int | None = 100
    budget: float | None = None
    seed: int = 1
    jobs: int | None = None
    shrink: bool = True
    output: str = "counterexample"
    replay: str | None = None
    history: str | None = None


def register_schemas() -> None:
    """Tell Hydra the types of all settings; `configs/*.yaml` name them in their defaults."""
    store = ConfigStore.instance()
    store.store("calibrate_schema", CalibrateConfig)
    store.store("check_schema", CheckConfig)
    store.store("contest_schema", ContestConfig)
    store.store("fidelity_schema", FidelityConfig)
    store.store("nightly_schema", NightlyConfig)
    store.store("report_schema", ReportConfig)
    store.store("serve_schema", ServeConfig)
    store.store("trace_record_schema", RecordConfig)
    store.store("timeline_schema", TimelineConfig)
    store.store("train_schema", TrainConfig)
    store.store("evaluate_schema", EvaluateConfig)
    store.store("transfer_schema", TransferConfig)
    store.store("threads_schema", MachineConfig, group="machine")
    store.store("virtual_schema", VirtualConfig, group="machine")


def workload_options(workload: dict[str, Any]) -> dict[str, str]:
    """The workload as the engine takes it: all values as text."""
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in workload.items()
        if value is not None
    }
