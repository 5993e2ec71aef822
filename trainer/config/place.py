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
    """What a virtual core pays; the engine declares what each is (`machine/costs`).

    Files that were written before rows were fetched ahead say nothing of `fetches`.
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
    fetches: int = 0
    stream_ns: float = MISSING
    atomic_ns: float = MISSING
    pause_ns: float = MISSING
    private_lines: int = MISSING
    shared_lines: int = MISSING


@dataclass
class VirtualConfig(MachineConfig):
    """Cores simulated in virtual time; the engine declares what each setting is (`machine`).

    Attributes:
        costs: what an access costs.
    """

    seed: int = MISSING
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
    """Which transaction a worker starts next; the engine declares what each is (`schedule`).

    Attributes:
        classifier: a file, where the engine takes what is in it.
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
