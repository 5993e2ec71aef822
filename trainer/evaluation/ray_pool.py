"""Measuring on Ray: an actor a machine, which holds all of it, or an actor a core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from envs import Evaluation, MeasuringError, Outcome, Subject
from envs.trial import Trial, Verdict
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.in_process import InProcess
from trainer.evaluation.ray_runtime import MACHINE_RESOURCE, RayError, start_ray

START_SECONDS = 120.0
"""How long a machine may take to give an actor; a busy cluster has none to give for longer."""

LATE_SECONDS = 30.0
"""How long the first actor waits for the others; those start with it, if there is room."""

Call = Callable[[Any], Any]
"""Something asked of an actor; its value is a future."""

LOST = object()
"""What a call gives that ended its worker."""


@dataclass(frozen=True)
class _Share:
    """What an actor is asked for at once: these subjects, by position, in a member."""

    subjects: range
    member: int

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(index, self.member) for index in self.subjects]

    @property
    def one_by_one(self) -> list[_Share]:
        return [_Share(range(index, index + 1), self.member) for index in self.subjects]


class RayPool:
    """Actors on the machines of a cluster, each an evaluator of every member. See `Backend`.

    Real cores can't be shared: an actor holds its whole machine, and gets one batch of the
    candidates, in one member after the other. Virtual ones can: there is an actor for every core of
    the cluster, and candidates go one by one, in one member at a time, to whichever is free.

    When a worker is lost, its candidates are measured again one by one on a new worker; one that
    loses that worker too has failed.

    Raises:
        RayError: Ray can't be used, or no machine of the cluster is free.
    """

    def __init__(self, config: EvaluationConfig, *members: MachineSpec) -> None:
        self._ray = start_ray(config.address)
        self._shareable = all(spec.shareable for spec in members)
        needs = {"num_cpus": 1} if self._shareable else _WHOLE_MACHINE
        self._actor_class = self._ray.remote(**needs)(InProcess)
        self._arguments = (config, *members)
        resource = "CPU" if self._shareable else MACHINE_RESOURCE
        count = int(self._ray.cluster_resources().get(resource, 0))
        if count < 1:
            cure = "" if self._shareable else f" --resources '{{\"{MACHINE_RESOURCE}\": 1}}'"
            raise RayError(
                f"no machine of the Ray cluster offers {resource}; start each with ray start{cure}"
            )
        self._actors: dict[int, Any] = dict(enumerate(self._start_actors(count)))

    def evaluate(
        self, subjects: Sequence[Subject], references: Sequence[Subject], *, slices: int, seed: int
    ) -> list[list[Evaluation]]:
        """See `Backend`."""

        def call(share: _Share) -> Call:
            wanted = [subjects[index] for index in share.subjects]
            reference = references[share.member]
            return lambda actor: actor.evaluate_on.remote(
                share.member, wanted, reference, slices=slices, seed=seed
            )

        evaluations: dict[tuple[int, int], Evaluation] = {}
        again: list[_Share] = []
        shares = self._shares(len(subjects), len(references))
        for which, found in self._spread([call(share) for share in shares]):
            if found is LOST:
                again += shares[which].one_by_one
            else:
                evaluations.update(zip(shares[which].cells, found, strict=True))
        for which, found in self._spread([call(share) for share in again]):
            ((index, member),) = again[which].cells
            (evaluations[index, member],) = (
                [Evaluation(error=_lost_twice(subjects[index]))] if found is LOST else found
            )
        members = range(len(references))
        return [
            [evaluations[index, member] for member in members] for index in range(len(subjects))
        ]

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
        member: int = 0,
    ) -> Iterator[tuple[int, Outcome]]:
        """See `Backend`."""
        last = len(subjects) - 1

        def call(index: int) -> Call:
            checked = check and (self._shareable or index == last)
            return lambda actor: actor.outcome.remote(
                subjects[index],
                seconds,
                warmup=warmup,
                seed=seed,
                check=checked,
                member=member,
            )

        calls = [call(index) for index in range(len(subjects))]
        for index, found in self._spread(calls, alone=not self._shareable, attempts=2):
            yield index, MeasuringError(_lost_twice(subjects[index])) if found is LOST else found

    def run_trial(self, trial: Trial, *, patience_s: float, member: int = 0) -> Verdict:
        """See `Backend`."""

        def call(actor: Any) -> Any:
            return actor.run_trial.remote(trial, patience_s=patience_s, member=member)

        ((_, found),) = self._spread([call], attempts=2)
        if found is LOST:
            raise MeasuringError(_lost_twice(trial.subject))
        verdict: Verdict = found
        return verdict

    def _shares(self, count: int, members: int) -> list[_Share]:
        """Which subjects go to an actor together."""
        actors = len(self._actors)
        parts = (
            [range(i, i + 1) for i in range(count)]
            if self._shareable
            else [range(i, count, actors) for i in range(actors)]
        )
        return [_Share(part, member) for part in parts for member in range(members) if len(part)]

    def close(self) -> None:
        """See `Backend`. Ray itself runs on until the process ends, for the next pool."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}

    def _spread(
        self, calls: Sequence[Call], *, alone: bool = False, attempts: int = 1
    ) -> Iterator[tuple[int, Any]]:
        """Make each call on whichever worker is free, in their order.

        Whoever leaves the loop early leaves calls under way, and later ones wait behind them.

        Args:
            calls: what to make.
            alone: all on the first worker, one after the other.
            attempts: how often a call is made, at once and on a new worker, that ends its worker.

        Yields:
            A call's position, and its value, or LOST: as they end.
        """
        waiting = deque((which, 1) for which in range(len(calls)))
        idle = deque(list(self._actors)[:1] if alone else self._actors)
        working: dict[Any, tuple[int, int, int]] = {}
        while waiting or working:
            while waiting and idle:
                number, (which, attempt) = idle.popleft(), waiting.popleft()
                working[calls[which](self._actors[number])] = (number, which, attempt)
            future = self._ray.wait(list(working))[0][0]
            number, which, attempt = working.pop(future)
            try:
                found = self._get(future)
            except self._ray.exceptions.RayActorError:
                found = LOST
                self._replace(number)
            if number in self._actors:
                idle.append(number)
            elif not (idle or working):
                # It was the only one that was to work, and no other came for it.
                idle.append(next(iter(self._actors)))
            if found is LOST and attempt < attempts:
                waiting.appendleft((which, attempt + 1))
            else:
                yield which, found

    def _replace(self, number: int) -> None:
        """A new worker for one that is lost, or that does not answer any more.

        If its place is taken meanwhile, as on a cluster that others use too, the rest go on.
        """
        self._ray.kill(self._actors.pop(number))
        try:
            (self._actors[number],) = self._start_actors(1)
        except RayError:
            if not self._actors:
                raise

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
        ready, late = self._ray.wait(list(actors), timeout=START_SECONDS)
        if not ready:
            raise RayError(
                f"no machine became free within {START_SECONDS:g} s; another run holds it"
            )
        if late:
            _, late = self._ray.wait(late, num_returns=len(late), timeout=LATE_SECONDS)
        for future in late:  # others hold these cores
            self._ray.kill(actors.pop(future))
        try:
            self._ray.get(list(actors))
        except self._ray.exceptions.RayActorError as error:
            raise RayError(f"a worker can't be started: {error}") from error
        return list(actors.values())


def _lost_twice(subject: Subject) -> str:
    return f"{subject.name}: its worker was lost twice"


_WHOLE_MACHINE: dict[str, Any] = {"num_cpus": 0, "resources": {MACHINE_RESOURCE: 1}}
