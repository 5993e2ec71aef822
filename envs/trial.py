"""A run that is recorded and checked: what went in, and whatever was wrong with what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from envs.engine_interface import load_engine
from envs.run_options import run_options
from envs.subject import Subject
from envs.workload import engine_workload

SCHEMA_VERSION = 1


def _engine_default(name: str) -> Any:
    """The engine's default of a field of its run options."""
    return getattr(load_engine().RunOptions(), name)


@dataclass(frozen=True)
class Trial:
    """Everything that a run depends on: on virtual cores, the same trial is the same run.

    Attributes:
        workload: its name under "name", and its options; all values strings.
        cores: workers, one a core.
        seed: of the population and the inputs.
        machine: its kind under "kind", and its options; all values strings.
        subject: what runs.
        seconds: how long, on virtual cores virtual ones.
        switches: policy files' texts that the running executor is given one after the other.
        watchdog_s: no worker may go so long without ending an attempt.
        epoch_us: how long an epoch lasts; short ones free memory and take snapshots often.
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

    def run_fields(self) -> dict[str, Any]:
        """The fields of the engine's run options that are not the subject's."""
        return {
            "seconds": self.seconds,
            "seed": self.seed,
            "watchdog_s": self.watchdog_s,
            "epoch_us": self.epoch_us,
        }

    def to_json(self) -> str:
        """As a document that `from_json` reads."""
        return json.dumps({"schema_version": SCHEMA_VERSION, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Trial:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is no such document; the message says where.
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
    """What came of a trial.

    Attributes:
        findings: a text for everything that was wrong: anomalies, stuck workers, violated
            conditions, starved types, a process that died. Empty: nothing was.
        report: what the checker counted; empty if it did not come to that.
        grown_bytes: by which the database had grown once all that can be was reclaimed.
    """

    findings: tuple[str, ...]
    report: Mapping[str, Any] = field(default_factory=dict)
    grown_bytes: int = 0

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Verdict:
        """What the engine says."""
        return cls(tuple(told["findings"]), told["report"], told["grown_bytes"])

    @property
    def transactions(self) -> int:
        """Transactions that ended and were checked."""
        return int(self.report.get("transactions", 0))

    @property
    def aborted(self) -> int:
        """Attempts that the protocol aborted."""
        return int(self.report.get("aborted", 0))


def run_trial(trial: Trial, *, history: Path | None = None) -> Verdict:
    """Run and check a trial in this process.

    Args:
        trial: which.
        history: write the history to this Parquet file, whatever was found.

    Raises:
        PolicyError: (the engine's) its policy does not fit the workload.
        ValueError: it makes no sense; the message says why.
        OSError: the history can't be written.
    """
    engine = load_engine()
    workload = engine_workload(trial.workload)
    signature = engine.signature(workload)
    subject = trial.subject
    policy = None if subject.policy is None else engine.Policy(subject.policy, signature)
    options = run_options(engine, subject, policy, **trial.run_fields())
    switches = [engine.Policy(text, signature) for text in trial.switches]
    told = engine.run_trial(workload, trial.cores, trial.seed, trial.machine, options, switches)
    if history is not None and told["history"] is not None:
        from envs.history import History  # loads Arrow, which a trial that is not kept need not

        History.from_engine(told["history"]).save(history)
    return Verdict.of(told)


def _trial_of(document: dict[str, Any]) -> Trial:
    subject = Subject(**document.pop("subject"))
    switches = tuple(document.pop("switches"))
    for key, kind in {"workload": dict, "machine": dict, "cores": int, "seed": int}.items():
        if not isinstance(document[key], kind):
            raise TypeError(f"{key} must be a {kind.__name__}")
    for key in ("workload", "machine"):
        if not all(isinstance(value, str) for value in document[key].values()):
            raise TypeError(f"{key} must hold texts")
    return Trial(subject=subject, switches=switches, **document)
