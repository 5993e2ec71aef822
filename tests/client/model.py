"""A scheduler with random transactions, and what must hold after each of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from heddle_client._scheduler import Core


@dataclass
class Held:
    """A transaction as the model knows it."""

    exclusive: frozenset[int]
    shared: frozenset[int]
    later_starts: int = 0
    """Later transactions that have started while it was the oldest."""

    def conflicts(self, other: Held) -> bool:
        return bool(
            self.exclusive & (other.exclusive | other.shared) or other.exclusive & self.shared
        )


@dataclass
class Model:
    """A core, the transactions given to it, and those that it has started."""

    mode: str
    concurrency: int
    barrier: int = 1_000_000
    longest_wait: float = 3_600
    waiting: dict[int, Held] = field(default_factory=dict)
    running: dict[int, Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.core = Core()
        self.core.configure(self.mode, self.concurrency, self.barrier, self.longest_wait)

    def submit(self, exclusive: frozenset[int], shared: frozenset[int]) -> None:
        oldest = self.waiting[min(self.waiting)] if self.waiting else None
        ticket, started = self.core.submit(exclusive, shared, True)
        self.waiting[ticket] = Held(exclusive, shared - exclusive)
        if started:
            self._start(ticket, oldest)
        else:
            assert self.core.on_start(ticket, lambda: self._start(ticket, self._oldest(ticket)))
        self.check()

    def release(self, ticket: int) -> None:
        del self.running[ticket]
        self.core.release(ticket)
        self.check()

    def cancel(self, ticket: int) -> None:
        del self.waiting[ticket]
        assert self.core.cancel(ticket)
        self.check()

    def drain(self) -> None:
        """End all transactions; what is left of them is a fault."""
        while self.running or self.waiting:
            assert self.running, f"{len(self.waiting)} transactions wait for none"
            self.release(next(iter(self.running)))
        counters = self.core.counters()
        assert (self.core.keys, counters["running"], counters["waiting"]) == (0, 0, 0)

    def check(self) -> None:
        counters = self.core.counters()
        assert (counters["running"], counters["waiting"]) == (len(self.running), len(self.waiting))
        assert len(self.running) <= self.concurrency
        assert all(one.later_starts <= self.barrier for one in self.waiting.values())
        # No transaction waits that may start.
        if len(self.running) < self.concurrency:
            assert not [ticket for ticket in self.waiting if self.may_start(ticket)]

    def may_start(self, ticket: int) -> bool:
        one = self.waiting[ticket]
        if self.mode == "fifo":
            return True
        others = list(self.running.values())
        if self.mode == "locks":
            others += [held for other, held in self.waiting.items() if other < ticket]
        return not any(one.conflicts(other) for other in others)

    def _oldest(self, ticket: int) -> Held | None:
        """The oldest transaction, if this one overtakes it by starting."""
        oldest = min(self.waiting)
        return None if oldest == ticket else self.waiting[oldest]

    def _start(self, ticket: int, overtaken: Held | None) -> None:
        held = self.waiting.pop(ticket)
        if overtaken is not None:
            overtaken.later_starts += 1
        if self.mode == "locks" or self.barrier == 1_000_000:
            assert self.mode == "fifo" or not any(map(held.conflicts, self.running.values()))
        if self.mode == "fifo":
            assert all(other > ticket for other in self.waiting)
        if self.mode == "locks":
            assert not [t for t, one in self.waiting.items() if t < ticket and one.conflicts(held)]
        self.running[ticket] = held
