"""Where candidates are measured: one interface, with Ray or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from envs import THREADS, Evaluation, Evaluator, Outcome, RunRound, Subject
from envs.trial import Trial, Verdict
from trainer.config import BackendConfig, EvaluationConfig, TrainConfig, workload_options


@dataclass(frozen=True)
class MachineSpec:
    """What every evaluator needs to set itself up, wherever it runs. See `envs.Evaluator`."""

    workload: dict[str, str]
    cores: int | None
    seed: int
    grown_bytes_max: int
    machine: dict[str, str] = field(default_factory=lambda: dict(THREADS))
    engine_module: str = "engine"

    @classmethod
    def of(cls, config: TrainConfig) -> MachineSpec:
        """What the settings of a training ask for."""
        return cls(
            workload_options(config.workload),
            config.machine.cores,
            config.seed,
            config.evaluation.grown_mib_max << 20,
            config.machine.options(),
        )

    @property
    def shareable(self) -> bool:
        """Whether several evaluators can work on one machine without disturbing each other."""
        return self.machine["kind"] == "virtual"

    def build(self) -> Evaluator:
        """An evaluator on this machine."""
        return Evaluator(
            self.workload,
            self.cores,
            machine=self.machine,
            seed=self.seed,
            grown_bytes_max=self.grown_bytes_max,
            engine_module=self.engine_module,
        )


class BackendError(RuntimeError):
    """Nothing can be measured any more; a run resumes from its checkpoint once the cause is gone.

    The message says what it is.
    """


@dataclass(frozen=True)
class Notices:
    """Where a backend says what happens to it.

    Attributes:
        say: shows a line to the person.
        log: the file for messages of its processes; None drops them.
    """

    say: Callable[[str], None] = lambda text: None
    log: Path | None = None


class Backend(Protocol):
    """Measures subjects on one or more machines, each of which runs one subject at a time.

    What they are measured on has one or several scenarios: workloads of one signature, each on as
    many cores as it asks for. A worker keeps a database for every scenario.
    """

    @property
    def waited_s(self) -> float:
        """Seconds so far in which nothing could be measured, because all machines were lost."""

    def evaluate(
        self, subjects: Sequence[Subject], references: Sequence[Subject], *, slices: int, seed: int
    ) -> list[list[Evaluation]]:
        """Measure each in each scenario relative to a reference (`Evaluator.evaluate`).

        Never raises for a subject's sake: one that can't be measured has an error.

        Args:
            subjects: what to measure.
            references: what to measure it beside, one per scenario.
            slices: of each subject in each scenario.
            seed: of the first slice's inputs, of all subjects and in all scenarios.

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

        On real cores all runs are made on the same machine, one after the other; virtual ones are
        shared out.
        """

    def run_trial(self, trial: Trial, *, patience_s: float, scenario: int = 0) -> Verdict:
        """Record and check a run on a scenario's database, loaded already (`Evaluator.run_trial`).

        Raises:
            MeasuringError: there is not enough memory, or the worker was lost twice.
        """

    def close(self) -> None:
        """Free the machines."""


def check_backend(config: BackendConfig) -> None:
    """Refuse a backend that does not exist.

    Raises:
        ValueError: there is no such backend; the message lists them.
    """
    if config.backend not in BACKENDS:
        raise ValueError(
            f"evaluation.backend={config.backend}: no such backend; there are {', '.join(BACKENDS)}"
        )


def build_backend(
    config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices | None = None
) -> Backend:
    """The backend that the settings name.

    Args:
        config: the settings.
        scenarios: what is measured on; all on virtual cores, or all on real ones.
        notices: where it says what happens to it; None: nowhere.

    Raises:
        ValueError: there is no such backend.
        BackendError: it can't be started.
    """
    check_backend(config)
    return BACKENDS[config.backend](config, *scenarios, notices=notices or Notices())


def rounds_of(backend: Backend, scenarios: int) -> list[RunRound]:
    """How to run a round in each of the scenarios."""
    return [partial(backend.run_round, scenario=scenario) for scenario in range(scenarios)]


def _ray_pool(config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices) -> Backend:
    # Ray takes seconds to import: only where it is used.
    from trainer.evaluation.ray_pool import RayPool

    return RayPool(config, *scenarios, notices=notices)


def _in_process(config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices) -> Backend:
    from trainer.evaluation.in_process import InProcess

    return InProcess(config, *scenarios, notices=notices)


BACKENDS: dict[str, Callable[..., Backend]] = {
    "ray": _ray_pool,
    "in_process": _in_process,
}
"""The backends, by the name that follows `evaluation.backend=`."""
