"""Measuring candidates: backends (Ray, in process), the race, and the ledger of samples."""

from __future__ import annotations

from trainer.evaluation.backend import (
    BACKENDS,
    Backend,
    BackendError,
    MachineSpec,
    Notices,
    build_backend,
)
from trainer.evaluation.ledger import Ledger
from trainer.evaluation.race import Race

__all__ = [
    "BACKENDS",
    "Backend",
    "BackendError",
    "Ledger",
    "MachineSpec",
    "Notices",
    "Race",
    "build_backend",
]
