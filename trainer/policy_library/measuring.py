"""How a table of the library is measured against the baselines: when it is added, and again."""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    of_policy,
    subject_of,
    untuned,
)
from envs.comparison import paired_ratios
from policies import PolicyDocument, PolicyFileError, Signature, to_json
from trainer.config import RunConfig, TrainingConfig, TuningConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.progress import Display
from trainer.run import SEED_STRIDE

Settings = TypeVar("Settings", RunConfig, TuningConfig)

FRESH = 3
"""Seeds from `SEED_STRIDE` times so many more than a run's own on are inputs that it never saw."""

CORES_MAX, SEED_MAX = 1024, (10**12 + FRESH) * SEED_STRIDE
"""What a record may name at most: more is a mistake. A run's own seed is 10**12 at most."""

ENTRY = "the table"
"""How a comparison calls the table of the library."""


@dataclass(frozen=True)
class Measurement:
    """All that a measurement on virtual cores depends on, but for the build.

    Attributes:
        workload: its options, the name among them.
        machine: the virtual machine's options.
        cores: how many.
        baselines: what the table is compared with.
        seed: of the population and the inputs.
        run: how much is measured.
        tuning: the sweep of `silo_tuned`.
    """

    workload: dict[str, str]
    machine: dict[str, str]
    cores: int
    baselines: list[str]
    seed: int
    run: RunConfig
    tuning: TuningConfig

    @classmethod
    def of(cls, config: TrainingConfig, seed: int) -> Measurement:
        """As a training's settings have it, on other inputs.

        Raises:
            ValueError: they say not on how many cores, or beside what.
        """
        if config.machine.cores is None:
            raise ValueError("machine.cores=null: a table of the library is for so many cores")
        if not config.baselines:
            raise ValueError("baselines=[]: a table of the library is compared with some")
        return cls(
            workload_options(config.workload),
            config.machine.options(),
            config.machine.cores,
            list(config.baselines),
            seed,
            config.run,
            config.tuning,
        )

    @classmethod
    def from_dict(cls, data: Any) -> Measurement:
        """Read what `as_dict` gave.

        Raises:
            ValueError: it is not that.
        """
        try:
            return cls(
                {str(key): str(value) for key, value in data["workload"].items()},
                {str(key): str(value) for key, value in data["machine"].items()},
                _within(data, "cores", 1, CORES_MAX),
                [str(name) for name in data["baselines"]],
                _within(data, "seed", 0, SEED_MAX),
                _positive(RunConfig(), data["run"], "warmup"),
                _positive(TuningConfig(), _BEFORE | data["tuning"], "warmup_seconds"),
            )
        except KeyError as error:
            raise ValueError(f"the record of the measurement has no field {error}") from error
        except (TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"is no record of a measurement: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """As JSON values, for the provenance."""
        return asdict(self)


@dataclass(frozen=True)
class Scores:
    """What a measurement came to.

    Attributes:
        to: throughput ÷ that of each baseline, the median over the repeats.
        lowest: … in the repeat where it was lowest.
        beside: throughput ÷ that of each other table of the library, likewise.
    """

    to: Mapping[str, float]
    lowest: Mapping[str, float]
    beside: Mapping[str, float] = field(default_factory=dict)

    @property
    def best_baseline(self) -> str:
        """The one that comes nearest."""
        return min(self.to, key=lambda name: self.to[name])

    @property
    def margin(self) -> float:
        """Throughput ÷ that of the best baseline."""
        return self.to[self.best_baseline]

    @property
    def unbeaten(self) -> list[str]:
        """Baselines that were as fast in one repeat at least."""
        return [name for name, ratio in self.lowest.items() if ratio <= 1.0]


def measure_scores(
    document: PolicyDocument,
    how: Measurement,
    display: Display,
    phase: str,
    beside: Mapping[str, PolicyDocument] = MappingProxyType({}),
) -> Scores:
    """Measure a table and the baselines side by side.

    Args:
        document: the table.
        how: the measurement.
        display: shows.
        phase: what it shows it as.
        beside: other tables for the workload that are measured as well, by names that no baseline
            has.

    Raises:
        PolicyFileError: the table does not fit the workload.
        ValueError: there is no such workload, machine or baseline.
        MeasuringError: something can't run, or leaves an inconsistent database.
        KeyboardInterrupt: Ctrl-C.
    """
    evaluator = Evaluator(how.workload, how.cores, machine=how.machine, seed=how.seed)
    with closing(evaluator):
        refuse_misfit(document, evaluator.signature)
        for name in how.baselines:
            subject_of(name, evaluator.signature, untuned)
        tuned = tune_silo(evaluator.run_round, how.tuning, how.seed, display)
        baselines = [subject_of(name, evaluator.signature, lambda: tuned) for name in how.baselines]
        plan = ComparisonPlan(how.run.seconds, how.run.repeats, how.run.warmup)
        found = compare_shown(
            evaluator.run_round,
            [
                *baselines,
                *(of_policy(name, to_json(one)) for name, one in beside.items()),
                of_policy(ENTRY, to_json(document)),
            ],
            plan,
            how.seed,
            display,
            phase,
        )
    if found.interrupted:
        raise KeyboardInterrupt
    return _scores(found, set(beside))


def refuse_misfit(document: PolicyDocument, signature: Signature) -> None:
    """Refuse a table that is for another workload.

    Raises:
        PolicyFileError: it is.
    """
    if document.signature != signature:
        raise PolicyFileError(
            f"{document.name}: is for another signature than {signature.workload} has now; train "
            "one for it"
        )


_BEFORE = {"final_slices": 1}
"""What tables of the library were measured with before it could be set."""


def _within(data: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = int(data[name])
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}")
    return value


def _positive(plain: Settings, data: Mapping[str, Any], may_be_zero: str) -> Settings:
    """Settings out of JSON values, of the types of those in `plain`.

    Raises:
        KeyError, TypeError, ValueError: one is missing, of another type, or out of its range.
    """
    values = {one.name: type(getattr(plain, one.name))(data[one.name]) for one in fields(plain)}
    for name, value in values.items():
        if value < 0 or (value == 0 and name != may_be_zero):
            raise ValueError(f"{name} is {value}")
    return replace(plain, **values)


def _scores(found: Comparison, beside: Container[str]) -> Scores:
    if found.violations:
        raise MeasuringError(f"consistency violated: {found.violations[0]}")
    mine = found.row(ENTRY)
    assert mine is not None
    scores = found.scores(ENTRY)
    to = {name: score for name, score in scores.items() if name not in beside}
    if not to:
        raise MeasuringError("no baseline committed anything; measure longer, with run.seconds")
    ratios = {row.subject.name: paired_ratios(mine, row) for row in found.rows if row is not mine}
    # A baseline that committed nothing has no ratio, and is beaten.
    return Scores(
        to,
        {name: min(ratios[name]) for name in to},
        {name: score for name, score in scores.items() if name in beside},
    )
