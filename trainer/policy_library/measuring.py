"""Measuring a policy of the library against the baselines, for `add` and `verify`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    is_tuned,
    of_policy,
    subject_of,
    untuned,
)
from envs.external_sweep import TUNED_EXTERNAL, TunedStore
from envs.objective import THROUGHPUT, Objective
from envs.reference import Reference
from envs.result import Machine
from envs.subject import Subject
from policies import PolicyDocument, PolicyFileError, Signature, to_json, validate
from policies.protocol import (
    DEFAULTS,
    DURABILITY,
    EXTERNAL,
    ISOLATION,
    PLACES,
    SERIALIZABLE,
    STORE,
    parse_typed,
    shown_name,
    typed,
    weaker_isolation,
    without_places,
)
from trainer.config import RunConfig, SearchConfig, TrainingConfig, TuningConfig, workload_options
from trainer.evaluation.measure import compare_shown, tune_external, tune_silo
from trainer.progress import Display
from trainer.repeats import SEED_STRIDE
from trainer.search.space import store_of
from trainer.verdict import beyond_limits

Settings = TypeVar("Settings", RunConfig, TuningConfig)

FRESH = 3
"""Number of `SEED_STRIDE`s after a run's own seed at which unseen inputs begin."""

CORES_MAX, SEED_MAX = 1024, (10**12 + FRESH) * SEED_STRIDE
"""Limits of a record's values: more is a mistake. A run's own seed is 10**12 at most."""

ENTRY = "the policy"
"""The name of the library's policy in a comparison."""

EQUAL = (*DEFAULTS, *PLACES)
"""The options of `external` that must not differ between a policy and its baselines."""


@dataclass(frozen=True)
class Measurement:
    """All parameters of a measurement, except the build and, with a store, the hardware.

    Attributes:
        workload: its options, including the name.
        machine: the machine's options.
        cores: the number of cores, or of connections to the store.
        baselines: the policies to compare with. Those in front of a store have its options.
        seed: of the population and the inputs.
        run: the amount of measuring.
        tuning: of `silo_tuned` or `external_tuned`.
        objective: what the policy is for; its limits are absolute.
        store: the fixed options of `external`; None for the engine on virtual cores.
    """

    workload: dict[str, str]
    machine: dict[str, str]
    cores: int
    baselines: list[str]
    seed: int
    run: RunConfig
    tuning: TuningConfig
    objective: Objective = THROUGHPUT
    store: dict[str, str] | None = None

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
            objective: what the policy is for.
            warmup: the least warm-up in seconds, after which its latencies are settled.

        Raises:
            ValueError: the settings have no number of cores, or no baselines, or a baseline does
                not run in the store as the policy does.
        """
        if config.machine.cores is None:
            raise ValueError("machine.cores=null: a policy of the library needs a number of cores")
        if not config.baselines:
            raise ValueError("baselines=[]: a policy of the library needs baselines")
        store = store_options(config.search)
        return cls(
            workload_options(config.workload),
            config.machine.options(),
            config.machine.cores,
            [_short(name, store) for name in config.baselines],
            seed,
            replace(config.run, warmup=max(config.run.warmup, warmup)),
            config.tuning,
            objective,
            store,
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
                _texts(data.get("store")),
            )
        except KeyError as error:
            raise ValueError(f"the record of the measurement has no field {error}") from error
        except (TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"is not a record of a measurement: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, for the provenance, without the place of a store."""
        found = asdict(self)
        del found["objective"], found["store"]
        if self.objective != THROUGHPUT:
            found["objective"] = self.objective.as_dict()
        if self.store is not None:
            found["store"] = without_places(self.store)
        return found

    @property
    def isolation(self) -> str:
        """The isolation level of all policies, in effect."""
        return weaker_isolation(self.store or {}) or SERIALIZABLE


def store_options(config: SearchConfig) -> dict[str, str] | None:
    """Return the fixed options of the store that a search is in front of; None for the engine.

    The store and its durability are always among them.
    """
    found = store_of(config)
    if found is None:
        return None
    return {STORE: DEFAULTS[STORE], DURABILITY: DEFAULTS[DURABILITY]} | found.options


@dataclass(frozen=True)
class Scores:
    """The result of a measurement.

    Attributes:
        to: the value of the objective relative to each baseline, the geometric mean of the repeats.
        lowest: the lowest of the repeats, for each baseline.
        others: the value relative to each other policy of the library, the same.
        exceeded: the limits that the policy exceeds in the median repeat, in words; None if none.
        machine: that of the runs.
        busy: cores that other programs used during the runs, on average; None if unknown.
    """

    to: Mapping[str, float]
    lowest: Mapping[str, float]
    others: Mapping[str, float] = field(default_factory=dict)
    exceeded: str | None = None
    machine: Machine | None = None
    busy: float | None = None

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
    """Measure a policy, the baselines and other policies in one comparison.

    Args:
        document: the policy.
        how: the measurement.
        display: shows the progress.
        phase: its name for the progress.
        others: other policies for the workload to compare with, by names that differ from the
            baselines'.

    Raises:
        PolicyFileError: the policy does not fit the workload, or this build lacks its store.
        ValueError: the workload, the machine or a baseline does not exist, or a baseline has
            another isolation level.
        MeasuringError: a policy can't run, or leaves an inconsistent database.
        KeyboardInterrupt: Ctrl-C.
    """
    evaluator = Evaluator(how.workload, how.cores, machine=how.machine, seed=how.seed)
    with closing(evaluator):
        refuse_misfit(document, evaluator.signature)
        validate(document)
        named = _baselines(how, evaluator.signature, _untuned(how))
        _refuse_other_isolation(document, named)
        tuned = _tuned(how, evaluator, display)
        baselines = _baselines(how, evaluator.signature, tuned)
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
    """Check that a policy is for the workload.

    Raises:
        PolicyFileError: it is for another one.
    """
    if document.signature != signature:
        raise PolicyFileError(
            f"{document.name}: does not fit the current signature of {signature.workload}; train "
            "a new policy"
        )


def _short(name: str, store: Mapping[str, str] | None) -> str:
    """Return the name of a baseline without the options that all policies in a store have.

    Raises:
        ValueError: it does not run in the store, or with another durability or disk, or an option
            occurs twice.
    """
    if store is None or name == TUNED_EXTERNAL:
        return name
    plain, plus, schedule = name.partition("+")
    try:
        parsed = parse_typed(plain)
    except ValueError as error:
        raise ValueError(f"baselines: {error}") from None
    if parsed is None or parsed[0] != EXTERNAL:
        raise ValueError(
            f"baselines: {name} does not run in front of {store[STORE]}; name {EXTERNAL}, with "
            f"options if you like, or {TUNED_EXTERNAL}"
        )
    for key in EQUAL:
        ours = store.get(key, DEFAULTS.get(key))
        if parsed[1].get(key, ours) != ours:
            own = f"the default {key}" if ours is None else shown_name(f":{key}={ours}")[1:]
            raise ValueError(
                f"baselines: {shown_name(name)} has another {key} than the policy, which is "
                f"measured with {own}; leave {key}= out of the baseline"
            )
    common = {**DEFAULTS, **store}
    differing = {key: text for key, text in parsed[1].items() if common.get(key) != text}
    return typed(EXTERNAL, differing) + plus + schedule


def _baselines(how: Measurement, signature: Signature, tuned: Reference) -> list[Subject]:
    """Return the baselines, in front of a store with its options.

    Raises:
        ValueError: there is no such policy, or this build lacks the store.
    """
    return [_baseline(name, how, signature, tuned) for name in how.baselines]


def _baseline(name: str, how: Measurement, signature: Signature, tuned: Reference) -> Subject:
    if how.store is None or name == TUNED_EXTERNAL:
        return subject_of(name, signature, lambda: tuned)
    plain, plus, schedule = name.partition("+")
    parsed = parse_typed(plain)
    if parsed is None:
        raise ValueError(f"baselines: the options of {name} can't be read")
    subject = subject_of(typed(EXTERNAL, how.store | parsed[1]) + plus + schedule, signature, _none)
    return replace(subject, name=name)


def _none() -> Reference:
    raise AssertionError("only silo_tuned and external_tuned need a sweep")


def _untuned(how: Measurement) -> Reference:
    return untuned() if how.store is None else TunedStore(how.store)


def _tuned(how: Measurement, evaluator: Evaluator, display: Display) -> Reference:
    """Return `silo_tuned`, or in front of a store `external_tuned`, if they are baselines."""
    if how.store is None:
        if not any(map(is_tuned, how.baselines)):
            return untuned()
        return tune_silo(evaluator.run_round, how.tuning, how.seed, display)
    if TUNED_EXTERNAL not in how.baselines:
        return TunedStore(how.store)
    plain = TunedStore(how.store).subject()
    best = tune_external(evaluator.run_round, plain, evaluator.cores, how.tuning, how.seed, display)
    return TunedStore(best.options)


def _refuse_other_isolation(document: PolicyDocument, baselines: Sequence[Subject]) -> None:
    """Refuse baselines whose transactions are isolated otherwise than the policy's, in effect.

    Raises:
        ValueError: the message names the baseline.
    """
    own = of_policy(document.name, to_json(document)).weaker_isolation or SERIALIZABLE
    for baseline in baselines:
        level = baseline.weaker_isolation or SERIALIZABLE
        if level != own:
            raise ValueError(
                f"baselines: {baseline.name} runs at {ISOLATION}={level}, and the policy at "
                f"{ISOLATION}={own}; leave {ISOLATION}= out of the baseline, or add locks=hints"
            )


_BEFORE = {"final_slices": 1}
"""Values of settings that records of earlier versions do not have."""


def _texts(options: Any) -> dict[str, str] | None:
    return None if options is None else {str(key): str(text) for key, text in options.items()}


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
        mine.machine,
        found.others,
    )
