"""Measuring on Ray: an actor a machine, which holds all of it, or an actor a core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from envs import Evaluation, MeasuringError, Result, Subject
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.in_process import InProcess
from trainer.evaluation.ray_runtime import MACHINE_RESOURCE, RayError, start_ray

START_SECONDS = 120.0
"""How long a machine may take to give an actor; a busy cluster has none to give for longer."""

LATE_SECONDS = 20.0
"""How long the first actor waits for the others; those start with it, if there is room."""

Call = Callable[[Any], Any]
"""Something asked of an actor; its value is a future."""

LOST = object()
"""What a call gives that ended its worker."""


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
        self._actors = self._start_actors(count)

    def evaluate(
        self, subjects: Sequence[Subject], reference: Subject, *, slices: int, seed: int
    ) -> list[Evaluation]:
        """See `Backend`."""

        def call(share: Sequence[int]) -> Call:
            wanted = [subjects[index] for index in share]
            return lambda actor: actor.evaluate.remote(wanted, reference, slices=slices, seed=seed)

        evaluations: dict[int, Evaluation] = {}
        again: list[range] = []
        shares = self._shares(len(subjects))
        for which, found in self._spread([call(share) for share in shares], self._everyone):
            if found is LOST:
                again += [range(index, index + 1) for index in shares[which]]
            else:
                evaluations.update(zip(shares[which], found, strict=True))
        for which, found in self._spread([call(share) for share in again], self._everyone):
            index = again[which][0]
            evaluations[index] = (
                Evaluation(error=_lost_twice(subjects[index])) if found is LOST else found[0]
            )
        return [evaluations[i] for i in range(len(subjects))]

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Result | MeasuringError]]:
        """See `Backend`."""
        last = len(subjects) - 1

        def call(index: int) -> Call:
            checked = check and (self._shareable or index == last)
            return lambda actor: actor.run.remote(
                subjects[index], seconds, warmup=warmup, seed=seed, check=checked
            )

        workers = self._everyone if self._shareable else range(1)
        again: list[int] = []
        for index, found in self._spread([call(i) for i in range(len(subjects))], workers):
            if found is LOST:
                again.append(index)
            else:
                yield index, found
        for which, found in self._spread([call(index) for index in again], workers):
            index = again[which]
            lost = MeasuringError(_lost_twice(subjects[index]))
            yield index, lost if found is LOST else found

    def _shares(self, count: int) -> list[range]:
        """Which subjects go to an actor together, by position."""
        if self._shareable:
            return [range(i, i + 1) for i in range(count)]
        shares = [range(i, count, len(self._actors)) for i in range(len(self._actors))]
        return [share for share in shares if len(share)]

    def close(self) -> None:
        """See `Backend`. Ray itself runs on until the process ends, for the next pool."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    @property
    def _everyone(self) -> range:
        return range(len(self._actors))

    def _spread(self, calls: Sequence[Call], workers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Make each call on whichever of the workers is free, the first ones first.

        Yields, as they end, a call's position and what it gave: its value, a MeasuringError, or
        LOST if it ended its worker. There is a new worker then. Other errors are raised.
        """
        waiting = deque(range(len(calls)))
        idle = list(workers)
        working: dict[Any, tuple[int, int]] = {}
        while waiting or working:
            while waiting and idle:
                number, which = idle.pop(), waiting.popleft()
                working[calls[which](self._actors[number])] = (number, which)
            future = self._ray.wait(list(working))[0][0]
            number, which = working.pop(future)
            try:
                found = self._get(future)
            except MeasuringError as error:
                found = error
            except self._ray.exceptions.RayActorError:
                (self._actors[number],) = self._start_actors(1)
                found = LOST
            idle.append(number)
            yield which, found

    def _get(self, future: Any) -> Any:
        """Wait for a call; its exception comes as it was raised, not in Ray's wrapping."""
        try:
            return self._ray.get(future)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def _start_actors(self, count: int) -> list[Any]:
        """New actors: so many, or as many as the cluster has room for, but one at least."""
        actors = {}
        for _ in range(count):
            actor = self._actor_class.remote(*self._arguments)
            actors[actor.__ray_ready__.remote()] = actor
        waited_for, late = self._ray.wait(list(actors), timeout=START_SECONDS)
        if not waited_for:
            raise RayError(
                f"no machine became free within {START_SECONDS:g} s; another run holds it"
            )
        if late:
            _, late = self._ray.wait(late, num_returns=len(late), timeout=LATE_SECONDS)
        for future in late:  # others hold these cores
            self._ray.kill(actors.pop(future))
        for future in actors:
            self._get(future)
        return list(actors.values())


def _lost_twice(subject: Subject) -> str:
    return f"{subject.name}: its worker was lost twice"


_WHOLE_MACHINE: dict[str, Any] = {"num_cpus": 0, "resources": {MACHINE_RESOURCE: 1}}
