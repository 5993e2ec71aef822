"""Errors that stop a night; the published policy stays."""

from __future__ import annotations


class NightError(ValueError):
    """A night without a decision; the message names the cause and the remedy."""


class BadDayError(NightError):
    """The day is damaged, empty or invalid, or has no accesses."""


class NothingToJudgeError(NightError):
    """The peak hour is too small to hold out a part of it."""


class StateError(NightError):
    """The store is damaged, or has no policy to restore."""


class SettingsError(NightError):
    """A setting that is wrong for the trace's workload."""
