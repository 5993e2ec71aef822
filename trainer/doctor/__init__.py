"""What this machine has for Heddle, and what will not work on it."""

from __future__ import annotations

from trainer.doctor.finding import Finding
from trainer.doctor.installed import examine_installation
from trainer.doctor.machine import examine_machine
from trainer.doctor.storage import examine_storage

__all__ = ["Finding", "examine"]


def examine() -> list[Finding]:
    """Examine the installation, the machine and its storage.

    Nothing is measured, and nothing is written but a file in each folder that must be writable.
    """
    return [*examine_installation(), *examine_machine(), *examine_storage()]
