"""Examination of this machine, and of what will not work on it."""

from __future__ import annotations

from trainer.doctor.finding import Finding
from trainer.doctor.installed import examine_installation
from trainer.doctor.machine import examine_machine
from trainer.doctor.storage import examine_storage

__all__ = ["Finding", "examine"]


def examine() -> list[Finding]:
    """Examine the installation, the machine and its storage.

    It measures nothing, and writes only a temporary file in each folder that must be writable.
    """
    return [*examine_installation(), *examine_machine(), *examine_storage()]
