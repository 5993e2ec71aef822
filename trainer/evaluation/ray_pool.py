"""Measuring on Ray: an actor a machine, which holds all of it, or an actor a core."""

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
    """Actors on the machines of a cluster, each an evaluator. See `Backend`.

    Real cores can't be shared: an actor holds its whole machine, and gets one batch of the
    candidates. Virtual ones can: there is an actor for every core of the cluster, and candidates go
    one by one to whichever is free.

    When a worker is lost, its candidates are measured again one by one on a new worker; one that
    loses that worker too has failed.

    Raises:
        RayError: Ray can't be used, or no machine of the cluster is free.
    """

    def __init__(self, config: EvaluationConfig, spec: MachineSpec) -> None:
        self._ray = start_ray(config.address)
        self._shareable = spec.shareable
        needs = {"num_cpus": 1} if spec.shareable else _WHOLE_MACHINE
        self._actor_class = self._ray.remote(**needs)(InProcess)
        self._arguments = (config, spec)
        resource = "CPU" if spec.shareable else MACHINE_RESOURCE
        count = int(self._ray.cluster_resources().get(resource, 0))
        if count < 1:
            cure = "" if spec.shareable else f" --resources '{{\"{MACHINE_RESOURCE}\": 1}}'"
            raise RayError(
                f"no machine of the Ray cluster offers {resource}; start each with ray start{cure}"
            )
        self._actors = [self._start_actor() for _ in range(count)]

    def evaluate(
        self, subjects: Sequence[Subject], reference: Subject, *, slices: int, seed: int
    ) -> list[Evaluation]:
        """See `Backend`."""
        evaluations: dict[int, Evaluation] = {}
        waiting = self._shares(len(subjects))[::-1]
        idle = list(range(len(self._actors)))
        working: dict[Any, tuple[int, range]] = {}
        while waiting or working:
            while waiting and idle:
                number, share = idle.pop(), waiting.pop()
                future = self._actors[number].evaluate.remote(
                    [subjects[i] for i in share], reference, slices=slices, seed=seed
                )
                working[future] = (number, share)
            future = self._ray.wait(list(working))[0][0]
            number, share = working.pop(future)
            try:
                found = self._get(future)
            except self._ray.exceptions.RayActorError:
                self._actors[number] = self._start_actor()
                found = [self._alone(number, subjects[i], reference, slices, seed) for i in share]
            evaluations.update(zip(share, found, strict=True))
            idle.append(number)
        return [evaluations[i] for i in range(len(subjects))]

    def _shares(self, count: int) -> list[range]:
        """Which subjects go to an actor together, by position."""
        if self._shareable:
            return [range(i, i + 1) for i in range(count)]
        shares = [range(i, count, len(self._actors)) for i in range(len(self._actors))]
        return [share for share in shares if len(share)]

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


_WHOLE_MACHINE: dict[str, Any] = {"num_cpus": 0, "resources": {MACHINE_RESOURCE: 1}}
