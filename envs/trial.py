"""Trials: runs that are recorded and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from envs.anomalies import PERMITTED
from envs.engine_interface import load_engine
from envs.run_options import run_options
from envs.subject import Subject
from envs.workload import engine_workload
from policies.protocol import SERIALIZABLE

SCHEMA_VERSION = 1


def _engine_default(name: str) -> Any:
    """Return the default of a field of the engine's run options."""
    return getattr(load_engine().RunOptions(), name)


@dataclass(frozen=True)
class Trial:
    """Everything that a run depends on. On virtual cores the same trial is the same run.

    Attributes:
        workload: name of the workload under `name`, and its options; all values are strings.
        cores: number of workers, one per core.
        seed: seed of the population and the inputs.
        machine: kind of the machine under `kind`, and its options; all values are strings.
        subject: the protocol or policy to run.
        seconds: length of the run in seconds (virtual ones on virtual cores).
        switches: texts of the policy files that the run switches to, one after the other.
        watchdog_s: time limit in seconds for a worker to end an attempt.
        epoch_us: length of an epoch in µs. With short ones memory is freed and snapshots are taken
            often.
        exclusive_after: aborts in a row after which a transaction runs without others; 0 = never.
        isolation: level at which the history is checked (`envs.anomalies.PERMITTED`). Below
            `serializable` the workload's consistency conditions are not.
    """

    workload: dict[str, str]
    cores: int
    seed: int
    machine: dict[str, str]
    subject: Subject
    seconds: float
    switches: tuple[str, ...] = ()
    watchdog_s: float = field(default_factory=lambda: _engine_default("watchdog_s"))
    epoch_us: float = field(default_factory=lambda: _engine_default("epoch_us"))
    exclusive_after: int = field(default_factory=lambda: _engine_default("exclusive_after"))
    isolation: str = SERIALIZABLE

    def run_fields(self) -> dict[str, Any]:
        """Return the fields of the engine's run options that do not depend on the subject."""
        return {
            "seconds": self.seconds,
            "seed": self.seed,
            "watchdog_s": self.watchdog_s,
            "epoch_us": self.epoch_us,
            "exclusive_after": self.exclusive_after,
        }

    def to_json(self) -> str:
        """Return the trial as a JSON document, which `from_json` reads."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Trial:
        """Read a JSON document that `to_json` returned.

        Raises:
            ValueError: the document has another form; the message says where.
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise ValueError(f"is not JSON: {error}") from None
        if not isinstance(document, dict) or document.pop("schema_version", None) is None:
            raise ValueError("is not a trial: it has no schema_version")
        try:
            return _trial_of(document)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"is not a trial: {error}") from None


@dataclass(frozen=True)
class Verdict:
    """The result of a trial.

    Attributes:
        findings: a text for each fault: anomalies, stuck workers, violated conditions, starved
            types, a process that died. Empty without a fault.
        report: counts of the checker; empty if the check was not reached.
        grown_bytes: growth of the database in bytes after reclamation.
    """

    findings: tuple[str, ...]
    report: Mapping[str, Any] = field(default_factory=dict)
    grown_bytes: int = 0

    @classmethod
    def of(cls, outcome: Mapping[str, Any]) -> Verdict:
        """Read the dictionary that the engine's `run_trial` returns."""
        return cls(tuple(outcome["findings"]), outcome["report"], outcome["grown_bytes"])

    @property
    def transactions(self) -> int:
        """Number of transactions that ended and were checked."""
        return int(self.report.get("transactions", 0))

    @property
    def aborted(self) -> int:
        """Number of attempts that the protocol aborted."""
        return int(self.report.get("aborted", 0))


def run_trial(trial: Trial, *, history: Path | None = None) -> Verdict:
    """Run and check a trial in this process.

    Args:
        trial: the trial.
        history: path of a Parquet file for the history; None for no file.

    Raises:
        engine.PolicyError: the policy is not valid for the workload.
        ValueError: the trial is not valid; the message says why.
        OSError: the history cannot be written.
    """
    engine = load_engine()
    workload = engine_workload(trial.workload)
    signature = engine.signature(workload)
    subject = trial.subject
    policy = None if subject.policy is None else engine.Policy(subject.policy, signature)
    options = run_options(engine, subject, policy, **trial.run_fields())
    switches = [engine.Policy(text, signature) for text in trial.switches]
    outcome = engine.run_trial(
        workload, trial.cores, trial.seed, trial.machine, options, switches, trial.isolation
    )
    if history is not None and outcome["history"] is not None:
        from envs.history import History  # loads Arrow, which other trials do not need

        History.from_engine(outcome["history"]).save(history)
    return Verdict.of(outcome)


def _trial_of(document: dict[str, Any]) -> Trial:
    subject = Subject(**document.pop("subject"))
    switches = tuple(document.pop("switches"))
    for key, kind in {"workload": dict, "machine": dict, "cores": int, "seed": int}.items():
        if not isinstance(document[key], kind):
            raise TypeError(f"{key} must be a {kind.__name__}")
    if document.get("isolation", SERIALIZABLE) not in PERMITTED:
        raise TypeError(f"isolation must be one of {', '.join(PERMITTED)}")
    for key in ("workload", "machine"):
        if not all(isinstance(value, str) for value in document[key].values()):
            raise TypeError(f"all values of {key} must be strings")
    return Trial(subject=subject, switches=switches, **document)
