"""Recorded timelines of short runs on virtual cores: attempts, accesses, waits, dependencies.

Times are nanoseconds of virtual time since the measured window began. Attempts in progress at that
time begin before 0. Times on one core are exact. Events of different cores are in order up to the
skew of the machine (`machine.skew_ns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from policies import Signature

Until = Literal["access", "end", "lock", "batch", "spin"]
"""The event that ends a wait. Another transaction finishes an access (`access`), ends (`end`) or
passes a lock (`lock`). A batch begins or reaches its next phase (`batch`). Or a spinning wait ends
for a record's lock bit, index node or latch (`spin`)."""

NOT_SHOWN = frozenset(
    {
        *("window", "transaction", "transaction_end", "hold", "hold_end"),
        *("validate", "install", "release", "undo", "wake"),
    }
)
"""Events for `envs.recorded_events` alone."""

_UNTIL_BATCH = -2
_UNTIL_END = -1
_LOCK = 0
_GOALS: Mapping[int, Until] = {_UNTIL_BATCH: "batch", _UNTIL_END: "end", _LOCK: "lock"}


@dataclass
class Wait:
    """A wait for another transaction, or for a batch of them.

    Attributes:
        begin: begin in ns.
        end: end in ns.
        until: the event that ends the wait.
        access: with `until="access"` the number of accesses, from 1, that the blocker must finish;
            else None.
        blocker: the core that is waited for; None if unknown.
        attempt: number of the attempt on that core; None if there is none.
    """

    begin: float
    end: float
    until: Until
    access: int | None
    blocker: int | None
    attempt: int | None


@dataclass
class Access:
    """An access, including its waits and its publication.

    Attributes:
        begin: begin in ns.
        end: end in ns.
        state: its state; None if it has none.
        kind: `read`, `update`, `insert`, `remove` or `scan`.
        table: name of the table.
        key: first word of the packed key; for a scan that of its first key.
    """

    begin: float
    end: float
    state: int | None
    kind: str
    table: str
    key: int


@dataclass
class Dependency:
    """A new dependency: the transaction can only commit after another one has ended.

    Attributes:
        time: time in ns.
        core: core of the other transaction.
        attempt: number of the attempt on that core; None if there is none.
    """

    time: float
    core: int
    attempt: int | None


@dataclass
class Point:
    """A publication point: an early validation, and the writes that it makes visible.

    Attributes:
        time: time of its completion in ns.
        state: state of the access before it.
        held: whether the validation succeeded. If not, the transaction retries from its previous
            point.
        published: number of writes that become visible to others.
    """

    time: float
    state: int
    held: bool
    published: int = 0


@dataclass
class Attempt:
    """An attempt at a transaction.

    Attributes:
        number: number of the attempt in the timeline, from 0.
        core: core that it runs on.
        type: name of the transaction type.
        aborts_before: earlier attempts at the same transaction.
        begin: begin in ns.
        end: end in ns; the end of the window if the attempt is unfinished.
        outcome: `commit`, `rollback` (requested by the transaction) or `abort`; None if the attempt
            is unfinished.
        reason: abort reason, or "none".
        state: state at which it aborted; None if it did not abort at an access.
        accesses: its accesses in order, without those that a retry repeats from its log.
        waits: its waits in order, at accesses and in the commit.
        dependencies: its dependencies, in the order of their times.
        points: its publication points in order.
        retries: times in ns at which it restarted from its last validated point.
        wait_cycles: times in ns at which a wait was skipped because it would have closed a cycle.
        commit_begin: begin of its last commit in ns; None without one.
    """

    number: int
    core: int
    type: str
    aborts_before: int
    begin: float
    end: float
    outcome: str | None = None
    reason: str = "none"
    state: int | None = None
    accesses: list[Access] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    dependencies: list[Dependency] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    retries: list[float] = field(default_factory=list)
    wait_cycles: list[float] = field(default_factory=list)
    commit_begin: float | None = None


@dataclass(frozen=True)
class Backoff:
    """A wait of a core before its next attempt.

    Attributes:
        core: the core.
        begin: begin in ns.
        end: end in ns.
    """

    core: int
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """The recorded events of a window. `Evaluator.record` returns one.

    Attributes:
        subject: name of the protocol or policy.
        cores: number of cores.
        signature: signature of the workload.
        attempts: attempts in the order in which they began.
        backoffs: backoffs in the order in which they ended.
        end: end of the window in ns, or end of the recording if events were dropped.
        dropped: number of events beyond the limit, which were not recorded.
    """

    subject: str
    cores: int
    signature: Signature
    attempts: list[Attempt]
    backoffs: list[Backoff]
    end: float
    dropped: int

    @classmethod
    def from_result(cls, result: Mapping[str, Any], subject: str, signature: Signature) -> Timeline:
        """Read the field `timeline` of a run's result (`engine/observe/recorded_timeline.h`).

        Args:
            result: dictionary that `engine.Session.run` returned, with `timeline_events` set.
            subject: name of the protocol or policy.
            signature: signature of the workload.
        """
        recorded = result["timeline"]
        builder = _Builder(list(result["types"]), recorded["tables"])
        for event in recorded["events"]:
            builder.add(event)
        builder.close()
        return cls(
            subject=subject,
            cores=int(result["machine"]["cores"]),
            signature=signature,
            attempts=builder.attempts,
            backoffs=builder.backoffs,
            end=builder.end,
            dropped=int(recorded["dropped"]),
        )

    def state_words(self, state: int | None) -> str:
        """Return a state as `type.access`; "" for None."""
        if state is None:
            return ""
        kind = self.signature.type_of(state)
        return f"{kind.name}.{self.signature.accesses[state].name}"

    def attempt_words(self, number: int | None) -> str:
        """Return an attempt as `type #number`; "another" for None."""
        return "another" if number is None else f"{self.attempts[number].type} #{number}"

    def wait_words(self, wait: Wait) -> str:
        """Return what a wait is for, such as `payment #7 past update_customer`."""
        if wait.until == "spin":
            where = "a latch or lock bit"
            return where if wait.blocker is None else f"{where} held by core {wait.blocker}"
        if wait.until == "batch":
            return "its batch"
        whom = self.attempt_words(wait.attempt)
        if wait.until == "lock":
            return f"a lock of {whom}"
        if wait.until == "access":
            return f"{whom} past {self._access_name(wait)}"
        return f"{whom} to end"

    def published_before(self, number: int, time: float) -> float:
        """Return the time of an attempt's last publication before a time, else its begin; ns."""
        attempt = self.attempts[number]
        times = [p.time for p in attempt.points if p.published and p.time <= time]
        return times[-1] if times else attempt.begin

    def _access_name(self, wait: Wait) -> str:
        if wait.attempt is None or wait.access is None:
            return f"access {wait.access}"
        name = self.attempts[wait.attempt].type
        for kind in self.signature.types:
            if kind.name == name and wait.access <= len(kind.accesses):
                return kind.accesses[wait.access - 1].name
        return f"access {wait.access}"


@dataclass
class _Open:
    """The current attempt, access, wait and backoff of one core."""

    attempt: Attempt | None = None
    access: Access | None = None
    wait: Wait | None = None
    backoff_begin: float | None = None


class _Builder:
    """Builds the attempts and backoffs from the events of all cores, in the machine's order."""

    def __init__(self, types: Sequence[str], tables: Sequence[str]) -> None:
        self._types = types
        self._tables = tables
        self._cores: dict[int, _Open] = {}
        self.attempts: list[Attempt] = []
        self.backoffs: list[Backoff] = []
        self.end = 0.0

    def add(self, event: Sequence[Any]) -> None:
        time, core, what, *details = event
        if what in NOT_SHOWN:
            return
        here = self._cores.setdefault(core, _Open())
        self.end = max(self.end, time + (details[1] if what == "spun" else 0.0))
        if what == "attempt":
            self._begin(time, core, here, *details)
        elif what == "backoff":
            here.backoff_begin = time
        elif what == "backoff_end":
            begin = 0.0 if here.backoff_begin is None else here.backoff_begin
            self.backoffs.append(Backoff(core, begin, time))
            here.backoff_begin = None
        elif here.attempt is not None:
            self._apply(time, here, here.attempt, what, details)

    def close(self) -> None:
        """End everything in progress at the end of the window."""
        for core, here in self._cores.items():
            for begun in (here.wait, here.access, here.attempt):
                if begun is not None:
                    begun.end = self.end
            if here.backoff_begin is not None:
                self.backoffs.append(Backoff(core, here.backoff_begin, self.end))

    def _begin(self, time: float, core: int, here: _Open, kind: int, aborts: int) -> None:
        attempt = Attempt(len(self.attempts), core, self._types[kind], aborts, time, time)
        self.attempts.append(attempt)
        here.attempt, here.access, here.wait = attempt, None, None

    def _apply(
        self, time: float, here: _Open, attempt: Attempt, what: str, details: Sequence[Any]
    ) -> None:
        match what, details:
            case "access", (state, kind, table, key):
                name = self._tables[table]
                here.access = Access(time, time, _known(state), kind, name, key)
                attempt.accesses.append(here.access)
            case "replayed", ():
                attempt.accesses.pop()
                here.access = None
            case "access_end", ():
                if here.access is not None:
                    here.access.end = time
                here.access = None
            case "wait", (core, goal):
                here.wait = self._wait(time, core, goal)
                attempt.waits.append(here.wait)
            case (("wait_end" | "wait_skipped"), ()):
                if here.wait is not None:
                    here.wait.end = time
                here.wait = None
                if what == "wait_skipped":
                    attempt.wait_cycles.append(time)
            case "spun", (core, took):
                blocker = _known(core)
                attempt.waits.append(
                    Wait(time, time + took, "spin", None, blocker, self._running_on(blocker))
                )
            case "dependency", (core,):
                attempt.dependencies.append(Dependency(time, core, self._running_on(core)))
            case "validation", (state, held):
                attempt.points.append(Point(time, state, bool(held)))
            case "publication", (_, writes):
                attempt.points[-1].published = writes
            case "retry", ():
                attempt.retries.append(time)
                attempt.commit_begin = None
            case "commit", ():
                attempt.commit_begin = time
            case "end", (outcome, reason, state):
                attempt.end, attempt.outcome = time, outcome
                attempt.reason, attempt.state = reason, _known(state)
                here.attempt = here.access = here.wait = None
            case _:
                raise ValueError(f"the engine recorded {what!r} with {list(details)}")

    def _wait(self, time: float, core: int, goal: int) -> Wait:
        until = _GOALS.get(goal, "access")
        access = goal if until == "access" else None
        blocker = _known(core)
        return Wait(time, time, until, access, blocker, self._running_on(blocker))

    def _running_on(self, core: int | None) -> int | None:
        here = None if core is None else self._cores.get(core)
        return None if here is None or here.attempt is None else here.attempt.number


def _known(number: int) -> int | None:
    return None if number < 0 else number


def attempts_between(timeline: Timeline, begin: float, end: float) -> Iterator[Attempt]:
    """Return the attempts that overlap a period, whose ends are in ns."""
    return (a for a in timeline.attempts if a.begin < end and a.end > begin)
