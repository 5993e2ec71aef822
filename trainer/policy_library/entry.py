"""A policy of the library: a policy file whose provenance has its measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from envs import machine_words
from envs.host import Host, this_host
from envs.result import Machine
from policies import PolicyDocument, PolicyFileError, load, validate
from policies.policy_digest import policy_digest
from policies.protocol import EXTERNAL, protocol_name, without_places
from trainer.policy_library.measuring import Measurement, Scores
from trainer.policy_library.naming import invalid_name_reason
from trainer.run_version import heddle_version
from trainer.shell_words import heddle_command

RECORD = "library"
"""The field of the provenance with the measurement of `heddle policy add`."""


@dataclass(frozen=True)
class Entry:
    """A policy of the library.

    Attributes:
        path: the file.
        document: the policy.
        measurement: how it was measured when it was added.
        scores: the result: the value of its objective relative to each baseline.
        digest: of the measured policy.
        date: of the measurement, ISO 8601.
        hardware: in front of a store, what the scores were measured on, in words; else empty.
    """

    path: Path
    document: PolicyDocument
    measurement: Measurement
    scores: Mapping[str, float]
    digest: str
    date: str
    hardware: str = ""

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @property
    def best_baseline(self) -> str:
        """The fastest baseline when it was added."""
        return min(self.scores, key=lambda name: self.scores[name])

    @property
    def margin(self) -> float:
        """Throughput relative to the best baseline, when it was added."""
        return self.scores[self.best_baseline]

    @property
    def changed(self) -> bool:
        """Whether the policy differs from the measured one."""
        return policy_digest(self.document) != self.digest


def read_entry(path: Path) -> Entry:
    """Read a policy of the library, without checking that it fits its workload.

    One for a store is read by builds without the store, too; `measure_scores` checks it.

    Raises:
        PolicyFileError: the file is no valid policy, or has no measurement.
    """
    document = load(path, check=False)
    if protocol_name(document.protocol) != EXTERNAL:
        validate(document, source=str(path))
    record = document.provenance.get(RECORD)
    scores = document.provenance.get("scores")
    try:
        if not isinstance(record, Mapping):
            raise ValueError(f"has no field {RECORD}")
        if not isinstance(scores, Mapping) or not scores:
            raise ValueError("has no scores")
        measurement = Measurement.from_dict(record.get("measured"))
        plain = {str(name): float(score) for name, score in scores.items()}
        for name in ("digest", "date"):
            if not isinstance(record.get(name), str) or not record[name]:
                raise ValueError(f"{RECORD}.{name} is missing")
        hardware = "" if measurement.store is None else _hardware(measurement, record)
        return Entry(path, document, measurement, plain, record["digest"], record["date"], hardware)
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyFileError(
            f"{path}: provenance: {error}; {adding(path)} measures it and writes one"
        ) from error


def _hardware(how: Measurement, record: Mapping[str, Any]) -> str:
    """Return the machine, the hardware and the load of a measurement on real cores.

    Raises:
        TypeError, ValueError: the record lacks them.
    """
    host, cores, busy = (record.get(name) for name in ("host", "real_cores", "busy"))
    if not isinstance(host, Mapping) or not isinstance(cores, int):
        raise ValueError(f"{RECORD}.host or {RECORD}.real_cores is missing")
    load = "" if busy is None else f"; other programs used {float(busy):.1f} cores"
    machine = machine_words(Machine(how.machine["kind"], how.cores, cores))
    return f"{how.machine['kind']}, {machine}: {Host.from_dict(host).words}{load}"


def adding(path: Path) -> str:
    """Return the command that measures a policy and rewrites its file.

    If `add` does not accept the file's name, it writes a new file named after the table's place.
    """
    where: list[object] = ["--folder", path.parent]
    if invalid_name_reason(path.stem) is None:
        where += ["--name", path.stem, "--replace"]
    return heddle_command("policy", "add", path, *where)


def with_record(
    document: PolicyDocument, name: str, how: Measurement, scores: Scores
) -> PolicyDocument:
    """Return a policy with a new measurement in its provenance."""
    measured_on: dict[str, Any] = {}
    machine = {"kind": how.machine["kind"], "cores": how.cores}
    if how.store is not None:
        # Figures of a store depend on the hardware; its place is of this machine only.
        assert scores.machine is not None
        assert document.protocol is not None
        machine = scores.machine.as_dict()
        options = without_places(document.protocol["options"])
        document = replace(document, protocol={**document.protocol, "options": options})
        measured_on = {
            "isolation": how.isolation,
            "host": this_host().as_dict(),
            "real_cores": scores.machine.real_cores,
            "busy": None if scores.busy is None else round(scores.busy, 2),
        }
    provenance = dict(document.provenance) | {
        "workload": how.workload,
        "machine": machine,
        "scores": {name: round(score, 4) for name, score in scores.to.items()},
        RECORD: {
            "digest": policy_digest(document),
            "measured": how.as_dict(),
            "lowest": {name: round(ratio, 4) for name, ratio in scores.lowest.items()},
            **measured_on,
            "version": heddle_version(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }
    return replace(document, name=name, provenance=provenance)
