"""Draw trials that vary the protocol, the table, the schedule and the workload."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from envs.anomalies import checked_level
from envs.baselines import subject_of
from envs.engine_interface import load_engine
from envs.option_specs import engine_specs
from envs.subject import Subject
from envs.trial import Trial
from envs.tuned_backoff import untuned
from envs.workload import workload_signature
from policies import Signature

SWITCHING = "switching"
"""The name of a run that switches between random tables."""

LOCKING = "locking"
"""The name of two-phase locking that finds deadlocks, with a random grant policy and backoff."""

RANKED = 0.5
"""The share of the trials of `locking` whose types have ranks."""

VIRTUAL_SECONDS = 0.001
REAL_SECONDS = 0.2
"""Default length of a trial in seconds, long enough for transactions to conflict."""

VIRTUAL_WATCHDOG_S = 0.02
REAL_WATCHDOG_S = 10.0
"""Default time limit in seconds for a worker of a trial to end an attempt."""

_TABLES_IN_TURN = 4


@dataclass(frozen=True)
class TrialPlan:
    """A sequence of random trials. The same plan and number give the same trial.

    Attributes:
        workload: name and options of the workload; all values are strings.
        machine: kind and options of the machine; all values are strings.
        cores: maximum number of workers; a trial has at least 2.
        policies: names and paths, as `heddle evaluate` takes them, `switching` and `locking`.
        random: number of new random tables after each round of `policies`.
        draw: whether each trial of the workload `generic` draws other transaction types.
        schedules: orders of virtual cores, used in turn.
        seconds: length of each trial in seconds.
        watchdog_s: time limit in seconds for a worker to end an attempt.
        seed: seed of the first trial.
        fixed: settings that are not drawn, such as `workload.churn` and `machine.depth`. Every
            trial has them as `workload` and `machine` say.
        allow: anomalies that histories of policies with a weaker isolation level may have.
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
    allow: Collection[str] = ()

    def name(self, number: int) -> str:
        """Return the name of the policy of a trial."""
        kinds = [*self.policies, *("random" for _ in range(self.random))]
        return kinds[number % len(kinds)]

    def trial(self, number: int) -> Trial:
        """Return the trial with a number, from 0.

        Raises:
            UnknownPolicyError, PolicyFileError, ValueError: a policy is unknown or does not fit the
                workload.
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
            exclusive_after=draw.choice((1, 3, 64)),
            isolation=checked_level(subject, self.allow),
        )

    def _machine(self, number: int, draw: Random, seed: int) -> dict[str, str]:
        machine = dict(self.machine)
        if machine["kind"] != "virtual":
            return machine
        kinds = len(self.policies) + self.random
        # Combine every policy with every schedule.
        schedule = self.schedules[(number + number // kinds) % len(self.schedules)]
        drawn = {
            "seed": str(seed),
            "schedule": schedule,
            "delay_every": str(draw.choice((20, 50, 100, 200))),
            "depth": str(draw.randint(2, 5)),
            "steps": str(draw.choice((200, 500, 1000, 3000))),
            # Without it a lost wake-up shows, instead of being covered by a time-out.
            "rescue": "false",
        }
        # Half of the trials fetch rows ahead, unless a file of costs decides.
        fetches = {"fetches": str(draw.choice((0, 10)))}
        if "machine/costs" in self.fixed:
            fetches = {}
        return machine | self._free("machine", drawn) | self._free("machine.costs", fetches)

    def _free(self, group: str, drawn: Mapping[str, str]) -> dict[str, str]:
        """Return the drawn settings without the fixed ones."""
        return {key: value for key, value in drawn.items() if f"{group}.{key}" not in self.fixed}


def core_schedules() -> tuple[str, ...]:
    """Return the choices of `machine.schedule`, the orders in which virtual cores run."""
    (schedule,) = (spec for spec in engine_specs("machine", "virtual") if spec.name == "schedule")
    return tuple(str(choice) for choice in schedule.choices)


def _drawn_shape(draw: Random, seed: int, churn: str | None) -> dict[str, str]:
    """Draw the options of the workload `generic`.

    Args:
        draw: random generator.
        seed: seed of the transaction types.
        churn: value of the option if it is fixed; None to draw it.
    """
    # A quarter of the trials insert and delete rows continuously. They have few rows, so that
    # transactions reuse each other's records.
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


def _drawn_locking(draw: Random, types: int) -> str:
    """Draw the options of `two_phase_locking` that decide who is granted a lock, as in a name.

    Args:
        draw: random generator.
        types: number of the workload's transaction types, each of which may have a rank.
    """
    choices = {spec.name: spec.choices for spec in engine_specs("protocol", "two_phase_locking")}
    grant = draw.choice(choices["grant"])
    options = f"conflict=detect:grant={grant}"
    if draw.random() < RANKED:
        options += f":rank={''.join(str(draw.randint(0, 2)) for _ in range(types))}"
    if grant in {"ldsf", "bldsf", "hldsf"}:
        options += f":dependency={draw.choice(choices['dependency'])}"
    if grant == "bldsf":
        options += f":delay={draw.choice(choices['delay'])}"
    return options


def _subject(name: str, signature: Signature, seed: int) -> tuple[Subject, tuple[str, ...]]:
    def table(number: int) -> Subject:
        return subject_of(f"random:{number}", signature, untuned)

    if name == "random":
        return table(seed), ()
    if name == LOCKING:
        drawn = _drawn_locking(Random(seed), len(signature.types))
        locking = subject_of(f"two_phase_locking:{drawn}", signature, untuned)
        # A search also chooses the backoff, which is that of a table.
        return replace(locking, name=name, policy=table(seed).policy, backoff="policy"), ()
    if name == SWITCHING:
        tables = [table(_TABLES_IN_TURN * seed + at) for at in range(_TABLES_IN_TURN)]
        first = tables[0]
        switches = tuple(table.policy for table in tables if table.policy is not None)
        return Subject(SWITCHING, first.protocol, first.policy, first.backoff), switches
    return subject_of(name, signature, untuned), ()
