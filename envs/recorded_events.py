"""Recorded events of a run, as arrays.

`envs.timeline` makes objects of the events of a short run. Here they stay numbers, for an analysis
of millions of them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.result import Machine
from policies import Signature

EVENT = np.dtype(
    [
        ("time", "<u8"),
        ("number", "<u8"),
        ("subject", "<u4"),
        ("core", "<u2"),
        ("what", "<u2"),
    ]
)
"""An event as the engine keeps it (`TimelineEvent`, engine/machine/timeline.h)."""


@dataclass(frozen=True)
class Selection:
    """The part of a run on real cores that is recorded.

    Attributes:
        share: share of the time, above 0 and at most 1. Transactions that begin in it are recorded.
        types: types whose accesses are recorded, each as a step; None for all types.
    """

    share: float = 1.0
    types: frozenset[str] | None = None

    def has_accesses_of(self, name: str) -> bool:
        """Whether the accesses of a type are recorded."""
        return self.types is None or name in self.types

    def skipped_states(self, signature: Signature) -> list[int]:
        """Return the states whose accesses are not recorded."""
        return [
            state
            for state in range(len(signature.accesses))
            if not self.has_accesses_of(signature.type_of(state).name)
        ]


WHOLE = Selection()
"""All transactions and accesses, as on virtual cores."""


@dataclass(frozen=True)
class RecordedEvents:
    """The events of a run, in the order in which the machine executed them.

    Attributes:
        subject: name of the protocol or policy.
        machine: the machine.
        signature: signature of the workload.
        types: names of the transaction types, by number.
        tables: names of the tables, by number.
        whats: names of the kinds of events, by number (engine/protocol/timeline.h).
        events: the events, with the fields of `EVENT`; times are ticks.
        unknown_core: the `subject` of a spinning wait for an unknown core.
        ticks_per_us: ticks of a microsecond.
        began: the time at which the measured window began, in ticks.
        dropped: number of events beyond the limit, which were not recorded.
        commits: number of transactions that the engine counted, by type.
        latency_us: their mean latency as the engine measured it, in µs, by type.
        selection: the part of the run that the events are from.
    """

    subject: str
    machine: Machine
    signature: Signature
    types: tuple[str, ...]
    tables: tuple[str, ...]
    whats: tuple[str, ...]
    events: NDArray[Any]
    unknown_core: int
    ticks_per_us: float
    began: int
    dropped: int
    commits: Mapping[str, int]
    latency_us: Mapping[str, float]
    selection: Selection = WHOLE

    @classmethod
    def from_result(
        cls,
        result: Mapping[str, Any],
        subject: str,
        signature: Signature,
        selection: Selection = WHOLE,
    ) -> RecordedEvents:
        """Read the field `timeline` of a run's result (`engine/observe/recorded_timeline.h`).

        Args:
            result: dictionary that `engine.Session.run` returned, with `timeline_packed` set.
            subject: name of the protocol or policy.
            signature: signature of the workload.
            selection: the part of the run that was recorded.
        """
        recorded = result["timeline"]
        types: Mapping[str, Mapping[str, Any]] = result["types"]
        return cls(
            subject=subject,
            machine=Machine.from_dict(result["machine"]),
            signature=signature,
            types=tuple(types),
            tables=tuple(recorded["tables"]),
            whats=tuple(recorded["whats"]),
            events=np.frombuffer(base64.b64decode(recorded["packed"]), dtype=EVENT),
            unknown_core=int(recorded["nobody"]),
            ticks_per_us=float(recorded["ticks_per_us"]),
            began=int(recorded["began"]),
            dropped=int(recorded["dropped"]),
            commits={name: int(kind["commits"]) for name, kind in types.items()},
            latency_us={
                name: float((kind["latency_us"] or {"mean": 0.0})["mean"])
                for name, kind in types.items()
            },
            selection=selection,
        )

    @property
    def cores(self) -> int:
        """The number of cores."""
        return self.machine.cores

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The numbers of the kinds of events, by name."""
        return {name: number for number, name in enumerate(self.whats)}

    @property
    def length_us(self) -> float:
        """Time from the begin of the window to the last event, in µs."""
        if self.events.size == 0:
            return 0.0
        return float(int(self.events["time"].max()) - self.began) / self.ticks_per_us
