"""Settings of the machine, the workload, the schedule and the seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from policies.schedule import schedule_texts


@dataclass
class MachineConfig:
    """The machine.

    Attributes:
        kind: `threads`: real pinned threads; `virtual`: simulated cores.
        cores: number of cores; null = every core that the process may use.
    """

    kind: str = MISSING
    cores: int | None = None

    def options(self) -> dict[str, str]:
        """Return the machine's options in the engine's form."""
        return {"kind": self.kind}


@dataclass
class CostsConfig:
    """The costs of a virtual core; the engine declares their meaning (`machine/costs`).

    Files of earlier versions lack `fetches`.
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
    """Cores simulated in virtual time; the engine declares the settings' meaning (`machine`).

    Attributes:
        costs: the costs of a core.
    """

    seed: int = MISSING
    skew_ns: float = MISSING
    schedule: str = MISSING
    delay_every: int = MISSING
    delay_us: float = MISSING
    delay_state: int | None = None
    depth: int = MISSING
    steps: int = MISSING
    rescue: bool | None = None
    costs: CostsConfig = field(default_factory=CostsConfig)

    def options(self) -> dict[str, str]:
        """Return the machine's options in the engine's form."""
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
        if self.delay_state is not None:
            plain["delay_state"] = self.delay_state
        return {key: str(value) for key, value in (plain | asdict(self.costs)).items()}


@dataclass
class ScheduleConfig:
    """The schedule of transactions; the engine declares the settings' meaning (`schedule`).

    Attributes:
        classifier: a file, whose content the engine takes.
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
    until: str = MISSING
    probe_us: float = MISSING
    unscheduled: list[str] = MISSING

    def options(self) -> dict[str, str]:
        """Return the schedule's options in the engine's form.

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
    """The settings of every command that runs a workload.

    Attributes:
        workload: its name and options, in the engine's form.
        machine: the machine.
        seed: of the population, the inputs, and all other random numbers.
    """

    workload: dict[str, Any] = field(default_factory=dict)
    machine: MachineConfig = field(default_factory=MachineConfig)
    seed: int = 1


def workload_options(workload: dict[str, Any]) -> dict[str, str]:
    """Return the workload's options in the engine's form: all values as text."""
    return {
        str(key): _option_text(value)
        for key, value in workload.items()
        if value is not None and value != []
    }


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
