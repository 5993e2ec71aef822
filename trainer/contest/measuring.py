"""Measuring the tables, baselines and references of each case of a contest again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from envs import THREADS, TUNED, MeasuringError, RunRound, Subject, TunedBackoff, subject_of
from envs.engine_interface import engine_build
from envs.objective import Objective
from policies import Signature
from trainer.config import ContestConfig, EvaluationConfig, TrainConfig, workload_options
from trainer.contest.fresh import FreshPlan, FreshScores
from trainer.contest.runs import Entrant, Reference, by_case, in_common
from trainer.contest.standing import Fresh
from trainer.evaluation import MachineSpec, Notices, build_backend
from trainer.evaluation.measure import tune_silo
from trainer.evaluation.race import table_subject
from trainer.measured_objective import MeasuredObjective, measure_objective
from trainer.progress import Display
from trainer.scenario import single_scenario
from trainer.search import Candidate


def measure_anew(
    config: ContestConfig, entrants: Sequence[Entrant], path: Path, display: Display
) -> dict[str, Fresh]:
    """Return each case's scores relative to a `silo_tuned` that is tuned again.

    Args:
        config: how to measure.
        entrants: the runs.
        path: the file for the measurements.
        display: shows the progress.

    Raises:
        MeasuringError: `silo_tuned`, or the reference of a run, failed.
        WritingError: the file can't be written.
        KeyboardInterrupt: Ctrl-C; measurements so far are stored.
    """
    scores = FreshScores.load(path)
    found = {}
    for case, runs in by_case(entrants).items():
        display.say(f"{case}: {len(runs)} runs")
        found[case] = _measure_case(config, runs, scores, display)
    return found


def _measure_case(
    config: ContestConfig, runs: Sequence[Entrant], scores: FreshScores, display: Display
) -> Fresh:
    train = runs[0].config
    spec = MachineSpec(
        workload_options(train.workload),
        train.machine.cores,
        config.seed,
        train.evaluation.grown_mib_max << 20,
        train.machine.options(),
    )
    place = {
        "workload": spec.workload,
        "machine": spec.machine,
        "cores": spec.cores,
        "engine": engine_build(),
    }
    signature = spec.build().signature
    evaluation = config.evaluation
    backend = build_backend(
        EvaluationConfig(evaluation.backend, evaluation.address), spec, notices=Notices(display.say)
    )
    try:
        tuned = scores.tuned(
            {**place, "tuning": asdict(config.tuning), "seed": config.seed},
            partial(tune_silo, backend.run_round, config.tuning, config.seed, display),
        )
        objective = _objective(
            config, train, signature, place, scores, backend.run_round, tuned, display
        )
        silo = tuned.silo()
        baselines = {name: subject_of(name, signature, lambda: tuned) for name in config.baselines}
        tables = _tables(config, runs)
        # Tables are named by their content, and baselines by name and digest: a file may change.
        stored_as = {
            name: f"baseline {_digest(name, baseline)}" for name, baseline in baselines.items()
        }
        found = scores.measure(
            backend.run_round,
            {**tables, **{stored_as[name]: baseline for name, baseline in baselines.items()}},
            silo,
            FreshPlan(
                config.rounds,
                config.seconds,
                config.warmup,
                config.seed,
                _on_threads(train),
                objective,
            ),
            place,
            display,
        )
        # The unit of a search's figures, not a contestant: limits do not hold for it.
        unit = replace(objective, limits=())
        references = _references(
            config, runs, silo, unit, place, scores, backend.run_round, display
        )
    finally:
        backend.close()
    return Fresh(
        tuned,
        {name: found[name] for name in tables},
        {TUNED: 1.0, **{name: found[stored_as[name]] for name in baselines}},
        references,
        objective,
    )


def _objective(
    config: ContestConfig,
    train: TrainConfig,
    signature: Signature,
    place: Mapping[str, object],
    scores: FreshScores,
    run_round: RunRound,
    tuned: TunedBackoff,
    display: Display,
) -> Objective:
    """Return the objective of a case's runs; what its limits refer to is measured on fresh inputs.

    Runs of a case have the same settings of the objective (`name_runs`).
    """
    much = replace(train.run, seconds=config.seconds, warmup=config.warmup)
    settings = replace(train, seed=config.seed, run=much)
    (scenario,) = single_scenario(settings)
    conditions = {
        **place,
        "objective": asdict(train.objective),
        "baselines": train.baselines,
        "seconds": config.seconds,
        "warmup": config.warmup,
        "seed": config.seed,
        "tuned": tuned.as_dict(),
    }
    return scores.objective(
        conditions,
        lambda: _long_enough(
            measure_objective(settings, signature, scenario, run_round, tuned, display, "seconds"),
            config,
        ),
    )


def _long_enough(found: MeasuredObjective, config: ContestConfig) -> Objective:
    """Return the objective, if latencies are settled after the warm-up.

    Raises:
        MeasuringError: the warm-up is too short.
    """
    if found.warmup > config.warmup:
        raise MeasuringError(
            f"warmup={config.warmup:g} is too short for latencies: a worker's backoff still adapts "
            f"to the rarest type; set warmup={math.ceil(found.warmup * 100) / 100:g} or more"
        )
    return found.objective


def _on_threads(config: TrainConfig) -> bool:
    """Whether a run's machine has real cores."""
    return config.machine.kind == THREADS["kind"]


def _digest(name: str, baseline: Subject) -> str:
    return sha256(json.dumps([name, baseline.policy]).encode()).hexdigest()


def _references(
    config: ContestConfig,
    runs: Sequence[Entrant],
    silo: Subject,
    unit: Objective,
    place: Mapping[str, object],
    scores: FreshScores,
    run_round: RunRound,
    display: Display,
) -> dict[Reference, float]:
    """Return the scores of the runs' own references, measured as long as in their searches.

    A constant backoff that is too short is fast at first and slow in the end: a longer measurement
    would give a lower score than in the search. The total length per reference is that of a table.
    """
    found: dict[Reference, float] = {}
    for reference in dict.fromkeys(run.reference for run in runs):
        if reference.tuned.silo() == silo:
            found[reference] = 1.0
            continue
        rounds = math.ceil(config.rounds * max(1.0, config.seconds / reference.seconds))
        together = _on_threads(runs[0].config)
        plan = FreshPlan(rounds, reference.seconds, reference.warmup, config.seed, together, unit)
        tuned = reference.tuned
        name = "exponential" if tuned.exponential else f"constant {tuned.constant_us:g}"
        tables = {name: tuned.silo()}
        score = scores.measure(run_round, tables, silo, plan, place, display)[name]
        found[reference] = _sound_unit(tuned, score)
    return found


def _sound_unit(tuned: TunedBackoff, score: float) -> float:
    """Return the score of a run's own reference, the unit of the search's figures."""
    if not score:
        raise MeasuringError(
            f"Silo with {tuned.words}, the reference of some runs, failed, or committed nothing; "
            "run the same command to measure it again, possibly with longer runs (seconds)"
        )
    return score


def _tables(config: ContestConfig, runs: Sequence[Entrant]) -> dict[str, Subject]:
    """Return the tables of a case's runs to measure, equal ones once."""
    tables: dict[str, Subject] = {}
    for run in runs:
        in_force = run.in_force(config.points, *in_common(runs))
        found = [Candidate(tuple(b.vector), b.origin) for b in in_force]
        found += [] if run.champion is None else [run.champion]
        for candidate in found:
            tables[run.name_of(candidate.vector)] = table_subject(candidate, run.encoding)
    return tables
