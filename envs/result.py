"""The engine's `Result`, typed: what one measured run of one protocol or policy tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from envs.mix import Shortfall, shortfalls
from envs.type_result import TypeResult

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Machine:
    """Where a result was measured.

    Attributes:
        kind: `threads` are real cores, `virtual` are simulated ones.
        cores: workers, one a core where there are as many.
        real_cores: that the process could use; None: it does not matter, or is not known.
    """

    kind: str
    cores: int
    real_cores: int | None = None

    @property
    def crowded(self) -> bool:
        """Whether workers took turns because there were fewer cores."""
        return self.real_cores is not None and self.cores > self.real_cores

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Machine:
        """Read what `as_dict` gives."""
        real = source.get("real_cores")
        return cls(
            str(source.get("kind", "threads")),
            int(source.get("cores", 0)),
            None if real is None else int(real),
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON values, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Arrivals:
    """How an open loop, whose transactions arrive by a clock of their own, was kept up with.

    Attributes:
        offered: transactions that arrived in the window, a second.
        backlog: how many had arrived by its end and were not begun.
        lag_us: how long the oldest of these had been there, µs; 0: there was none.
        idle_s: seconds in which workers had nothing to do, summed over workers.
    """

    offered: float = 0.0
    backlog: int = 0
    lag_us: float = 0.0
    idle_s: float = 0.0

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Arrivals:
        """Read the engine's `arrivals`."""
        return cls(
            offered=float(source.get("offered", 0.0)),
            backlog=int(source.get("backlog", 0)),
            lag_us=float(source.get("lag_us", 0.0)),
            idle_s=float(source.get("idle_s", 0.0)),
        )


@dataclass(frozen=True)
class Interval:
    """A part of the measured window. A transaction and its aborts count where it began.

    Attributes:
        start_s: since the window began, seconds.
        seconds: how long it was.
        commits: by transaction type.
        aborts: aborted attempts, likewise.
    """

    start_s: float
    seconds: float
    commits: dict[str, int]
    aborts: dict[str, int]

    @property
    def throughput(self) -> float:
        """Commits a second."""
        return sum(self.commits.values()) / self.seconds

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Interval:
        """Read one of the engine's `intervals`."""
        return cls(
            start_s=float(source["start_s"]),
            seconds=float(source["seconds"]),
            commits={str(name): int(count) for name, count in source["commits"].items()},
            aborts={str(name): int(count) for name, count in source["aborts"].items()},
        )


@dataclass(frozen=True)
class Schedule:
    """How transactions were scheduled, and what came of it; counts are transactions.

    Attributes:
        options: of the admission policy, as the engine takes them.
        hot: begun that named a hot key.
        cold: begun that named none, and so passed straight through.
        overtaking: begun before an older one.
        forced: begun because so many had overtaken it.
        deferred: times that one was put off.
        moved: drawn by one worker and left with another.
        held_s: seconds in which workers let time pass until a start, summed over workers.
    """

    options: dict[str, str] = field(default_factory=dict)
    hot: int = 0
    cold: int = 0
    overtaking: int = 0
    forced: int = 0
    deferred: int = 0
    moved: int = 0
    held_s: float = 0.0

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Schedule:
        """Read the engine's `schedule`."""
        counts = ("hot", "cold", "overtaking", "forced", "deferred", "moved")
        return cls(
            options={str(k): str(v) for k, v in source.get("options", {}).items()},
            **{name: int(source.get(name, 0)) for name in counts},
            held_s=float(source.get("held_s", 0.0)),
        )


@dataclass(frozen=True)
class SwitchMade:
    """A policy that the run went over to, and when: seconds since the window began."""

    at_s: float
    policy: str

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> SwitchMade:
        """Read one of the engine's `switches`."""
        return cls(float(source["at_s"]), str(source["policy"]))


_MEMORY = ("grown_bytes", "database_bytes", "resident_bytes")
"""What a result says of memory, as the engine names it."""


@dataclass(frozen=True)
class Result:
    """One measured run.

    Attributes:
        protocol: the concurrency control algorithm that ran.
        policy: name of the policy table, "" for a native protocol.
        workload: the workload's options, all strings.
        machine: where it ran.
        seed: of the workload's inputs.
        duration_s: length of the measured window, seconds.
        commits: transactions committed in the window.
        throughput: commits a second.
        mixed_throughput: commits a second if every type went on at its pace in the workload's own
            mix, which a short window may not show. On virtual cores 0 if some type that was begun
            has no commit; on real ones that type is taken to end with the window. In an open loop,
            `throughput`.
        abort_rate: aborted attempts ÷ all attempts, 0..1.
        types: by transaction type.
        aborts_by_reason: aborted attempts by reason.
        aborts_by_state: aborted attempts by policy state; the last element is those at commit.
        time_s: where the workers' time went, seconds summed over workers (`useful`, `waiting`,
            `wasted`, `backoff`, `commit`).
        waiting_by_state_s: seconds waited before each state's access, summed over workers.
        violations: consistency violations after the run, where they were asked for.
        arrivals: of an open loop; None for a closed one.
        schedule: how transactions were scheduled; None: they started as they were drawn.
        intervals: the window's parts, one after the other, where they were asked for.
        switches: policies that the run went over to in the window, as it was asked to.
        others: processors' time that other programs used of the real cores meanwhile; None: not
            known.
        grown_bytes: memory that the database grew by, warm-up included; None: not known.
        database_bytes: memory that the database holds afterwards; None: not known.
        resident_bytes: memory that the process has in use then; None on virtual cores.
        short_of_memory: whether the run was ended early because little memory was left.
    """

    protocol: str
    policy: str
    workload: dict[str, str]
    machine: Machine
    seed: int
    duration_s: float
    commits: int
    throughput: float
    abort_rate: float
    types: dict[str, TypeResult]
    aborts_by_reason: dict[str, int]
    aborts_by_state: list[int]
    time_s: dict[str, float]
    waiting_by_state_s: list[float]
    violations: list[str] = field(default_factory=list)
    mixed_throughput: float = 0.0
    arrivals: Arrivals | None = None
    schedule: Schedule | None = None
    intervals: list[Interval] = field(default_factory=list)
    switches: list[SwitchMade] = field(default_factory=list)
    others: float | None = None
    grown_bytes: int | None = None
    database_bytes: int | None = None
    resident_bytes: int | None = None
    short_of_memory: bool = False

    @property
    def kept_up(self) -> float | None:
        """Commits ÷ arrivals in the window; None for a closed loop, or if nothing arrived."""
        if self.arrivals is None or self.arrivals.offered == 0.0:
            return None
        return self.throughput / self.arrivals.offered

    @property
    def busy(self) -> float | None:
        """The share of the workers' time, 0..1, in which they had something to do; likewise."""
        available = self.machine.cores * self.duration_s
        if self.arrivals is None or available == 0.0:
            return None
        return max(0.0, 1 - self.arrivals.idle_s / available)

    @property
    def fitness(self) -> float:
        """What candidates are compared by, commits a second; nobody gains by putting a type off."""
        return self.mixed_throughput if self.in_mix else self.throughput

    @property
    def in_mix(self) -> bool:
        """Whether `fitness` is `mixed_throughput`.

        Windows on virtual cores are so short that transactions in a long backoff are missing from
        them. And where the workload follows a trace, a transaction that is held up holds back its
        session only: the other sessions are replayed meanwhile, and the mix is not kept.
        """
        follows_trace = any(one.share is not None for one in self.types.values())
        return self.machine.kind == "virtual" or (follows_trace and self.arrivals is None)

    @property
    def shortfalls(self) -> list[Shortfall]:
        """The types that the run left out of the workload's mix; see `envs.mix`."""
        return shortfalls(self.types, self.duration_s)

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Result:
        """Read the dictionary that `engine.Session.run` returns.

        Raises:
            ValueError: if it carries a schema version that this code does not know.
        """
        version = source.get("schema_version", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"the engine's result has schema_version {version}; this code reads "
                f"{SCHEMA_VERSION}: rebuild the engine from the same source"
            )
        memory = source.get("memory", {})
        others = source.get("others")
        aborts = source.get("aborts", {})
        arrivals = source.get("arrivals")
        schedule = source.get("schedule")
        return cls(
            protocol=str(source.get("protocol", "")),
            policy=str(source.get("policy", "")),
            workload={str(k): str(v) for k, v in source.get("workload", {}).items()},
            machine=Machine.from_dict(source.get("machine", {})),
            seed=int(source.get("seed", 0)),
            duration_s=float(source.get("duration_s", 0.0)),
            commits=int(source.get("commits", 0)),
            throughput=float(source.get("throughput", 0.0)),
            mixed_throughput=float(source.get("mixed_throughput", 0.0)),
            abort_rate=float(source.get("abort_rate", 0.0)),
            types={name: TypeResult.from_dict(t) for name, t in source.get("types", {}).items()},
            aborts_by_reason={k: int(v) for k, v in aborts.get("by_reason", {}).items()},
            aborts_by_state=[int(n) for n in aborts.get("by_state", [])],
            time_s={k: float(v) for k, v in source.get("time_s", {}).items()},
            waiting_by_state_s=[float(s) for s in source.get("waiting_by_state_s", [])],
            violations=[str(line) for line in source.get("violations", [])],
            arrivals=None if arrivals is None else Arrivals.from_dict(arrivals),
            schedule=None if schedule is None else Schedule.from_dict(schedule),
            intervals=[Interval.from_dict(one) for one in source.get("intervals", [])],
            switches=[SwitchMade.from_dict(one) for one in source.get("switches", [])],
            others=None if others is None else float(others),
            **{name: int(memory[name]) for name in _MEMORY if name in memory},
            short_of_memory=bool(memory.get("short", False)),
        )

    def as_dict(self) -> dict[str, Any]:
        """The result in the engine's own schema, which `from_dict` reads."""
        plain = asdict(self)
        for one in plain["types"].values():
            if one["share"] is None:
                del one["share"]
        reasons, states = plain.pop("aborts_by_reason"), plain.pop("aborts_by_state")
        aborts = {"by_reason": reasons, "by_state": states}
        memory = {name: plain.pop(name) for name in _MEMORY}
        short = plain.pop("short_of_memory")
        if memory["grown_bytes"] is not None:
            known = {name: size for name, size in memory.items() if size is not None}
            plain["memory"] = known | {"short": short}
        if plain["others"] is None:
            del plain["others"]
        plain["machine"] = self.machine.as_dict()
        for absent in ("arrivals", "schedule", "intervals", "switches"):
            if not plain[absent]:
                del plain[absent]
        return {"schema_version": SCHEMA_VERSION, **plain, "aborts": aborts}
