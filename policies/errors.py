"""The one error that this package raises for a document it can't use."""

from __future__ import annotations


class PolicyFileError(ValueError):
    """A policy document that can't be read, is not valid, or does not fit the workload.

    The message is complete for a person: it names the file, the line where it is known, the row
    and the field at fault, and says what would be right.
    """
