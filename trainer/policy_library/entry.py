"""A table of the library: a policy file whose provenance has its measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from policies import PolicyDocument, PolicyFileError, load
from policies.policy_digest import policy_digest
from trainer.policy_library.measuring import Measurement, Scores
from trainer.policy_library.naming import invalid_name_reason
from trainer.run_version import heddle_version
from trainer.shell_words import heddle_command

RECORD = "library"
"""The field of the provenance with the measurement of `heddle policy add`."""


@dataclass(frozen=True)
class Entry:
    """A table of the library.

    Attributes:
        path: the file.
        document: the policy.
        measurement: how it was measured when it was added.
        scores: the result: the value of its objective relative to each baseline.
        digest: of the measured policy.
        date: of the measurement, ISO 8601.
    """

    path: Path
    document: PolicyDocument
    measurement: Measurement
    scores: Mapping[str, float]
    digest: str
    date: str

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
    """Read a table of the library, without checking that it fits its workload.

    Raises:
        PolicyFileError: the file is no valid policy, or has no measurement.
    """
    document = load(path)
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
        recorded = [record[name] for name in ("digest", "date")]
        return Entry(path, document, measurement, plain, *recorded)
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyFileError(
            f"{path}: provenance: {error}; {adding(path)} measures it and writes one"
        ) from error


def adding(path: Path) -> str:
    """Return the command that measures a table and rewrites its file.

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
    provenance = dict(document.provenance) | {
        "workload": how.workload,
        "machine": {"kind": how.machine["kind"], "cores": how.cores},
        "scores": {name: round(score, 4) for name, score in scores.to.items()},
        RECORD: {
            "digest": policy_digest(document),
            "measured": how.as_dict(),
            "lowest": {name: round(ratio, 4) for name, ratio in scores.lowest.items()},
            "version": heddle_version(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }
    return replace(document, name=name, provenance=provenance)
