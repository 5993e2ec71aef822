"""The exceptions that end a run."""

from __future__ import annotations

from envs.result import Result


class MeasuringError(RuntimeError):
    """A run failed in the engine; the message is the engine's.

    Attributes:
        result: the result of the run up to the failure, or None.
    """

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run.

    Attributes:
        result: the result of the interrupted run up to that point, or None.
        index: position of its subject in the round, or None.
    """

    def __init__(self, result: Result | None, index: int | None = None) -> None:
        super().__init__("interrupted")
        self.result = result
        self.index = index
