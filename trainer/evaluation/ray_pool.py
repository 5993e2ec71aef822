"""A backend on Ray: one actor per machine, which holds all of it, or one per core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from envs import Evaluation, MeasuringError, Outcome, Subject
from envs.objective import Objective
from envs.trial import Trial, Verdict
from trainer.config import EvaluationConfig
from trainer.evaluation.backend import MachineSpec, Notices, goals
from trainer.evaluation.quiet_signals import signals_ignored
from trainer.evaluation.ray_machines import compare_machines
from trainer.evaluation.ray_runtime import MACHINE_RESOURCE, RayError, start_ray
from trainer.evaluation.ray_worker import Identity, RayWorker, own_identity
from trainer.evaluation.ray_workers import Call, Lost, Workers

ROUND_ATTEMPTS = 3
"""How often a round on real cores is started if its machine is lost."""


PRIVATE_START_SECONDS = 600.0
"""Time-out for the first worker if no other run can hold the machine: it is only slow."""


@dataclass(frozen=True)
class _Share:
    """The subjects, by position, and the scenario that an actor gets at once."""

    subjects: range
    scenario: int

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(index, self.scenario) for index in self.subjects]

    @property
    def one_by_one(self) -> list[_Share]:
        return [_Share(range(index, index + 1), self.scenario) for index in self.subjects]


class RayPool:
    """Actors on the machines of a cluster, each an evaluator of every scenario. See `Backend`.

    Real cores can't be shared: an actor holds its whole machine and gets one batch of the
    candidates, in one scenario after the other. Virtual ones can: every core of the cluster has an
    actor, and a free actor gets one candidate in one scenario at a time.

    If a worker is lost, its candidates are measured again one by one on another worker; a candidate
    that loses this one too has failed. If a machine is lost, its candidates are measured again on
    the others, without counting as failures.

    Raises:
        RayError: Ray can't be used, no machine of the cluster is free, or they are too different.
    """

    def __init__(
        self, config: EvaluationConfig, *scenarios: MachineSpec, notices: Notices | None = None
    ) -> None:
        notices = notices or Notices()
        self._ray = start_ray(config.address, notices.log)
        self._shareable = all(spec.shareable for spec in scenarios)
        needs = {"num_cpus": 1} if self._shareable else _WHOLE_MACHINE
        actor_class = self._ray.remote(**needs)(RayWorker)
        resource = "CPU" if self._shareable else MACHINE_RESOURCE
        count = int(self._ray.cluster_resources().get(resource, 0))
        if count < 1:
            cure = "" if self._shareable else f" --resources '{{\"{MACHINE_RESOURCE}\": 1}}'"
            raise RayError(
                f"no machine of the Ray cluster offers {resource}; start each with ray start{cure}"
            )
        self._own = own_identity("", scenarios[0].engine_module)
        self._scenarios = scenarios
        self._say = notices.say
        self._said: str | None = None
        self._workers = Workers(
            self._ray,
            lambda: actor_class.remote(config, *scenarios),
            count,
            notices.say,
            self._compare,
            PRIVATE_START_SECONDS if config.address is None else None,
        )

    @property
    def workers(self) -> int:
        """The number of workers that can measure now."""
        return len(self._workers)

    @property
    def waited_s(self) -> float:
        """See `Backend`."""
        return self._workers.waited_s

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
        """See `Backend`."""
        by_scenario = goals(references, objectives)

        def call(share: _Share) -> Call:
            wanted = [subjects[index] for index in share.subjects]
            goal = by_scenario[share.scenario]
            length = {"slices": slices, "warmup": warmup}
            return _call("evaluate_on", share.scenario, wanted, *goal, **length, seed=seed)

        evaluations: dict[tuple[int, int], Evaluation] = {}
        again: list[_Share] = []
        shares = self._shares(len(subjects), len(references))
        for which, found in self._workers.run([call(share) for share in shares]):
            if isinstance(found, Lost):
                again += shares[which].one_by_one
            else:
                evaluations.update(zip(shares[which].cells, found, strict=True))
        for which, found in self._workers.run([call(share) for share in again]):
            ((index, scenario),) = again[which].cells
            (evaluations[index, scenario],) = (
                [Evaluation(error=_words(subjects[index], found))]
                if isinstance(found, Lost)
                else found
            )
        scenarios = range(len(references))
        return [
            [evaluations[index, scenario] for scenario in scenarios]
            for index in range(len(subjects))
        ]

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
        """See `Backend`."""
        last = len(subjects) - 1

        def call(index: int) -> Call:
            return _call(
                "outcome",
                subjects[index],
                seconds,
                warmup=warmup,
                seed=seed,
                check=check and (self._shareable or index == last),
                scenario=scenario,
            )

        calls = [call(index) for index in range(len(subjects))]
        run = self._workers.run if self._shareable else self._run_on_one
        for index, found in run(calls, attempts=2):
            lost = isinstance(found, Lost)
            yield index, MeasuringError(_words(subjects[index], found)) if lost else found

    def _compare(self, workers: Sequence[Identity]) -> None:
        """Check the machines; warn once about differences.

        Raises:
            RayError: their results are not comparable.
        """
        notice = compare_machines(self._own, workers, self._scenarios)
        if notice is not None and notice != self._said:
            self._said = notice
            self._say(notice)

    def _run_on_one(self, calls: Sequence[Call], *, attempts: int) -> Iterator[tuple[int, Any]]:
        """Run all on one machine, one after the other: what is compared is measured on the same.

        If there are several machines, a round whose machine is lost is repeated on another one.
        """
        for attempt in range(1, ROUND_ATTEMPTS + 1):
            first = self._workers.first
            machine = self._workers.machine_of(first)
            ended = self._workers.run(calls, attempts=attempts, only=first)
            if len({identity.node for identity in self._workers.identities}) == 1:
                yield from ended
                return
            found = list(ended)
            stayed = self._workers.machine_of(self._workers.first) == machine
            if stayed or attempt == ROUND_ATTEMPTS:
                yield from found
                return

    def run_trial(self, trial: Trial, *, patience_s: float, scenario: int = 0) -> Verdict:
        """See `Backend`."""
        call = _call("run_trial", trial, patience_s=patience_s, scenario=scenario)
        ((_, found),) = self._workers.run([call], attempts=2)
        if isinstance(found, Lost):
            raise MeasuringError(_words(trial.subject, found))
        verdict: Verdict = found
        return verdict

    def _shares(self, count: int, scenarios: int) -> list[_Share]:
        """Return the subjects that go to an actor together."""
        actors = max(1, len(self._workers))
        parts = (
            [range(i, i + 1) for i in range(count)]
            if self._shareable
            else [range(i, count, actors) for i in range(actors)]
        )
        return [
            _Share(part, scenario) for part in parts for scenario in range(scenarios) if len(part)
        ]

    def close(self) -> None:
        """See `Backend`. Ray itself keeps running until the process ends, for the next pool."""
        with signals_ignored():
            self._workers.close()


def _call(method: str, *arguments: Any, **named: Any) -> Call:
    return lambda actor: actor.call.remote(method, *arguments, **named)


def _words(subject: Subject, lost: Lost) -> str:
    return f"{subject.name}: {lost.reason}"


_WHOLE_MACHINE: dict[str, Any] = {"num_cpus": 0, "resources": {MACHINE_RESOURCE: 1}}
