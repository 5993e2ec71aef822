"""Settings of measurements: candidates of a search, champions, comparisons, checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class BackendConfig:
    """The backend of measurements.

    Attributes:
        backend: `ray` (one actor per machine, or per core if cores are virtual) or `in_process`
            (without Ray).
        address: of the Ray cluster to join; null = start Ray on this machine.
    """

    backend: str = "ray"
    address: str | None = None


@dataclass
class EvaluationConfig(BackendConfig):
    """The measurement of candidates.

    Attributes:
        slice_seconds: length of one measured slice.
        warmup_seconds: unmeasured seconds before each slice.
        later_warmup_seconds: the same after the first rung, which then only decides who stays;
            null = `warmup_seconds`.
        reference_every: candidates between two slices of the reference, on real cores.
        rungs: slices of each remaining candidate at each rung.
        keep: share of the candidates that reach the next rung.
        settled: on virtual cores, rungs are lengthened until the seeds' fitness ratios are within
            this relative distance of a long run's; null = no lengthening.
        grown_mib_max: growth of a database, MiB, after which it is reloaded.
    """

    slice_seconds: float = 0.05
    warmup_seconds: float = 0.005
    later_warmup_seconds: float | None = None
    reference_every: int = 2
    rungs: list[int] = field(default_factory=lambda: [1, 1, 2, 4])
    keep: float = 0.5
    settled: float | None = None
    grown_mib_max: int = 512


@dataclass
class TuningConfig:
    """The sweep that sets the constant backoff of `silo_tuned`.

    Attributes:
        slice_seconds: length of one run.
        warmup_seconds: unmeasured seconds before each run.
        rounds: runs of every constant.
        finalists: number of the best constants that are repeated.
        final_rounds: further runs of each finalist.
        final_slices: length of each further run, in slices.
    """

    slice_seconds: float = 0.1
    warmup_seconds: float = 0.01
    rounds: int = 3
    finalists: int = 4
    final_rounds: int = 9
    final_slices: int = 2


@dataclass
class ChampionConfig:
    """The choice of the best policy: the top candidates, measured again side by side.

    Attributes:
        finalists: candidates of the search that take part.
        rounds: slices of each at every stage; each stage eliminates the worse half.
        slice_seconds: length of one slice.
        warmup_seconds: unmeasured seconds before each slice.
    """

    finalists: int = 6
    rounds: int = 16
    slice_seconds: float = 0.1
    warmup_seconds: float = 0.005


@dataclass
class RunConfig:
    """A comparison of policies side by side.

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
    """The certainty of the closing comparison (`trainer.verdict`).

    Attributes:
        confidence: of the interval of the ratio to the best baseline, 0 to 1.
        equal_within: an interval of the ratio within this distance of 1 shows equality.
        repeats_max: repeats are doubled until the interval decides, up to this number; null = the
            number of repeats is fixed.
        seconds: no further repeats begin that would probably end later than this after the
            beginning of the comparison; null = no bound.
    """

    confidence: float = 0.95
    equal_within: float = 0.01
    repeats_max: int | None = 20
    seconds: float | None = 120.0


@dataclass
class ValidationConfig(RunConfig):
    """The comparison on real cores after a search on virtual ones.

    Attributes:
        enabled: whether to make it.
        cores: number of real cores; null = every core that the process may use.
        tuning: the sweep of `silo_tuned` on real cores.
    """

    enabled: bool = True
    cores: int | None = None
    tuning: TuningConfig = field(default_factory=TuningConfig)


@dataclass
class TableCheckConfig:
    """The serializability check of tables, by a short recorded run (`trainer.table_check`).

    Attributes:
        enabled: whether a generation's best and the champion must pass it.
        seconds: length of the run; null = 0.001 virtual seconds, 0.2 real ones.
    """

    enabled: bool = True
    seconds: float | None = None


@dataclass
class ObjectiveConfig:
    """What policies are compared by (docs/objectives.md).

    Attributes:
        name: the metric: one of `trainer.objective.NAMES`.
        types: transaction types whose metric counts, the worst of them; empty = all types.
        p: the power of the norm, for `lp`.
        limits: bounds by metric, such as `{delivery.p99: 1000, "*.p99": 5x silo_tuned}`: numbers,
            or multiples of a baseline's figure.
    """

    name: str = "throughput"
    types: list[str] = field(default_factory=list)
    p: int = 2
    limits: dict[str, Any] = field(default_factory=dict)
