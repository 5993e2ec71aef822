"""Measuring candidate, champion and baselines on the blocks that were held out."""

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
from policies import PolicyDocument, Signature, to_json
from trainer.config import TrainConfig, VirtualConfig, workload_options
from trainer.evaluation.measure import compare_shown
from trainer.nightly.judge import CANDIDATE, CHAMPION
from trainer.progress import Display
from trainer.run import SEED_STRIDE


def subjects_of(
    candidate: PolicyDocument,
    champion: PolicyDocument | None,
    baselines: Sequence[str],
    signature: Signature,
    tuned: TunedBackoff,
) -> list[Subject]:
    """Who is compared; a champion of other transaction types can't run and is left out.

    Args:
        candidate: the policy that may be promoted.
        champion: the policy that is served, None if there is none.
        baselines: by name, as `heddle evaluate` takes them.
        signature: of the workload.
        tuned: the backoff of `silo_tuned`, found where the candidate was trained.
    """
    found = [of_policy(CANDIDATE, to_json(candidate))]
    if champion is not None and champion.signature == signature:
        found.append(of_policy(CHAMPION, to_json(champion)))
    return found + [subject_of(name, signature, lambda: tuned) for name in baselines]


def measure_blocks(
    config: TrainConfig, blocks: Sequence[str], subjects: Sequence[Subject], display: Display
) -> list[Comparison]:
    """A comparison on each block.

    Args:
        config: all settings; `run` says how much is measured on each block.
        blocks: as `workload.hours` takes them.
        subjects: who is compared.
        display: shows.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        MeasuringError: one can't run, or has left the database inconsistent.
    """
    found = []
    for number, hours in enumerate(blocks, start=1):
        display.say(f"block {number} of {len(blocks)}, {hours}")
        of_block = replace(config, workload=config.workload | {"hours": hours})
        found.append(_measure(of_block, subjects, number, display))
    return found


def measure_rounds(
    config: TrainConfig, rounds: int, subjects: Sequence[Subject], display: Display
) -> list[Comparison]:
    """Several comparisons on the workload as it is, each on a schedule of its own.

    On virtual cores a schedule is a seed of the machine; on real ones no two are alike.

    Args and errors: as `measure_blocks`; `rounds` says how many.
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
    config: TrainConfig, subjects: Sequence[Subject], number: int, display: Display
) -> Comparison:
    machine, much = config.machine, config.run
    workload = workload_options(config.workload)
    evaluator = Evaluator(workload, machine.cores, machine=machine.options(), seed=config.seed)
    try:
        plan = ComparisonPlan(much.seconds, much.repeats, much.warmup)
        seed = (config.seed + 2 + number) * SEED_STRIDE
        comparison = compare_shown(evaluator.run_round, subjects, plan, seed, display)
    finally:
        evaluator.close()
    if comparison.interrupted:
        raise KeyboardInterrupt
    if comparison.violations:
        raise MeasuringError(f"consistency violated: {comparison.violations[0]}")
    return comparison
