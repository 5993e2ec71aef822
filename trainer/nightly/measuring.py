"""Measuring candidate, champion and baselines on the held-out blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs import (
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Subject,
    TunedBackoff,
    of_policy,
    subject_of,
)
from envs.objective import THROUGHPUT, Objective
from policies import PolicyDocument, Signature, to_json
from trainer.config import TrainConfig, VirtualConfig, workload_options
from trainer.evaluation.measure import compare_shown
from trainer.nightly.judge import CANDIDATE, CHAMPION
from trainer.progress import Display
from trainer.repeats import SEED_STRIDE


def subjects_of(
    candidate: PolicyDocument,
    champion: PolicyDocument | None,
    baselines: Sequence[str],
    signature: Signature,
    tuned: TunedBackoff,
) -> list[Subject]:
    """Return the policies to compare; a champion of other transaction types is left out.

    Args:
        candidate: the policy that may be promoted.
        champion: the published policy, None if there is none.
        baselines: by name, as `heddle evaluate` takes them.
        signature: of the workload.
        tuned: the backoff of `silo_tuned`, tuned on the training part.
    """
    found = [of_policy(CANDIDATE, to_json(candidate))]
    if champion is not None and champion.signature == signature:
        found.append(of_policy(CHAMPION, to_json(champion)))
    return found + [subject_of(name, signature, lambda: tuned) for name in baselines]


def measure_blocks(
    config: TrainConfig,
    blocks: Sequence[str],
    subjects: Sequence[Subject],
    display: Display,
    objective: Objective = THROUGHPUT,
) -> list[Comparison]:
    """Compare the policies on each block.

    Args:
        config: all settings; `run` has the amount of measuring per block.
        blocks: as values of `workload.hours`.
        subjects: the policies.
        display: shows the progress.
        objective: what the policies are compared by.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        MeasuringError: a policy can't run, or left the database inconsistent.
    """
    found = []
    for number, hours in enumerate(blocks, start=1):
        display.say(f"block {number} of {len(blocks)}, {hours}")
        of_block = replace(config, workload=config.workload | {"hours": hours})
        found.append(_measure(of_block, subjects, number, display, objective))
    return found


def measure_rounds(
    config: TrainConfig, rounds: int, subjects: Sequence[Subject], display: Display
) -> list[Comparison]:
    """Compare the policies several times on the configured workload, with different schedules.

    On virtual cores a schedule is a seed of the machine; on real ones every run has another.

    Args and errors: as `measure_blocks`; `rounds` is the number of comparisons.
    """
    found = []
    for number in range(rounds):
        display.say(f"round {number + 1} of {rounds}")
        machine = config.machine
        if isinstance(machine, VirtualConfig):
            machine = replace(machine, seed=machine.seed + number)
        found.append(_measure(replace(config, machine=machine), subjects, number, display))
    return found


def _measure(
    config: TrainConfig,
    subjects: Sequence[Subject],
    number: int,
    display: Display,
    objective: Objective = THROUGHPUT,
) -> Comparison:
    machine, much = config.machine, config.run
    workload = workload_options(config.workload)
    evaluator = Evaluator(workload, machine.cores, machine=machine.options(), seed=config.seed)
    try:
        plan = ComparisonPlan(much.seconds, much.repeats, much.warmup, objective=objective)
        seed = (config.seed + 2 + number) * SEED_STRIDE
        comparison = compare_shown(evaluator.run_round, subjects, plan, seed, display)
    finally:
        evaluator.close()
    if comparison.interrupted:
        raise KeyboardInterrupt
    if comparison.violations:
        raise MeasuringError(f"consistency violated: {comparison.violations[0]}")
    return comparison
