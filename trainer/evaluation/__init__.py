"""Measuring candidates: backends (Ray, in process), the race, and samples."""

from __future__ import annotations

from trainer.evaluation.backend import (
    BACKENDS,
    Backend,
    BackendError,
    MachineSpec,
    Notices,
    build_backend,
)
from trainer.evaluation.race import Race
from trainer.evaluation.samples import Samples

__all__ = [
    "BACKENDS",
    "Backend",
    "BackendError",
    "MachineSpec",
    "Notices",
    "Race",
    "Samples",
    "build_backend",
]
