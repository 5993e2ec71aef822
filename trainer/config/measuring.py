"""How policies are measured: candidates of a search, champions, comparisons, checks."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class BackendConfig:
    """Who measures.

    Attributes:
        backend: `ray` (one actor a machine, or for each core where they are virtual) or
            `in_process` (no Ray).
        address: of the Ray cluster to join; null = a local one, started quietly.
    """

    backend: str = "ray"
    address: str | None = None


@dataclass
class EvaluationConfig(BackendConfig):
    """How candidates are measured, and by whom.

    Attributes:
        slice_seconds: length of one measured slice.
        warmup_seconds: unmeasured run before each slice.
        reference_every: candidates between two slices of the reference, on real cores.
        rungs: the slices of every candidate still in the race, at each rung.
        keep: share of the candidates that reach the next rung.
        settled: on virtual cores rungs are lengthened until the ratios of the seeds' fitness are
            within this of a long run's, relatively; null = no lengthening.
        grown_mib_max: growth of a database, MiB, after which it is loaded anew.
    """

    slice_seconds: float = 0.05
    warmup_seconds: float = 0.005
    reference_every: int = 2
    rungs: list[int] = field(default_factory=lambda: [1, 1, 2, 4])
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
        final_slices: how many slices long each of these is.
    """

    slice_seconds: float = 0.1
    warmup_seconds: float = 0.01
    rounds: int = 3
    finalists: int = 4
    final_rounds: int = 9
    final_slices: int = 2


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
class VerdictConfig:
    """How sure the closing comparison must be (`trainer.verdict`).

    Attributes:
        confidence: of the interval of the ratio to the best baseline, 0 to 1.
        equal_within: a ratio whose interval is no farther from 1 than this is one of equals.
        repeats_max: repeats are doubled until the interval decides, or there are as many as this;
            null = there are as many as were asked for.
        seconds: no further repeats begin if they would take longer than this since the
            comparison began, as far as can be told by those before; null = no bound.
    """

    confidence: float = 0.95
    equal_within: float = 0.01
    repeats_max: int | None = 20
    seconds: float | None = 120.0


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
