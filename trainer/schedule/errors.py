"""Errors in the user's input, with complete messages."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A wrong workload, order or option.

    The message names the file, the transaction, and the correct form.
    """
