"""Checkpoints of a run: one JSON file, replaced as a whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Any

from envs.tuned_backoff import TunedBackoff
from policies.errors import refuse_special, regular_text, write_failure_reason

SCHEMA_VERSION = 5
OLD_SCHEMA_VERSION = 4
"""The same state under other names, which is read too."""
FILE_NAME = "checkpoint.json"
UNFINISHED = ".tmp"
"""How files end that are being written."""


class CheckpointError(ValueError):
    """A checkpoint that can't be used; the message names the file and what to do."""


class OtherVersionError(CheckpointError):
    """A checkpoint that another version of Heddle wrote."""


class WritingError(RuntimeError):
    """A file can't be written: the message names it, and the cure. What was there is as it was."""


@dataclass
class GenerationRecord:
    """One generation, as charts show it. Fitness is throughput relative to the reference.

    Attributes:
        generation: its number, from 1.
        evaluations: made so far, in all generations: candidates, times the number of scenarios.
        slices: measured slices so far, those of the reference not counted.
        seconds: spent searching so far.
        best: fitness of this generation's best-ranked candidate.
        median: of this generation's candidates.
        worst: of this generation's candidates.
        origin: where the best came from.
        scores: its throughput relative to the reference, by scenario.
        incumbent: the present estimate of the best of the whole search's fitness, which falls
            where further samples show that it was flattered; None where it was not noted down.
        samples: slices that the estimate rests on, in each scenario; of the same form.
        best_so_far: the most that an incumbent's estimate less one standard error ever was, and so
            what never falls; of the same form.
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

    @property
    def estimate(self) -> float:
        """The incumbent's, or the generation's best where there is none."""
        return self.best if self.incumbent is None else self.incumbent

    @property
    def incumbent_words(self) -> str:
        """The incumbent's estimate with what it rests on, for people."""
        if self.samples is None:
            return f"{self.estimate:.3f}"
        return f"{self.estimate:.3f} ({self.samples} sample{'' if self.samples == 1 else 's'})"

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> GenerationRecord:
        """Read what a checkpoint holds; earlier versions called the incumbent `so_far`.

        Raises:
            TypeError: it is not of that form.
        """
        fields = dict(entry)
        if "so_far" in fields:
            fields["incumbent"] = fields.pop("so_far")
        return cls(**fields)


def best_curve(history: Sequence[GenerationRecord]) -> list[float]:
    """The best by generation, which never falls; of the estimates if it was not recorded."""
    noted = (one.estimate if one.best_so_far is None else one.best_so_far for one in history)
    return list(accumulate(noted, max))


@dataclass
class Incumbent:
    """An incumbent of a search, from the moment on at which it became the best.

    Attributes:
        generation: in which it became that.
        evaluations: made by the end of that generation.
        slices: measured slices by then.
        seconds: spent searching by then.
        fitness: what the search took its fitness for, less one standard error.
        vector: the table (`policies.Encoding`).
        origin: where it came from.
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
        tuned_us: the best constant backoff, µs, by scenario; of those that are swept.
        search: the search's state; None before its first generation.
        samples: all samples of the candidates that matter.
        history: one record a generation.
        evaluations: candidates measured, times the number of scenarios.
        slices: slices measured, those of the reference not counted.
        seconds: spent searching.
        mlflow_run_id: the record to continue.
        measured_on: the workload's and the machine's settings, as texts, under which the samples
            were taken; None before there are any.
        stretch: how much longer rungs are than the settings say; None before that is known.
        incumbents: the incumbent, each time that it became another table.
        checked: keys of the tables that passed the check (`trainer.table_check`).
        refused: keys of those that failed it, with the reason.
        exponential: whether exponential backoff is faster than `tuned_us`, by scenario; of earlier
            runs, no.
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

    @property
    def tuned(self) -> list[TunedBackoff]:
        """The backoff of `silo_tuned`, by scenario; of those that are swept."""
        exponential = chain(self.exponential, repeat(False))
        return [TunedBackoff(us, own) for us, own in zip(self.tuned_us, exponential, strict=False)]

    def save(self, folder: Path) -> None:
        """Write it to a run's folder, atomically and durably.

        Raises:
            WritingError: it can't be written; the one before it is as it was.
        """
        state = asdict(self)
        document = {"schema_version": SCHEMA_VERSION, "digest": _digest(state), "state": state}
        write_atomically(folder / FILE_NAME, json.dumps(document, allow_nan=False))

    @classmethod
    def load(cls, folder: Path) -> Checkpoint:
        """Read a run's checkpoint; an empty one if the run was ended before its first.

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
                # A changed digit would still be a checkpoint, of a search that never was.
                if document["digest"] != _digest(state):
                    raise ValueError("it is not as it was written")
                if version == OLD_SCHEMA_VERSION:
                    state = _with_present_names(state)
                history = [GenerationRecord.from_json(one) for one in state.pop("history")]
                incumbents = [Incumbent(**entry) for entry in state.pop("incumbents", [])]
                return cls(**state, history=history, incumbents=incumbents)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise CheckpointError(
                f"{path}: can't be read: {error.strerror}; put a copy in its place, or start a "
                "new run"
            ) from error
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({type(error).__name__}: {error}); put a copy in its place, "
                "or start a new run"
            ) from error
        raise OtherVersionError(
            f"{path}: the run was started by another version (schema_version {version!r:.40}; this "
            f"one reads {OLD_SCHEMA_VERSION} and {SCHEMA_VERSION}); resume it with that version, "
            "or start a new run"
        )


def refuse_other_samples(checkpoint: Checkpoint, settings: Mapping[str, str], folder: Path) -> None:
    """Samples of one workload on one machine say nothing of another: refuse to mix them.

    Args:
        checkpoint: of the run to resume.
        settings: the workload's and the machine's now.
        folder: of the run.

    Raises:
        CheckpointError: a setting is another than when the samples were taken; the message names
            it.
    """
    before = checkpoint.measured_on
    if before is None:
        return
    for name in (*settings, *(name for name in before if name not in settings)):
        if before.get(name) != settings.get(name):
            raise CheckpointError(
                f"{name} is {settings.get(name, 'not set')}, and was {before.get(name, 'not set')} "
                f"when {folder} measured its policies; leave it as it was, or start a new run"
            )


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write beside, force to the disk, rename: a reader sees the old content or the new, no part.

    A symbolic link is followed.

    Raises:
        WritingError: it can't be written; what was there is as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
    try:
        refuse_special(target)
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise WritingError(f"{path}: can't be written: {write_failure_reason(error)}") from error


def remove_unfinished(folder: Path) -> None:
    """Remove what processes that were killed in the middle of a write left in a folder."""
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
    """A sum of a state, the same before it is written and after it is read."""
    text = json.dumps(state, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
