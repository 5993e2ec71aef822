"""What can end a run."""

from __future__ import annotations

from envs.result import Result


class MeasuringError(RuntimeError):
    """A run failed in the engine; the message is the engine's."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes:
        result: what was measured of the run that was cut short, or None.
        index: of its subject, where it was one of a round.
    """

    def __init__(self, result: Result | None, index: int | None = None) -> None:
        super().__init__("interrupted")
        self.result = result
        self.index = index
