"""What ends a night early; the policy that is served stays."""

from __future__ import annotations


class NightError(ValueError):
    """A night that can't come to a decision; the message names the culprit and the cure."""


class BadDayError(NightError):
    """The day is damaged, empty or invalid, or says nothing of conflicts."""


class NothingToJudgeError(NightError):
    """The peak hour has too little in it to hold a part of it out."""


class StateError(NightError):
    """The state's folder holds what can't be used, or there is nothing to go back to."""


class SettingsError(NightError):
    """A setting that is found wrong only on the trace's workload."""
