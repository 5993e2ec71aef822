"""Opens the workload of a run again, for the recordings of a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from envs import Evaluator, MeasuringError
from policies.errors import shown
from trainer.config import CostsConfig, VirtualConfig, workload_options
from trainer.report.saved_run import SavedScenario


class NoRecordingError(ValueError):
    """A run can't be recorded here; the message gives the reason."""


@contextmanager
def recording_evaluator(run: SavedScenario) -> Iterator[Evaluator]:
    """Open an evaluator for the workload and the virtual cores of a run, and close it at the end.

    Raises:
        NoRecordingError: it can't be opened, or what runs on it fails.
    """
    where, seed = _machine_of(run), _seed_of(run)
    try:
        evaluator = Evaluator(
            workload_options(run.workload),
            where.cores,
            machine=where.options(),
            seed=seed,
        )
        try:
            yield evaluator
        finally:
            evaluator.close()
    except (ImportError, ValueError, MeasuringError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NoRecordingError(reason) from error


def _machine_of(run: SavedScenario) -> VirtualConfig:
    """Return the virtual cores of a run."""
    kept: Any = run.settings.get("machine")
    try:
        costs = CostsConfig(**kept["costs"])
        names = {field.name for field in fields(VirtualConfig)}
        if unknown := sorted({*kept} - names):
            raise NoRecordingError(
                f"config.yaml has settings of another version of Heddle: machine.{unknown[0]}"
            )
        cores = kept.get("cores")
        if cores is not None and not isinstance(cores, int):
            raise NoRecordingError(f"config.yaml: {shown(cores)} is not a number of cores")
        return VirtualConfig(**{**kept, "costs": costs})
    except (KeyError, TypeError) as error:
        raise NoRecordingError(f"config.yaml has no virtual machine: {error}") from error


def _seed_of(run: SavedScenario) -> int:
    seed = run.settings.get("seed", 1)
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise NoRecordingError(f"config.yaml: {shown(seed)} is not a seed")
    return seed
