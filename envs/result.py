"""The result of a run of one protocol or policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from envs.mix import Shortfall, shortfalls
from envs.type_result import TypeResult

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Machine:
    """The machine that a result was measured on.

    Attributes:
        kind: `threads` for real cores, `virtual` for simulated ones.
        cores: number of workers, one per core if there are enough cores.
        real_cores: number of real cores that the process could use; None on virtual cores, or if
            unknown.
    """

    kind: str
    cores: int
    real_cores: int | None = None

    @property
    def crowded(self) -> bool:
        """Whether there were fewer real cores than workers."""
        return self.real_cores is not None and self.cores > self.real_cores

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Machine:
        """Read the JSON values that `as_dict` returns."""
        real = source.get("real_cores")
        return cls(
            str(source.get("kind", "threads")),
            int(source.get("cores", 0)),
            None if real is None else int(real),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the known attributes as JSON values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of an open loop, in which transactions arrive independently of the workers.

    Attributes:
        offered: transactions per second that arrived in the window.
        backlog: transactions that had arrived by the end of the window and were not begun.
        lag_us: waiting time of the oldest of these in µs; 0 without a backlog.
        idle_s: time without work in seconds, summed over the workers.
    """

    offered: float = 0.0
    backlog: int = 0
    lag_us: float = 0.0
    idle_s: float = 0.0

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Arrivals:
        """Read the field `arrivals` of the engine's result."""
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
        start_s: begin of the interval, in seconds since the window began.
        seconds: length of the interval in seconds.
        commits: commits by transaction type.
        aborts: aborted attempts by transaction type.
    """

    start_s: float
    seconds: float
    commits: dict[str, int]
    aborts: dict[str, int]

    @property
    def throughput(self) -> float:
        """Commits per second."""
        return sum(self.commits.values()) / self.seconds

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Interval:
        """Read one entry of the field `intervals` of the engine's result."""
        return cls(
            start_s=float(source["start_s"]),
            seconds=float(source["seconds"]),
            commits={str(name): int(count) for name, count in source["commits"].items()},
            aborts={str(name): int(count) for name, count in source["aborts"].items()},
        )


@dataclass(frozen=True)
class Schedule:
    """The counters of an admission policy; they count transactions.

    Attributes:
        options: options of the admission policy.
        hot: begun with a hot key.
        cold: begun without a hot key, and so without a delay.
        overtaking: begun before an older one.
        forced: begun because the maximum number of others had overtaken it.
        deferred: number of deferrals.
        moved: drawn by one worker and passed to another.
        held_s: time in seconds that workers waited for a start, summed over the workers.
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
        """Read the field `schedule` of the engine's result."""
        counts = ("hot", "cold", "overtaking", "forced", "deferred", "moved")
        return cls(
            options={str(k): str(v) for k, v in source.get("options", {}).items()},
            **{name: int(source.get(name, 0)) for name in counts},
            held_s=float(source.get("held_s", 0.0)),
        )


@dataclass(frozen=True)
class SwitchMade:
    """A switch to another policy during a run.

    Attributes:
        at_s: time of the switch, in seconds since the window began.
        policy: name of the new policy.
    """

    at_s: float
    policy: str

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> SwitchMade:
        """Read one entry of the field `switches` of the engine's result."""
        return cls(float(source["at_s"]), str(source["policy"]))


_MEMORY = ("grown_bytes", "database_bytes", "resident_bytes")
"""The figures in the field `memory` of the engine's result."""


@dataclass(frozen=True)
class Result:
    """The result of one run.

    Attributes:
        protocol: name of the protocol that ran.
        policy: name of the policy table; "" for a native protocol.
        workload: name and options of the workload; all values are strings.
        machine: the machine that it was measured on.
        seed: seed of the inputs.
        duration_s: length of the measured window in seconds.
        commits: transactions committed in the window.
        throughput: commits per second.
        mixed_throughput: commits per second in the workload's own mix, if every type continued at
            its measured pace. A short window may have another mix. If a type was begun but has no
            commit, the figure is 0 on virtual cores; on real cores the type is assumed to commit at
            the end of the window. In an open loop it is `throughput`.
        abort_rate: aborted attempts divided by all attempts, 0 to 1.
        types: figures by transaction type.
        aborts_by_reason: aborted attempts by abort reason.
        aborts_by_state: aborted attempts by state; the last element is the commit.
        time_s: the workers' time in seconds, summed over the workers, by use (`useful`, `waiting`,
            `wasted`, `backoff`, `commit`).
        waiting_by_state_s: time waited before each state's access in seconds, summed over the
            workers.
        violations: violated consistency conditions after the run, if they were checked.
        arrivals: figures of an open loop; None for a closed one.
        schedule: counters of the admission policy; None if transactions start as they are drawn.
        intervals: parts of the window, if they were requested.
        switches: switches of policies in the window.
        others: real cores that other programs used on average; None if unknown.
        grown_bytes: growth of the database in bytes, warm-up included; None if unknown.
        database_bytes: size of the database after the run in bytes; None if unknown.
        resident_bytes: resident memory of the process after the run in bytes; None on virtual
            cores.
        short_of_memory: whether the run ended early for lack of memory.
        syncs: how often an external store waited in the window until data was on disk; None without
            one.
        round_trips: how often workers waited in the window for an answer of an external store's
            server; None without a server.
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
    syncs: int | None = None
    round_trips: int | None = None

    @property
    def kept_up(self) -> float | None:
        """Commits divided by arrivals; None for a closed loop, or if nothing arrived."""
        if self.arrivals is None or self.arrivals.offered == 0.0:
            return None
        return self.throughput / self.arrivals.offered

    @property
    def busy(self) -> float | None:
        """Share of the workers' time with work to do, 0 to 1; None for a closed loop."""
        available = self.machine.cores * self.duration_s
        if self.arrivals is None or available == 0.0:
            return None
        return max(0.0, 1 - self.arrivals.idle_s / available)

    @property
    def fitness(self) -> float:
        """The figure that policies are compared by, in commits per second.

        It is `mixed_throughput` if `in_mix`, so that delaying a slow type has no benefit, else
        `throughput`.
        """
        return self.mixed_throughput if self.in_mix else self.throughput

    @property
    def in_mix(self) -> bool:
        """Whether `fitness` is `mixed_throughput`.

        This holds on virtual cores, whose windows are so short that transactions in a long backoff
        are missing. It also holds if the workload replays a trace in a closed loop: a slow
        transaction delays only its own session, so the mix of the other sessions is not kept. The
        same holds if some workers run one type only.
        """
        given = any(
            result.share is not None or result.weight is not None for result in self.types.values()
        )
        return self.machine.kind == "virtual" or (given and self.arrivals is None)

    @property
    def shortfalls(self) -> list[Shortfall]:
        """The types that commit too rarely for the workload's mix; see `envs.mix`."""
        return shortfalls(self.types, self.duration_s)

    @classmethod
    def from_dict(cls, source: Mapping[str, Any]) -> Result:
        """Read the dictionary that `engine.Session.run` returns.

        Raises:
            ValueError: the dictionary has another schema version.
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
        syncs = source.get("syncs")
        round_trips = source.get("round_trips")
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
            intervals=[Interval.from_dict(entry) for entry in source.get("intervals", [])],
            switches=[SwitchMade.from_dict(entry) for entry in source.get("switches", [])],
            others=None if others is None else float(others),
            **{name: int(memory[name]) for name in _MEMORY if name in memory},
            short_of_memory=bool(memory.get("short", False)),
            syncs=None if syncs is None else int(syncs),
            round_trips=None if round_trips is None else int(round_trips),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result in the engine's schema, which `from_dict` reads."""
        plain = asdict(self)
        for figures in plain["types"].values():
            for absent in ("share", "weight", "backoff_us", "oldest_us"):
                if figures[absent] is None:
                    del figures[absent]
        reasons, states = plain.pop("aborts_by_reason"), plain.pop("aborts_by_state")
        aborts = {"by_reason": reasons, "by_state": states}
        memory = {name: plain.pop(name) for name in _MEMORY}
        short = plain.pop("short_of_memory")
        if memory["grown_bytes"] is not None:
            known = {name: size for name, size in memory.items() if size is not None}
            plain["memory"] = known | {"short": short}
        for absent in ("others", "syncs", "round_trips"):
            if plain[absent] is None:
                del plain[absent]
        plain["machine"] = self.machine.as_dict()
        for absent in ("arrivals", "schedule", "intervals", "switches"):
            if not plain[absent]:
                del plain[absent]
        return {"schema_version": SCHEMA_VERSION, **plain, "aborts": aborts}
