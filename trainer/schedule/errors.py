"""What people can hand over wrong, with a message that is complete."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A workload, an order or an option that can't be used.

    The message names the file, the transaction at fault, and what would be right.
    """
