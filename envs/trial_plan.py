"""Trials drawn one after the other: protocols, tables, schedules and workloads in turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from envs.baselines import subject_of
from envs.engine_interface import load_engine
from envs.option_specs import engine_specs
from envs.subject import Subject
from envs.trial import Trial
from envs.tuned_backoff import untuned
from envs.workload import workload_signature
from policies import Signature

SWITCHING = "switching"
"""Stands for a run in which random tables take turns."""


VIRTUAL_SECONDS = 0.001
REAL_SECONDS = 0.2
"""How long a trial runs unless it is told otherwise: long enough for transactions to meet."""

VIRTUAL_WATCHDOG_S = 0.02
REAL_WATCHDOG_S = 10.0
"""No worker of a trial may go so long without ending an attempt."""

_TABLES_IN_TURN = 4


@dataclass(frozen=True)
class TrialPlan:
    """What trials are drawn from; the same plan and number give the same trial.

    Attributes:
        workload: its name and options; all values strings.
        machine: likewise.
        cores: the most workers of a trial, which has 2 or more of them.
        policies: names and paths, as `heddle evaluate` takes them, and `switching`.
        random: so many random tables come after each round of `policies`, each drawn once.
        draw: whether each trial of the workload `generic` draws its transaction types anew.
        fixed: settings that are drawn for no trial, such as `workload.churn` and `machine.depth`:
            every trial has them as `workload` and `machine` say.
        schedules: of virtual cores, in turn.
        seconds: of each trial.
        watchdog_s: no worker may go so long without ending an attempt.
        seed: of the first trial.
    """

    workload: Mapping[str, str]
    machine: Mapping[str, str]
    cores: int
    policies: Sequence[str]
    random: int
    draw: bool
    schedules: Sequence[str]
    seconds: float
    watchdog_s: float
    seed: int
    fixed: Collection[str] = ()

    def name(self, number: int) -> str:
        """What the trial of that number runs."""
        kinds = [*self.policies, *("random" for _ in range(self.random))]
        return kinds[number % len(kinds)]

    def trial(self, number: int) -> Trial:
        """The trial of that number, from 0.

        Raises:
            UnknownPolicyError, PolicyFileError, ValueError: a name stands for nothing, or does not
                fit the workload.
        """
        seed = self.seed + number
        draw = Random(seed)
        workload = dict(self.workload)
        if self.draw and workload.get("name") == "generic":
            churn = workload.get("churn") if "workload.churn" in self.fixed else None
            workload |= self._free("workload", _drawn_shape(draw, seed, churn))
        signature = workload_signature(load_engine(), workload)
        subject, switches = _subject(self.name(number), signature, seed)
        return Trial(
            workload=workload,
            cores=draw.randint(min(2, self.cores), self.cores),
            seed=seed,
            machine=self._machine(number, draw, seed),
            subject=subject,
            seconds=self.seconds,
            switches=switches,
            watchdog_s=self.watchdog_s,
            epoch_us=draw.choice((2.0, 10.0, 50.0, 10_000.0)),
        )

    def _machine(self, number: int, draw: Random, seed: int) -> dict[str, str]:
        machine = dict(self.machine)
        if machine["kind"] != "virtual":
            return machine
        kinds = len(self.policies) + self.random
        # Every policy comes to every schedule.
        schedule = self.schedules[(number + number // kinds) % len(self.schedules)]
        drawn = {
            "seed": str(seed),
            "schedule": schedule,
            "delay_every": str(draw.choice((20, 50, 100, 200))),
            "depth": str(draw.randint(2, 5)),
            "steps": str(draw.choice((200, 500, 1000, 3000))),
            # A wake-up that is lost must not be made good by a time-out.
            "rescue": "false",
        }
        # Rows are fetched ahead in half of the trials, on average; a file of costs decides for all.
        fetches = {"fetches": str(draw.choice((0, 10)))}
        if "machine/costs" in self.fixed:
            fetches = {}
        return machine | self._free("machine", drawn) | self._free("machine.costs", fetches)

    def _free(self, group: str, drawn: Mapping[str, str]) -> dict[str, str]:
        """What was drawn, without the settings that are fixed."""
        return {key: value for key, value in drawn.items() if f"{group}.{key}" not in self.fixed}


def core_schedules() -> tuple[str, ...]:
    """The names of the orders in which virtual cores can go on: the engine's `machine.schedule`."""
    (schedule,) = (one for one in engine_specs("machine", "virtual") if one.name == "schedule")
    return tuple(str(one) for one in schedule.choices)


def _drawn_shape(draw: Random, seed: int, churn: str | None) -> dict[str, str]:
    """A workload's options.

    Args:
        draw: draws them.
        seed: of the transaction types.
        churn: is fixed to this, and decides what suits it; None: it is drawn too.
    """
    # Rows that are inserted and deleted without end, in one trial of four: few of them, so that
    # transactions take over each other's records.
    churning = draw.random() < 0.25
    if churn is not None:
        churning = int(churn) > 0
    return {
        "program": str(seed),
        "types": str(draw.randint(1, 6)),
        "accesses": str(draw.randint(2, 10)),
        "churn": str(draw.randint(50, 100) if churning else 0),
        "ordered_keys": str(draw.randint(1, 2) if churning else draw.randint(2, 12)),
        "hash_keys": str(1 if churning else draw.randint(1, 6)),
        "rollbacks": str(draw.choice((0, 5, 20))),
        "audits": str(draw.choice((0, 0, 5))),
    }


def _subject(name: str, signature: Signature, seed: int) -> tuple[Subject, tuple[str, ...]]:
    def table(number: int) -> Subject:
        return subject_of(f"random:{number}", signature, untuned)

    if name == "random":
        return table(seed), ()
    if name == SWITCHING:
        tables = [table(_TABLES_IN_TURN * seed + at) for at in range(_TABLES_IN_TURN)]
        first = tables[0]
        switches = tuple(one.policy for one in tables if one.policy is not None)
        return Subject(SWITCHING, first.protocol, first.policy, first.backoff), switches
    return subject_of(name, signature, untuned), ()
