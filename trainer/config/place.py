"""Where something runs, and what: the machine, the workload, the seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from policies.schedule import schedule_texts


@dataclass
class MachineConfig:
    """Where policies run.

    Attributes:
        kind: `threads`: real pinned threads; `virtual`: simulated cores.
        cores: how many; null = every core that the process may use.
    """

    kind: str = MISSING
    cores: int | None = None

    def options(self) -> dict[str, str]:
        """The machine as the engine takes it."""
        return {"kind": self.kind}


@dataclass
class CostsConfig:
    """What a virtual core pays (engine/machine/cost_model.h); nanoseconds unless named otherwise.

    Attributes:
        cores_per_socket: cores that share a cache.
        word_ns: the engine's instructions around an access to a shared word …
        lookup_ns: … where a procedure looks a row up …
        insert_ns: … where it inserts one …
        row_ns: … where it goes on with a row it has, or a scan comes to one …
        control_ns: … where concurrency control beyond Silo's acts (a policy's row, a lock; twice
            at a publication point) …
        transaction_ns: … and once a transaction.
        shared_hit_ns: a cache line from the socket's shared cache.
        memory_ns: from memory.
        transfer_ns: from another core's cache, or taken away from it, in the same socket …
        far_transfer_ns: … and across sockets.
        exposed: share of a load's latency that the core waits for, 0..1.
        stream_ns: each line of a copy behind its first.
        atomic_ns: a locked instruction, beyond its access.
        pause_ns: one pause in a spinning wait.
        private_lines: lines of 64 bytes in a core's own cache, a power of two.
        shared_lines: in a socket's shared cache, likewise.
    """

    cores_per_socket: int = MISSING
    word_ns: float = MISSING
    lookup_ns: float = MISSING
    insert_ns: float = MISSING
    row_ns: float = MISSING
    control_ns: float = MISSING
    transaction_ns: float = MISSING
    shared_hit_ns: float = MISSING
    memory_ns: float = MISSING
    transfer_ns: float = MISSING
    far_transfer_ns: float = MISSING
    exposed: float = MISSING
    stream_ns: float = MISSING
    atomic_ns: float = MISSING
    pause_ns: float = MISSING
    private_lines: int = MISSING
    shared_lines: int = MISSING


@dataclass
class VirtualConfig(MachineConfig):
    """Cores simulated in virtual time.

    Attributes:
        seed: decides which of two cores goes first whose clocks are equal, and what a schedule
            other than `clock` draws.
        skew_ns: how far a core may run ahead of the others before it gives way, ns.
        schedule: who goes on: `clock`: the core whose clock is lowest; `delays`: likewise, but
            now and then a core is held up; `priorities`: the core of the highest of random
            priorities.
        delay_every: of `delays`: accesses between two, on average.
        delay_us: … the longest, µs of virtual time.
        depth: of `priorities`: one more than the changes of priority in a stretch.
        steps: … accesses in a stretch.
        rescue: whether a parked core looks up by itself now and then; null = under `clock` only.
        costs: what an access costs.
    """

    seed: int = 1
    skew_ns: float = MISSING
    schedule: str = MISSING
    delay_every: int = MISSING
    delay_us: float = MISSING
    depth: int = MISSING
    steps: int = MISSING
    rescue: bool | None = None
    costs: CostsConfig = field(default_factory=CostsConfig)

    def options(self) -> dict[str, str]:
        """The machine as the engine takes it."""
        plain = {
            "kind": self.kind,
            "seed": self.seed,
            "skew_ns": self.skew_ns,
            "schedule": self.schedule,
            "delay_every": self.delay_every,
            "delay_us": self.delay_us,
            "depth": self.depth,
            "steps": self.steps,
        }
        if self.rescue is not None:
            plain["rescue"] = str(self.rescue).lower()
        return {key: str(value) for key, value in (plain | asdict(self.costs)).items()}


@dataclass
class ScheduleConfig:
    """Which transaction a worker starts next (docs/admission.md).

    Attributes:
        policy: `fifo`, `smf`, `tsdefer` or `partition`.
        window: transactions in flight a worker.
        k: how many of them smf looks at; 0 = all.
        barrier: how many may overtake a transaction.
        hot: a key is hot that this share of the transactions names; 0 = every hint is.
        classifier: the file of what foretells hot keys (`heddle schedule classify`); null = the
            hints alone do.
        wrong_hints: the share of the transactions that is taken for another of its type, of any
            worker.
        defer: with what probability tsdefer puts off what would conflict.
        rules: when conflicts end: `occ`, `lock`, `mvtso`, or `auto`: `lock` under
            `two_phase_locking` and `occ` under all others.
        probe_us: how long the spans are in which it is found out whether scheduling pays, µs; 0 =
            that is taken for granted.
        unscheduled: types whose transactions start as they are drawn.
    """

    policy: str = MISSING
    window: int = MISSING
    k: int = MISSING
    barrier: int = MISSING
    hot: float = MISSING
    classifier: str | None = None
    wrong_hints: float = MISSING
    defer: float = MISSING
    rules: str = MISSING
    probe_us: float = MISSING
    unscheduled: list[str] = MISSING

    def options(self) -> dict[str, str]:
        """The schedule as the engine takes it.

        Raises:
            PolicyFileError: there is no such classifier.
        """
        found = asdict(self)
        del found["classifier"]
        if self.classifier is not None:
            from trainer.classifier.document import read_classifier

            found["classifier"] = read_classifier(Path(self.classifier))
        return schedule_texts(found)


@dataclass
class PlaceConfig:
    """What every command shares that runs a workload.

    Attributes:
        workload: its name and options, as the engine takes them.
        machine: where.
        seed: of the population, the inputs, and whatever else is drawn.
    """

    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seed: int = 1


def workload_options(workload: dict[str, Any]) -> dict[str, str]:
    """The workload as the engine takes it: all values as text."""
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in workload.items()
        if value is not None
    }
