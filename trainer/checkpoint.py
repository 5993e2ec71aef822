"""Checkpoints of a run: one JSON file, replaced as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Any

from envs.external_sweep import TunedStore
from envs.reference import Reference
from envs.tuned_backoff import TunedBackoff
from policies.errors import refuse_special, regular_text, write_failure_reason
from trainer.renamed import present_key

SCHEMA_VERSION = 5
OLD_SCHEMA_VERSION = 4
"""The earlier version, with the same state under other names, which can be read as well."""
FILE_NAME = "checkpoint.json"
UNFINISHED = ".tmp"
"""The ending of files that are being written."""


class CheckpointError(ValueError):
    """A checkpoint that can't be used; the message names the file and the cure."""


class OtherVersionError(CheckpointError):
    """A checkpoint that another version of Heddle wrote."""


class WritingError(RuntimeError):
    """A file that can't be written; the message names it and the cure. It is unchanged."""


@dataclass
class GenerationRecord:
    """Figures of one generation. Fitness is throughput relative to the reference.

    Attributes:
        generation: its number, from 1.
        evaluations: evaluations of all generations until now: candidates × scenarios.
        slices: measured slices until now, without those of the reference.
        seconds: seconds of searching until now.
        best: fitness of this generation's best-ranked candidate.
        median: of this generation's candidates.
        worst: of this generation's candidates.
        origin: of the best.
        scores: throughput of the best relative to the reference, by scenario.
        incumbent: the present estimate of the incumbent's fitness, which further samples may
            lower; None if it was not recorded.
        samples: slices of the incumbent in each scenario; None if it was not recorded.
        best_so_far: the highest estimate, less one standard error, of an incumbent until now, which
            never falls; None if it was not recorded.
        excess: by which factor the incumbent exceeds the limits of the objective; 1 within them.
    """

    generation: int
    evaluations: int
    slices: int
    seconds: float
    best: float
    median: float
    worst: float
    origin: str
    scores: list[float] = field(default_factory=list)
    incumbent: float | None = None
    samples: int | None = None
    best_so_far: float | None = None
    excess: float = 1.0

    @property
    def estimate(self) -> float:
        """Return the incumbent's fitness, or the generation's best if there is no incumbent."""
        return self.best if self.incumbent is None else self.incumbent

    @property
    def incumbent_words(self) -> str:
        """Return the incumbent's estimate with its number of samples, for people."""
        shown = f"{self.estimate:.3f}" if self.excess <= 1.0 else self.excess_words
        if self.samples is None:
            return shown
        return f"{shown} ({self.samples} sample{'' if self.samples == 1 else 's'})"

    @property
    def excess_words(self) -> str:
        """Return by how much the incumbent exceeds the limits, for people."""
        return f"beyond the limits by {self.excess - 1:.1%}"

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> GenerationRecord:
        """Read an entry of a checkpoint; earlier versions called the incumbent `so_far`.

        Raises:
            TypeError: it has other fields.
        """
        fields = dict(entry)
        if "so_far" in fields:
            fields["incumbent"] = fields.pop("so_far")
        return cls(**fields)


def best_curve(history: Sequence[GenerationRecord]) -> list[float]:
    """Return the highest recorded best (or else estimate) by generation, which never falls."""
    recorded = (
        record.estimate if record.best_so_far is None else record.best_so_far for record in history
    )
    return list(accumulate(recorded, max))


@dataclass
class Incumbent:
    """An incumbent of a search, with figures at the time when it became the best.

    Attributes:
        generation: in which it became the incumbent.
        evaluations: evaluations until the end of that generation.
        slices: measured slices until then.
        seconds: seconds of searching until then.
        fitness: its estimate then, less one standard error.
        vector: the table (`policies.Encoding`).
        origin: of the table.
    """

    generation: int
    evaluations: int
    slices: int
    seconds: float
    fitness: float
    vector: list[int]
    origin: str


@dataclass
class Checkpoint:
    """Everything that a run needs to resume from its last generation.

    Attributes:
        tuned_us: the best constant backoff, µs, by scenario, of the scenarios swept until now.
        search: the search's state; None before its first generation.
        samples: all samples of the candidates that are kept.
        history: one record per generation.
        evaluations: measured candidates × scenarios.
        slices: measured slices, without those of the reference.
        seconds: seconds of searching.
        mlflow_run_id: the record to continue.
        measured_on: the settings of workload and machine under which the samples were taken, as
            texts; None if there are no samples.
        stretch: factor on the settings' length of rungs; None until it is known.
        incumbents: the successive incumbents.
        checked: keys of the tables that passed the check (`trainer.table_check`).
        refused: keys of the tables that failed it, with the reason.
        exponential: whether exponential backoff is faster than `tuned_us`, by scenario; missing in
            earlier runs.
        objectives: the objective with absolute limits, by scenario (`envs.Objective.as_dict`); None
            until the baselines of relative limits are measured.
        least_stretch: the least `stretch` with which rungs have enough transactions for the
            objective's percentiles.
        warmup: the least warm-up after the first rung, in seconds; latencies are then settled.
        backoff: the times to which backoffs have adapted (`AdaptedBackoff`).
        stores: of a training in front of an external store, the options of `external_tuned` by
            scenario, in place of `tuned_us`.
    """

    tuned_us: list[float] = field(default_factory=list)
    search: dict[str, Any] | None = None
    samples: list[dict[str, Any]] = field(default_factory=list)
    history: list[GenerationRecord] = field(default_factory=list)
    evaluations: int = 0
    slices: int = 0
    seconds: float = 0.0
    mlflow_run_id: str | None = None
    measured_on: dict[str, str] | None = None
    stretch: int | None = None
    incumbents: list[Incumbent] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    exponential: list[bool] = field(default_factory=list)
    objectives: list[dict[str, Any]] | None = None
    least_stretch: int = 1
    warmup: float = 0.0
    backoff: list[list[Any]] = field(default_factory=list)
    stores: list[dict[str, str]] = field(default_factory=list)

    @property
    def tuned(self) -> list[Reference]:
        """Return the references of the scenarios swept until now."""
        if self.stores:
            return [TunedStore(options) for options in self.stores]
        return [*self.backoffs]

    @property
    def backoffs(self) -> list[TunedBackoff]:
        """Return the backoff of `silo_tuned`, of the scenarios swept until now."""
        exponential = chain(self.exponential, repeat(False))
        pairs = zip(self.tuned_us, exponential, strict=False)
        return [TunedBackoff(us, is_exponential) for us, is_exponential in pairs]

    def save(self, folder: Path) -> None:
        """Write it to a run's folder, atomically and durably.

        Raises:
            WritingError: it can't be written; the previous one is unchanged.
        """
        # Not `asdict`, which would copy all samples and tables.
        state = {
            **vars(self),
            "history": [vars(record) for record in self.history],
            "incumbents": [vars(incumbent) for incumbent in self.incumbents],
        }
        document = {"schema_version": SCHEMA_VERSION, "digest": _digest(state), "state": state}
        write_atomically(folder / FILE_NAME, json.dumps(document, allow_nan=False))

    @classmethod
    def load(cls, folder: Path) -> Checkpoint:
        """Read a run's checkpoint; return an empty one if the run has none.

        Raises:
            CheckpointError: the file is damaged.
            OtherVersionError: another version wrote it.
        """
        path = folder / FILE_NAME
        try:
            document = json.loads(regular_text(path))
            version = document["schema_version"]
            if version in (OLD_SCHEMA_VERSION, SCHEMA_VERSION):
                state = document["state"]
                # A changed digit would still be a valid checkpoint, but of another search.
                if document["digest"] != _digest(state):
                    raise ValueError("its digest does not match")
                if version == OLD_SCHEMA_VERSION:
                    state = _with_present_names(state)
                if state.get("measured_on"):
                    settings = state["measured_on"].items()
                    state["measured_on"] = {present_key(name): value for name, value in settings}
                history = [GenerationRecord.from_json(entry) for entry in state.pop("history")]
                incumbents = [Incumbent(**entry) for entry in state.pop("incumbents", [])]
                return cls(**state, history=history, incumbents=incumbents)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise CheckpointError(
                f"{path}: can't be read: {error.strerror}; restore a copy, or start a new run"
            ) from error
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({type(error).__name__}: {error}); restore a copy, or start a "
                "new run"
            ) from error
        raise OtherVersionError(
            f"{path}: the run was started by another version (schema_version {version!r:.40}; this "
            f"one reads {OLD_SCHEMA_VERSION} and {SCHEMA_VERSION}); resume it with that version, "
            "or start a new run"
        )


def refuse_other_samples(checkpoint: Checkpoint, settings: Mapping[str, str], folder: Path) -> None:
    """Refuse to mix samples of different workloads or machines.

    Args:
        checkpoint: of the run to resume.
        settings: the present settings of workload and machine.
        folder: of the run.

    Raises:
        CheckpointError: a setting has changed since the samples were taken; the message names it.
    """
    before = checkpoint.measured_on
    if before is None:
        return
    for name in (*settings, *(name for name in before if name not in settings)):
        if before.get(name) != settings.get(name):
            raise CheckpointError(
                f"{name} is {settings.get(name, 'not set')}, but was {before.get(name, 'not set')} "
                f"when {folder} measured its policies; restore it, or start a new run"
            )


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file atomically and durably: to a temporary file that is then renamed.

    A symbolic link is followed.

    Raises:
        WritingError: it can't be written; the earlier content is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
    try:
        refuse_special(target)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise WritingError(f"{path}: can't be written: {write_failure_reason(error)}") from error


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def _with_present_names(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state of `OLD_SCHEMA_VERSION` under the names of `SCHEMA_VERSION`."""
    samples = state.pop("ledger")
    state["samples"] = [
        {"scenarios" if key == "members" else key: value for key, value in entry.items()}
        for entry in samples
    ]
    state["incumbents"] = state.pop("bests", [])
    if state.get("measured_on"):
        state["measured_on"] = {
            re.sub(r"^member(?= \d+'s )", "scenario", name): value
            for name, value in state["measured_on"].items()
        }
    return state


def _digest(state: Mapping[str, Any]) -> str:
    """Return a digest of a state, the same before writing and after reading."""
    text = json.dumps(state, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
