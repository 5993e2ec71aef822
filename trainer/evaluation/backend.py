"""Backends that measure candidates: one interface, with Ray or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from envs import THREADS, Evaluation, Evaluator, Outcome, RunRound, Subject
from envs.objective import THROUGHPUT, Objective
from envs.trial import Trial, Verdict
from trainer.config import BackendConfig, EvaluationConfig, TrainConfig, workload_options


@dataclass(frozen=True)
class MachineSpec:
    """The arguments that every evaluator needs (`envs.Evaluator`), in any process."""

    workload: dict[str, str]
    cores: int | None
    seed: int
    grown_bytes_max: int
    machine: dict[str, str] = field(default_factory=lambda: dict(THREADS))
    engine_module: str = "engine"

    @classmethod
    def of(cls, config: TrainConfig) -> MachineSpec:
        """Return the specification for a training's settings."""
        return cls(
            workload_options(config.workload),
            config.machine.cores,
            config.seed,
            config.evaluation.grown_mib_max << 20,
            config.machine.options(),
        )

    @property
    def shareable(self) -> bool:
        """Whether several evaluators can run on one machine without disturbing each other."""
        return self.machine["kind"] == "virtual"

    def build(self) -> Evaluator:
        """Create an evaluator on this machine."""
        return Evaluator(
            self.workload,
            self.cores,
            machine=self.machine,
            seed=self.seed,
            grown_bytes_max=self.grown_bytes_max,
            engine_module=self.engine_module,
        )


class BackendError(RuntimeError):
    """Nothing can be measured any more; the message gives the reason.

    A run resumes from its checkpoint once the cause is fixed.
    """


@dataclass(frozen=True)
class Notices:
    """The outputs of a backend.

    Attributes:
        say: shows a line to the user.
        log: the file for messages of its processes; None drops them.
    """

    say: Callable[[str], None] = lambda text: None
    log: Path | None = None


class Backend(Protocol):
    """Measures subjects on one or more machines, each of which runs one subject at a time.

    A backend has one or several scenarios: workloads of one signature, each on its own number of
    cores. A worker keeps a database for every scenario.
    """

    @property
    def waited_s(self) -> float:
        """Seconds so far in which nothing could be measured because all machines were lost."""

    def evaluate(
        self,
        subjects: Sequence[Subject],
        references: Sequence[Subject],
        objectives: Sequence[Objective] = (),
        *,
        slices: int,
        seed: int,
        warmup: float | None = None,
    ) -> list[list[Evaluation]]:
        """Measure each subject in each scenario relative to a reference (`Evaluator.evaluate`).

        Never raises because of a subject: one that can't be measured has an error.

        Args:
            subjects: what to measure.
            references: what to measure them against, one per scenario.
            objectives: what to measure, one per scenario; none = throughput.
            slices: per subject and scenario.
            seed: of the first slice's inputs, for all subjects and scenarios.
            warmup: unmeasured seconds before each run; None = `evaluation.warmup_seconds`.

        Returns:
            By subject, in order, one evaluation per scenario.

        Raises:
            MeasuringError: a reference failed.
        """

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
        scenario: int = 0,
    ) -> Iterator[tuple[int, Outcome]]:
        """Run each subject once in a scenario (`envs.RunRound`).

        On real cores all runs are made on the same machine, one after the other. Runs on virtual
        cores are distributed.
        """

    def run_trial(self, trial: Trial, *, patience_s: float, scenario: int = 0) -> Verdict:
        """Record and check a run on a scenario's loaded database (`Evaluator.run_trial`).

        Raises:
            MeasuringError: there is not enough memory, or the worker was lost twice.
        """

    def close(self) -> None:
        """Release the machines."""


def check_backend(config: BackendConfig) -> None:
    """Check that the settings name a backend.

    Raises:
        ValueError: the backend does not exist; the message lists all.
    """
    if config.backend not in BACKENDS:
        raise ValueError(
            f"evaluation.backend={config.backend}: no such backend; there are {', '.join(BACKENDS)}"
        )


def build_backend(
    config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices | None = None
) -> Backend:
    """Create the backend that the settings name.

    Args:
        config: the settings.
        scenarios: the scenarios; all on virtual cores, or all on real ones.
        notices: the backend's outputs; None drops them.

    Raises:
        ValueError: the backend does not exist.
        BackendError: it can't be started.
    """
    check_backend(config)
    return BACKENDS[config.backend](config, *scenarios, notices=notices or Notices())


def goals(
    references: Sequence[Subject], objectives: Sequence[Objective]
) -> list[tuple[Subject, Objective]]:
    """Return the reference and the objective of each scenario.

    Args:
        references: one per scenario.
        objectives: one per scenario; none = throughput.
    """
    return list(zip(references, objectives or [THROUGHPUT] * len(references), strict=True))


def rounds_of(backend: Backend, scenarios: int) -> list[RunRound]:
    """Return the functions that run a round, one per scenario."""
    return [partial(backend.run_round, scenario=scenario) for scenario in range(scenarios)]


def _ray_pool(config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices) -> Backend:
    # Ray takes seconds to import, so only where it is used.
    from trainer.evaluation.ray_pool import RayPool

    return RayPool(config, *scenarios, notices=notices)


def _in_process(config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices) -> Backend:
    from trainer.evaluation.in_process import InProcess

    return InProcess(config, *scenarios, notices=notices)


BACKENDS: dict[str, Callable[..., Backend]] = {
    "ray": _ray_pool,
    "in_process": _in_process,
}
"""The backends: the names that `evaluation.backend=` accepts."""
