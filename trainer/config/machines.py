"""The settings of the commands that compare the two machines: calibrate, fidelity."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer.config.place import PlaceConfig


@dataclass
class CalibrateConfig:
    """`heddle machine calibrate`.

    Attributes:
        output: file to write the costs to; `machine/costs=FILE` uses it.
        seconds: length of one slice on a real core.
        rounds: slices of each case.
        virtual_seconds: length of one run on a virtual core.
    """

    output: str | None = None
    seconds: float = 0.1
    rounds: int = 15
    virtual_seconds: float = 0.02


@dataclass
class FidelityConfig(PlaceConfig):
    """`heddle machine compare`; `machine` is the virtual one, and as many real cores are used.

    Attributes:
        policy: policies to run on both machines, in addition to `random` and `mutated` tables.
        random: number of random tables.
        mutated: number of mutants of the tables in `policy`.
        reference: policy that throughput is relative to.
        seconds: length of a slice on real cores.
        rounds: slices of each policy on real cores.
        warmup: unmeasured seconds before each slice.
        virtual_seconds: length of a run on virtual cores.
        virtual_rounds: runs of each policy on virtual cores.
        virtual_warmup: unmeasured seconds before each run.
        output: folder for fidelity.json and fidelity.png.
    """

    policy: list[str] = field(default_factory=list)
    random: int = 12
    mutated: int = 24
    reference: str = "silo"
    seconds: float = 0.05
    rounds: int = 16
    warmup: float = 0.005
    virtual_seconds: float = 0.03
    virtual_rounds: int = 2
    virtual_warmup: float = 0.005
    output: str | None = None
