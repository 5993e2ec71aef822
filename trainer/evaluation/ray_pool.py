"""Measuring on Ray: one actor a machine, which holds the whole machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from envs import Evaluation, MeasuringError, Result, Subject
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.in_process import InProcess
from trainer.evaluation.ray_runtime import MACHINE_RESOURCE, RayError, start_ray

START_SECONDS = 120.0
"""How long a machine may take to give an actor; a busy cluster has none to give for longer."""


class RayPool:
    """An actor on every machine of the cluster. See `Backend`.

    Candidates are dealt out in one batch a machine. When a worker is lost, its candidates are
    measured again one by one on a new worker; one that loses that worker too has failed.

    Raises:
        RayError: Ray can't be used, or no machine of the cluster is free.
    """

    def __init__(self, config: EvaluationConfig, spec: MachineSpec) -> None:
        self._ray = start_ray(config.address)
        self._actor_class = self._ray.remote(num_cpus=0, resources={MACHINE_RESOURCE: 1})(InProcess)
        self._arguments = (config, spec)
        machines = int(self._ray.cluster_resources().get(MACHINE_RESOURCE, 0))
        if machines < 1:
            raise RayError(
                f"no machine of the Ray cluster offers {MACHINE_RESOURCE}; start each with "
                f"ray start --resources '{{\"{MACHINE_RESOURCE}\": 1}}'"
            )
        self._actors = [self._start_actor() for _ in range(machines)]

    def evaluate(
        self, subjects: Sequence[Subject], reference: Subject, *, slices: int, seed: int
    ) -> list[Evaluation]:
        """See `Backend`."""
        shares = [range(i, len(subjects), len(self._actors)) for i in range(len(self._actors))]
        pending = {
            number: actor.evaluate.remote(
                [subjects[i] for i in share], reference, slices=slices, seed=seed
            )
            for number, (actor, share) in enumerate(zip(self._actors, shares, strict=True))
            if len(share)
        }
        evaluations: dict[int, Evaluation] = {}
        for number, future in pending.items():
            try:
                found = self._get(future)
            except self._ray.exceptions.RayActorError:
                self._actors[number] = self._start_actor()
                found = [
                    self._alone(number, subjects[i], reference, slices, seed)
                    for i in shares[number]
                ]
            evaluations.update(zip(shares[number], found, strict=True))
        return [evaluations[i] for i in range(len(subjects))]

    def run(self, subject: Subject, seconds: float, *, warmup: float, seed: int) -> Result:
        """See `Backend`."""

        def call(actor: Any) -> Any:
            return actor.run.remote(subject, seconds, warmup=warmup, seed=seed)

        try:
            return self._retried(0, call)
        except self._ray.exceptions.RayActorError as error:
            raise MeasuringError(f"{subject.name}: its worker was lost twice") from error

    def check(self) -> list[str]:
        """See `Backend`."""
        return list(self._get(self._actors[0].check.remote()))

    def close(self) -> None:
        """See `Backend`. Ray itself runs on until the process ends, for the next pool."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def _alone(
        self, number: int, subject: Subject, reference: Subject, slices: int, seed: int
    ) -> Evaluation:
        try:
            future = self._actors[number].evaluate.remote(
                [subject], reference, slices=slices, seed=seed
            )
            return self._get(future)[0]
        except self._ray.exceptions.RayActorError:
            self._actors[number] = self._start_actor()
            return Evaluation(error=f"{subject.name}: its worker was lost twice")

    def _retried(self, number: int, call: Callable[[Any], Any]) -> Any:
        try:
            return self._get(call(self._actors[number]))
        except self._ray.exceptions.RayActorError:
            self._actors[number] = self._start_actor()
            return self._get(call(self._actors[number]))

    def _get(self, future: Any) -> Any:
        """Wait for a call; its exception comes as it was raised, not in Ray's wrapping."""
        try:
            return self._ray.get(future)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def _start_actor(self) -> Any:
        actor = self._actor_class.remote(*self._arguments)
        try:
            self._ray.get(actor.check.remote(), timeout=START_SECONDS)
        except self._ray.exceptions.GetTimeoutError:
            raise RayError(
                f"no machine became free within {START_SECONDS:g} s; another run holds it"
            ) from None
        return actor
