"""Measuring a table of the library against the baselines, for `add` and `verify`."""

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
from envs.objective import THROUGHPUT, Objective
from policies import PolicyDocument, PolicyFileError, Signature, to_json
from trainer.config import RunConfig, TrainingConfig, TuningConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_silo
from trainer.progress import Display
from trainer.repeats import SEED_STRIDE
from trainer.verdict import beyond_limits

Settings = TypeVar("Settings", RunConfig, TuningConfig)

FRESH = 3
"""Number of `SEED_STRIDE`s after a run's own seed at which unseen inputs begin."""

CORES_MAX, SEED_MAX = 1024, (10**12 + FRESH) * SEED_STRIDE
"""Limits of a record's values: more is a mistake. A run's own seed is 10**12 at most."""

ENTRY = "the table"
"""The name of the library's table in a comparison."""


@dataclass(frozen=True)
class Measurement:
    """All parameters of a measurement on virtual cores, except the build.

    Attributes:
        workload: its options, including the name.
        machine: the virtual machine's options.
        cores: the number of cores.
        baselines: the policies to compare with.
        seed: of the population and the inputs.
        run: the amount of measuring.
        tuning: of `silo_tuned`.
        objective: what the table is for; its limits are absolute.
    """

    workload: dict[str, str]
    machine: dict[str, str]
    cores: int
    baselines: list[str]
    seed: int
    run: RunConfig
    tuning: TuningConfig
    objective: Objective = THROUGHPUT

    @classmethod
    def of(
        cls,
        config: TrainingConfig,
        seed: int,
        objective: Objective = THROUGHPUT,
        warmup: float = 0.0,
    ) -> Measurement:
        """Return the measurement for a training's settings, on other inputs.

        Args:
            config: the settings.
            seed: of the population and the inputs.
            objective: what the table is for.
            warmup: the least warm-up in seconds, after which its latencies are settled.

        Raises:
            ValueError: the settings have no number of cores, or no baselines.
        """
        if config.machine.cores is None:
            raise ValueError("machine.cores=null: a table of the library needs a number of cores")
        if not config.baselines:
            raise ValueError("baselines=[]: a table of the library needs baselines")
        return cls(
            workload_options(config.workload),
            config.machine.options(),
            config.machine.cores,
            list(config.baselines),
            seed,
            replace(config.run, warmup=max(config.run.warmup, warmup)),
            config.tuning,
            objective,
        )

    @classmethod
    def from_dict(cls, data: Any) -> Measurement:
        """Create it from the result of `as_dict`.

        Raises:
            ValueError: `data` is no such result.
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
                Objective.from_dict(data.get("objective", THROUGHPUT.as_dict())),
            )
        except KeyError as error:
            raise ValueError(f"the record of the measurement has no field {error}") from error
        except (TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"is not a record of a measurement: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, for the provenance."""
        objective = {} if self.objective == THROUGHPUT else {"objective": self.objective.as_dict()}
        found = asdict(self)
        del found["objective"]
        return found | objective


@dataclass(frozen=True)
class Scores:
    """The result of a measurement.

    Attributes:
        to: the value of the objective relative to each baseline, the median over the repeats.
        lowest: the lowest of the repeats, for each baseline.
        others: the value relative to each other table of the library, the median.
        exceeded: the limits that the table exceeds in the median repeat, in words; None if none.
    """

    to: Mapping[str, float]
    lowest: Mapping[str, float]
    others: Mapping[str, float] = field(default_factory=dict)
    exceeded: str | None = None

    @property
    def best_baseline(self) -> str:
        """The fastest baseline."""
        return min(self.to, key=lambda name: self.to[name])

    @property
    def margin(self) -> float:
        """Throughput relative to the best baseline."""
        return self.to[self.best_baseline]

    @property
    def unbeaten(self) -> list[str]:
        """Baselines that were at least as fast in a repeat."""
        return [name for name, ratio in self.lowest.items() if ratio <= 1.0]


def measure_scores(
    document: PolicyDocument,
    how: Measurement,
    display: Display,
    phase: str,
    others: Mapping[str, PolicyDocument] = MappingProxyType({}),
) -> Scores:
    """Measure a table, the baselines and other tables in one comparison.

    Args:
        document: the table.
        how: the measurement.
        display: shows the progress.
        phase: its name for the progress.
        others: other tables for the workload to compare with, by names that differ from the
            baselines'.

    Raises:
        PolicyFileError: the table does not fit the workload.
        ValueError: the workload, the machine or a baseline does not exist.
        MeasuringError: a policy can't run, or leaves an inconsistent database.
        KeyboardInterrupt: Ctrl-C.
    """
    evaluator = Evaluator(how.workload, how.cores, machine=how.machine, seed=how.seed)
    with closing(evaluator):
        refuse_misfit(document, evaluator.signature)
        for name in how.baselines:
            subject_of(name, evaluator.signature, untuned)
        tuned = tune_silo(evaluator.run_round, how.tuning, how.seed, display)
        baselines = [subject_of(name, evaluator.signature, lambda: tuned) for name in how.baselines]
        plan = ComparisonPlan(
            how.run.seconds, how.run.repeats, how.run.warmup, objective=how.objective
        )
        found = compare_shown(
            evaluator.run_round,
            [
                *baselines,
                *(of_policy(name, to_json(other)) for name, other in others.items()),
                of_policy(ENTRY, to_json(document)),
            ],
            plan,
            how.seed,
            display,
            phase,
        )
    if found.interrupted:
        raise KeyboardInterrupt
    return _scores(found, set(others))


def refuse_misfit(document: PolicyDocument, signature: Signature) -> None:
    """Check that a table is for the workload.

    Raises:
        PolicyFileError: it is for another one.
    """
    if document.signature != signature:
        raise PolicyFileError(
            f"{document.name}: does not fit the current signature of {signature.workload}; train "
            "a new table"
        )


_BEFORE = {"final_slices": 1}
"""Values of settings that records of earlier versions do not have."""


def _within(data: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = int(data[name])
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}")
    return value


def _positive(plain: Settings, data: Mapping[str, Any], may_be_zero: str) -> Settings:
    """Create settings from JSON values, with the types of those in `plain`.

    Raises:
        KeyError, TypeError, ValueError: a value is missing, of another type, or out of range.
    """
    values = {
        setting.name: type(getattr(plain, setting.name))(data[setting.name])
        for setting in fields(plain)
    }
    for name, value in values.items():
        if value < 0 or (value == 0 and name != may_be_zero):
            raise ValueError(f"{name} is {value}")
    return replace(plain, **values)


def _scores(found: Comparison, others: Container[str]) -> Scores:
    if found.violations:
        raise MeasuringError(f"consistency violated: {found.violations[0]}")
    mine = found.row(ENTRY)
    assert mine is not None
    scores = found.scores(ENTRY)
    to = {name: score for name, score in scores.items() if name not in others}
    if not to:
        raise MeasuringError("no baseline committed anything; use longer runs (run.seconds)")
    ratios = found.ratios(ENTRY)
    # A baseline that committed nothing has no ratio and counts as beaten.
    return Scores(
        to,
        {name: min(ratios[name]) for name in to},
        {name: score for name, score in scores.items() if name in others},
        beyond_limits(ENTRY, [found]),
    )
