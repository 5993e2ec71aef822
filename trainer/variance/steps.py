"""Divides the recorded time of each core into steps of its transactions.

Between two events of a core, the core is in one step: it executes an access, waits, locks its write
set, backs off. The steps of a transaction, from its arrival to its end, add up to its latency
without a remainder, on virtual cores and on real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from envs.recorded_events import RecordedEvents

Integers = NDArray[np.int64]
NONE = -1
"""No transaction, state, core or type."""
_LOCK = 0
_UNTIL_END = (1 << 32) - 1
_UNTIL_BATCH = _UNTIL_END - 1
"""Goals of waits (engine/protocol/timeline.h)."""


class Part(IntEnum):
    """The part of a transaction's life that a step belongs to."""

    OUTSIDE = 0
    ADMISSION = 1
    BETWEEN = 2
    BACKOFF = 3
    HELD = 4
    ABORTED = 5
    LAST = 6
    SKIPPED = 7


class Phase(IntEnum):
    """The phase of an attempt."""

    EXECUTION = 0
    ACCESS = 1
    LOCKING = 2
    VALIDATION = 3
    INSTALLATION = 4
    RELEASE = 5
    UNDO = 6
    RETRY = 7


class Waits(IntEnum):
    """The event that a step waits for."""

    NOTHING = 0
    LOCK = 1
    ACCESS = 2
    END = 3
    SPIN = 4
    BATCH = 5


@dataclass(frozen=True)
class Transactions:
    """The transactions that the engine counted, in the order of their ends on each core.

    Attributes:
        core: core of each.
        type: number of its type.
        arrived: arrival in ticks.
        begun: begin of the first attempt in ticks.
        end: end in ticks.
        latency: latency in ticks, as the engine measured it.
    """

    core: Integers
    type: Integers
    arrived: Integers
    begun: Integers
    end: Integers
    latency: Integers

    def __len__(self) -> int:
        return int(self.core.size)


@dataclass(frozen=True)
class Segments:
    """Stretches of time of a core in one step, by core and time.

    Attributes:
        core: core of each.
        begin: begin in ticks.
        end: end in ticks, above the begin.
        transaction: index into `Transactions`; `NONE` if it is not counted.
        run: position in the recording at which the core's transaction began, which identifies it;
            `NONE` between two.
        type: type of the transaction that the core executes; `NONE` between two.
        part: a `Part`.
        phase: a `Phase`.
        state: state of the access; if it has none, the number of states plus the table's; `NONE`
            outside accesses.
        waits: a `Waits`.
        blocker: core that is waited for; `NONE` if unknown or if it does not wait.
        blocker_run: the transaction that is waited for, as `run`; `NONE` if there is none.
        blocker_type: its type; `NONE` if there is none.
    """

    core: Integers
    begin: Integers
    end: Integers
    transaction: Integers
    run: Integers
    type: Integers
    part: Integers
    phase: Integers
    state: Integers
    waits: Integers
    blocker: Integers
    blocker_run: Integers
    blocker_type: Integers

    def __len__(self) -> int:
        return int(self.core.size)


Columns = TypeVar("Columns", Transactions, Segments)


@dataclass(frozen=True)
class Steps:
    """The transactions of a recording and the steps of its cores.

    Attributes:
        recorded: the recording.
        transactions: the transactions that ended in it.
        segments: the steps of the cores.
        unfinished: transactions that the recording cuts off.
    """

    recorded: RecordedEvents
    transactions: Transactions
    segments: Segments
    unfinished: int

    def state_name(self, state: int) -> str:
        """Return an access as `type.access`, or by its table if it has no state."""
        signature = self.recorded.signature
        if state >= len(signature.accesses):
            return f"access to {self.recorded.tables[state - len(signature.accesses)]}"
        return f"{signature.type_of(state).name}.{signature.accesses[state].name}"


def steps_of(recorded: RecordedEvents) -> Steps:
    """Divide the time of each core into steps.

    Args:
        recorded: the recording; it is read core by core, so that temporary arrays stay small.
    """
    cores = [
        _Core(recorded, core, np.flatnonzero(recorded.events["core"] == core))
        for core in range(recorded.cores)
    ]
    running = [core.running() for core in cores]
    transactions = _joined([core.transactions() for core in cores], Transactions)
    firsts = np.cumsum([0, *(core.counted for core in cores)])
    segments = _joined(
        [core.segments(int(first), running) for core, first in zip(cores, firsts, strict=False)],
        Segments,
    )
    unfinished = sum(core.unfinished for core in cores)
    return Steps(recorded, transactions, segments, unfinished)


@dataclass(frozen=True)
class _Running:
    """The transactions of a core, each from a position of the recording on.

    Attributes:
        positions: the positions.
        runs: the transaction from there on, as `Segments.run`.
        types: its type.
    """

    positions: Integers
    runs: Integers
    types: Integers

    def at(self, positions: Integers) -> tuple[Integers, Integers]:
        """Return the transactions at positions of the recording, and their types."""
        found = np.searchsorted(self.positions, positions, side="right") - 1
        known = np.maximum(found, 0)
        return (
            np.where(found >= 0, self.runs[known], NONE),
            np.where(found >= 0, self.types[known], NONE),
        )


@dataclass(frozen=True)
class _Blockers:
    """What each event's wait is for: a core, its transaction and the type of that."""

    core: Integers
    run: Integers
    type: Integers


class _Core:
    """The events of one core."""

    def __init__(self, recorded: RecordedEvents, core: int, positions: Integers) -> None:
        self._recorded = recorded
        self._core = core
        self._positions = positions.astype(np.int64)
        events = recorded.events[positions]
        self._time = events["time"].astype(np.int64)
        self._number = events["number"].astype(np.int64)
        self._subject = events["subject"].astype(np.int64)
        self._what = events["what"].astype(np.int64)
        self._count = int(self._what.size)
        self._begun = self._last("transaction")
        self._ended = self._last("transaction_end")
        opened = np.flatnonzero(self._is("window"))
        self._window = int(opened[0]) if opened.size else self._count
        begins = np.flatnonzero(self._is("transaction"))
        ends = np.flatnonzero(self._is("transaction_end"))
        ends = ends[self._begun[ends] >= 0] if ends.size else ends
        self._ends = ends[self._begun[ends] > self._window] if ends.size else ends
        self._begins = self._begun[self._ends] if self._ends.size else self._ends
        counted = np.count_nonzero(begins > self._window)
        self.unfinished = int(counted) - int(self._ends.size)

    @property
    def counted(self) -> int:
        """Number of transactions of the core that the engine counted."""
        return int(self._ends.size)

    def _code(self, name: str) -> int:
        return self._recorded.codes[name]

    def _is(self, *names: str) -> NDArray[np.bool_]:
        return np.isin(self._what, [self._code(name) for name in names])

    def _last(self, *names: str) -> Integers:
        """Return, for each event, the index of the last event of these kinds up to it."""
        at = np.where(self._is(*names), np.arange(self._count), NONE)
        return np.maximum.accumulate(at) if self._count else at

    def _next(self, *names: str) -> Integers:
        """Return, for each event, the index of the next event of these kinds; or their number."""
        at = np.where(self._is(*names), np.arange(self._count), self._count)
        return np.minimum.accumulate(at[::-1])[::-1] if self._count else at

    def running(self) -> _Running:
        """Return the core's transactions, by position in the recording."""
        at = np.flatnonzero(self._is("attempt", "transaction", "transaction_end"))
        ends = self._what[at] == self._code("transaction_end")
        runs = self._runs()[at]
        return _Running(self._positions[at], runs, np.where(ends, NONE, self._subject[at]))

    def _runs(self) -> Integers:
        """Return the transaction at each event, as `Segments.run`."""
        # The recording may begin within an attempt, after the begin of its transaction.
        attempt = self._last("attempt")
        first = np.where(self._begun >= 0, self._begun, np.where(attempt >= 0, 0, NONE))
        inside = (first > self._ended) & (first >= 0)
        return np.where(inside, self._positions[first], NONE)

    def transactions(self) -> Transactions:
        """Return the core's transactions that the engine counted."""
        begins, ends = self._begins, self._ends
        return Transactions(
            core=np.full(ends.size, self._core, dtype=np.int64),
            type=self._subject[begins],
            arrived=self._time[begins] - self._number[begins],
            begun=self._time[begins],
            end=self._time[ends],
            latency=self._number[ends],
        )

    def segments(self, first: int, running: list[_Running]) -> Segments:
        """Return the core's steps.

        Args:
            first: index of its first transaction.
            running: the types that each core executes.
        """
        columns = len(fields(Segments))
        if self._count < 2:
            return Segments(*(np.zeros(0, dtype=np.int64) for _ in range(columns)))
        open_wait = self._last("wait") > self._last("wait_end", "wait_skipped")
        spun = self._is("spun") & ~open_wait
        runs = self._runs()
        attempt = self._last("attempt")
        in_attempt = (attempt > np.maximum(self._last("end"), self._ended)) & (runs != NONE)
        phase, state = self._phases(in_attempt)
        goals = np.where(open_wait, self._goals(), Waits.NOTHING)
        begun = np.maximum(np.searchsorted(self._positions, runs), 0)
        types = np.where(runs != NONE, self._subject[np.minimum(begun, self._count - 1)], NONE)
        # Outside accesses and commits, an attempt waits only to return to its validated point.
        outside = (phase == Phase.EXECUTION) & np.isin(types, self._types_with_accesses())
        phase = np.where(outside & (goals == Waits.END), Phase.RETRY, phase)
        steps = {
            "transaction": self._indices(first, runs),
            "run": runs,
            "type": types,
            "part": self._parts(runs != NONE, in_attempt),
            "phase": phase,
            "state": state,
        }
        ends = np.append(self._time[1:], self._time[-1])
        spun_until = np.where(spun, np.minimum(self._time + self._number, ends), self._time)
        named, waker, since = self._blockers(open_wait, spun, running)
        since = np.clip(since, spun_until, ends)
        spins = np.full(self._count, Waits.SPIN)
        pieces = [
            self._pieces(self._time, spun_until, spins, steps, named),
            self._pieces(spun_until, since, goals, steps, named),
            self._pieces(since, ends, goals, steps, waker),
        ]
        both = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        order = np.lexsort((both[2], both[1]))
        longer = order[both[2][order] > both[1][order]]
        return Segments(*(column[longer] for column in both))

    def _pieces(
        self,
        begin: Integers,
        end: Integers,
        waits: Integers,
        steps: dict[str, Integers],
        blockers: _Blockers,
    ) -> tuple[Integers, ...]:
        blocked = waits != Waits.NOTHING
        return (
            np.full(self._count, self._core, dtype=np.int64),
            begin,
            end,
            steps["transaction"],
            steps["run"],
            steps["type"],
            steps["part"],
            steps["phase"],
            steps["state"],
            waits.astype(np.int64),
            np.where(blocked, blockers.core, NONE),
            np.where(blocked, blockers.run, NONE),
            np.where(blocked, blockers.type, NONE),
        )

    def _indices(self, first: int, runs: Integers) -> Integers:
        """Return the index of the counted transaction at each event, else `NONE`."""
        if not self._begins.size:
            return np.full(self._count, NONE, dtype=np.int64)
        begins = self._positions[self._begins]
        known = np.minimum(np.searchsorted(begins, runs), begins.size - 1)
        return np.where(begins[known] == runs, first + known, NONE)

    def _parts(self, inside: NDArray[np.bool_], in_attempt: NDArray[np.bool_]) -> Integers:
        # An attempt is the last of its transaction if no other one follows before the end.
        after = np.minimum(np.arange(self._count) + 1, self._count - 1)
        again = self._next("attempt")[after] < self._next("transaction_end")[after]
        attempt_part = np.where(again, Part.ABORTED, Part.LAST)
        pause = np.where(
            self._last("hold") > self._last("hold_end"),
            Part.HELD,
            np.where(self._last("backoff") > self._last("backoff_end"), Part.BACKOFF, Part.BETWEEN),
        )
        skipped = self._last("skip") > self._last("transaction")
        pause = np.where(inside, pause, np.where(skipped, Part.SKIPPED, Part.OUTSIDE))
        return np.where(in_attempt, attempt_part, pause).astype(np.int64)

    def _types_with_accesses(self) -> list[int]:
        """Return the types whose accesses are recorded."""
        selection = self._recorded.selection
        return [
            number
            for number, name in enumerate(self._recorded.types)
            if selection.has_accesses_of(name)
        ]

    def _phases(self, in_attempt: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        marks = {
            "attempt": Phase.EXECUTION,
            "retry": Phase.EXECUTION,
            "commit": Phase.LOCKING,
            "validate": Phase.VALIDATION,
            "install": Phase.INSTALLATION,
            "release": Phase.RELEASE,
            "undo": Phase.UNDO,
        }
        by_code = np.full(len(self._recorded.whats), Phase.EXECUTION, dtype=np.int64)
        for name, following in marks.items():
            by_code[self._code(name)] = following
        mark = self._last(*marks)
        phase = np.where(mark >= 0, by_code[self._what[mark]], Phase.EXECUTION)
        access = self._last("access")
        in_access = (access > np.maximum(self._last("access_end"), mark)) & in_attempt
        packed = self._subject[access]
        # AccessSubject (engine/protocol/timeline.h): the state, the kind and the table.
        state, table = packed & 0xFFFF, packed >> 24
        states = len(self._recorded.signature.accesses)
        state = np.where(state < states, state, states + table)
        phase = np.where(in_access, Phase.ACCESS, np.where(in_attempt, phase, Phase.EXECUTION))
        return phase.astype(np.int64), np.where(in_access, state, NONE).astype(np.int64)

    def _goals(self) -> Integers:
        goal = self._number[self._last("wait")]
        named = {_LOCK: Waits.LOCK, _UNTIL_END: Waits.END, _UNTIL_BATCH: Waits.BATCH}
        return np.select(
            [goal == value for value in named], list(named.values()), Waits.ACCESS
        ).astype(np.int64)

    def _blockers(
        self, open_wait: NDArray[np.bool_], spun: NDArray[np.bool_], running: list[_Running]
    ) -> tuple[_Blockers, _Blockers, Integers]:
        """Return the blocker that each wait names, the one that ends it, and since when.

        The core that ends a wait for a lock may be another one than the holder at its begin. The
        thesis follows the waker (algorithm 2, `find_waking_segment`). Its transaction may have
        begun after the wait, because grant policies let requests overtake. Until then the wait is
        for the holder.
        """
        core = np.full(self._count, NONE, dtype=np.int64)
        position = np.full(self._count, NONE, dtype=np.int64)
        wait = self._last("wait")
        subject = self._subject[wait]
        for_one = open_wait & (subject != self._recorded.unknown_core)
        core[for_one] = subject[for_one]
        position[for_one] = self._positions[wait[for_one]]
        known = spun & (self._subject != self._recorded.unknown_core)
        core[known] = self._subject[known]
        position[known] = self._positions[known]
        named = self._transactions_at(core, position, running)
        wakes, wakers = self._wakes()
        if not wakes.size:
            return named, named, self._time
        after = np.minimum(self._next("wait_end", "wait_skipped"), self._count - 1)
        last = np.searchsorted(wakes, self._positions[after]) - 1
        woken = open_wait & (last >= 0) & (self._number[wait] == _LOCK)
        woken &= wakes[np.maximum(last, 0)] > self._positions[wait]
        core, position = core.copy(), position.copy()
        core[woken] = wakers[last[woken]]
        position[woken] = wakes[last[woken]]
        waker = self._transactions_at(core, position, running)
        since = np.array(self._time)
        begun = woken & (waker.run != NONE)
        since[begun] = self._recorded.events["time"][waker.run[begun]].astype(np.int64)
        return named, waker, since

    def _transactions_at(
        self, core: Integers, position: Integers, running: list[_Running]
    ) -> _Blockers:
        runs = np.full(self._count, NONE, dtype=np.int64)
        types = np.full(self._count, NONE, dtype=np.int64)
        for blocker in np.unique(core[core >= 0]):
            for_it = core == blocker
            runs[for_it], types[for_it] = running[blocker].at(position[for_it])
        return _Blockers(core, runs, types)

    def _wakes(self) -> tuple[Integers, Integers]:
        """Return the positions of the events that wake this core, and the cores that do so."""
        events = self._recorded.events
        woke = events["what"] == self._code("wake")
        positions = np.flatnonzero(woke & (events["subject"] == self._core))
        return positions.astype(np.int64), events["core"][positions].astype(np.int64)


def _joined(parts: list[Columns], kind: type[Columns]) -> Columns:
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return kind(*(np.concatenate(column) for column in columns))
