"""What happened when in a short run on virtual cores: attempts, accesses, waits, dependencies.

Times are nanoseconds of virtual time since the measured window began; attempts that were going on
then begin before 0. On one core times are exact; between cores events are in order up to the
machine's skew (`machine.skew_ns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from policies import Signature

Until = Literal["access", "end", "lock", "spin"]
"""What a wait is for: that another transaction gets past an access, that it ends, that it hands a
lock over; or a spinning wait for a record's lock bit, an index node or a latch."""

_UNTIL_END = -1
_LOCK = 0


@dataclass
class Wait:
    """A transaction waits for another one.

    Attributes:
        begin: when it begins, ns.
        end: when it ends, ns.
        until: what for.
        access: for `access`: how many accesses of the blocker's type must be done, counted from 1.
        blocker: the core waited for; None if nobody knows.
        attempt: the number of the attempt running there then; None if there was none.
    """

    begin: float
    end: float
    until: Until
    access: int | None
    blocker: int | None
    attempt: int | None


@dataclass
class Access:
    """One access, its waits and what it publishes included.

    Attributes:
        begin: when it begins, ns.
        end: when it ends, ns.
        state: its row of the policy table; None if it has none.
        kind: `read`, `update`, `insert`, `remove` or `scan`.
        table: the table's name.
        key: the first word of the key, as the workload packs it; of a scan, where it starts.
    """

    begin: float
    end: float
    state: int | None
    kind: str
    table: str
    key: int


@dataclass
class Dependency:
    """From here on the transaction can only commit after another one has ended.

    Attributes:
        time: ns.
        core: the other's.
        attempt: the number of the attempt there; None if there was none.
    """

    time: float
    core: int
    attempt: int | None


@dataclass
class Point:
    """A publication point: an early validation and, if it held, what became visible.

    Attributes:
        time: when it was through, ns.
        state: the access it follows.
        held: whether the transaction may go on; else it goes back to the point before.
        published: how many writes others can see from here on.
    """

    time: float
    state: int
    held: bool
    published: int = 0


@dataclass
class Attempt:
    """One attempt at a transaction.

    Attributes:
        number: counted through the timeline, from 0.
        core: where it runs.
        type: the transaction type's name.
        aborts_before: earlier attempts at the same transaction.
        begin: when it begins, ns.
        end: when it ends, ns; where the window ends, if it goes on.
        outcome: `commit`, `rollback` (the transaction's own wish), `abort`; None: it goes on.
        reason: why it aborted, or "none".
        state: where it came to grief, if it did in one access.
        accesses: in order; those a retry served from its log left out.
        waits: in order, at accesses and in the commit.
        dependencies: in the order in which it took them.
        points: in order.
        retries: when it went back to its last validated point, ns.
        wait_cycles: when a wait was skipped that would have closed a cycle, ns.
        commit_begin: when it began to commit, for the last time; None: it did not.
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
    """A core waits before its next attempt; ns."""

    core: int
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """What happened in a window.

    Attributes:
        subject: the protocol or policy that ran, for titles.
        cores: how many there are.
        signature: of the workload; names the states.
        attempts: in the order in which they began.
        backoffs: likewise.
        end: of the window, or where recording stopped, ns.
        dropped: events there was no room for: `end` is before the window's end.
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
        """Read the `timeline` of a run's result (engine/driver/recorded_timeline.h).

        Args:
            result: what `engine.Session.run` returns, `timeline_events` having been asked for.
            subject: what ran.
            signature: of the workload.
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
        """A state as `type.access`; "" for none."""
        if state is None:
            return ""
        kind = self.signature.type_of(state)
        return f"{kind.name}.{self.signature.accesses[state].name}"

    def attempt_words(self, number: int | None) -> str:
        """An attempt as `type #number`."""
        return "another" if number is None else f"{self.attempts[number].type} #{number}"

    def wait_words(self, wait: Wait) -> str:
        """What a wait is for, such as `payment #7 past update_customer`."""
        if wait.until == "spin":
            where = "a latch or lock bit"
            return where if wait.blocker is None else f"{where} that core {wait.blocker} has"
        whom = self.attempt_words(wait.attempt)
        if wait.until == "lock":
            return f"a lock of {whom}"
        if wait.until == "access":
            return f"{whom} past {self._access_name(wait)}"
        return f"{whom} to end"

    def published_before(self, number: int, time: float) -> float:
        """When an attempt last made writes visible before a time; its begin if it had not."""
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
    """What is going on on one core."""

    attempt: Attempt | None = None
    access: Access | None = None
    wait: Wait | None = None
    backoff_begin: float | None = None


class _Builder:
    """Puts the events of all cores together, in the order in which the machine made them."""

    def __init__(self, types: Sequence[str], tables: Sequence[str]) -> None:
        self._types = types
        self._tables = tables
        self._cores: dict[int, _Open] = {}
        self.attempts: list[Attempt] = []
        self.backoffs: list[Backoff] = []
        self.end = 0.0

    def add(self, event: Sequence[Any]) -> None:
        time, core, what, *details = event
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
        """The window has ended: so has everything in it."""
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
        until: Until = "lock" if goal == _LOCK else "end" if goal == _UNTIL_END else "access"
        access = goal if until == "access" else None
        return Wait(time, time, until, access, core, self._running_on(core))

    def _running_on(self, core: int | None) -> int | None:
        here = None if core is None else self._cores.get(core)
        return None if here is None or here.attempt is None else here.attempt.number


def _known(number: int) -> int | None:
    return None if number < 0 else number


def attempts_between(timeline: Timeline, begin: float, end: float) -> Iterator[Attempt]:
    """The attempts that overlap a span of time, ns."""
    return (a for a in timeline.attempts if a.begin < end and a.end > begin)
