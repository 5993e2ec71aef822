"""The part of the compiled engine's interface that Python code here relies on."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast


class PolicySession(Protocol):
    """Whatever has a run going on that another policy can be given to."""

    def switch_policy(self, policy: Any) -> None:
        """Give the run that is going on, in another thread, another compiled policy.

        Each worker takes it at its next transaction.

        Raises:
            ValueError: no run executes a policy, or it is for another workload.
        """


class EngineSession(PolicySession, Protocol):
    """One loaded database and its workers; see `engine.Session`."""

    @property
    def grown_bytes(self) -> int:
        """Memory that the database grew by since it was loaded, bytes."""

    def run(
        self,
        protocol: str,
        policy: Any,
        backoff: str,
        backoff_us: float,
        seconds: float,
        warmup: float,
        seed: int,
        options: Mapping[str, str],
        *,
        on_copy: bool = False,
        check: bool = False,
        timeline_events: int = 0,
        trace_bytes: int = 0,
        intervals: int = 0,
        switches: Sequence[tuple[float, Any]] = (),
        schedule: Mapping[str, str] = ...,
    ) -> dict[str, Any]:
        """Run the workload for `seconds` after `warmup`; the result as a dictionary.

        `on_copy` leaves the database as it was loaded (virtual machine only); `check` adds the
        consistency violations after the run; `timeline_events` (virtual machine only) so many of
        the things that happened, at most; `trace_bytes` (real cores only) so much, at most, of what
        transactions asked for, the end of which ends the run; `intervals` counts so many equal
        parts of the window by themselves; `switches` are policies that the executor goes over to,
        each with its time in the window, seconds; `schedule` says which transaction starts
        next; nothing: they start as they are drawn.
        """

    def run_trial(self, *arguments: Any) -> dict[str, Any]:
        """Record and check a run on a copy of the database (virtual machine only)."""

    def check(self) -> list[str]:
        """The workload's consistency violations, empty when there are none."""

    def stop(self) -> None:
        """End the current run early, from another thread."""


class EngineModule(Protocol):
    """The module `engine`, or one that stands in for it."""

    EngineError: type[Exception]
    PolicyError: type[Exception]
    Interrupted: type[BaseException]
    probe: Any

    def Session(  # noqa: N802
        self, workload: Mapping[str, str], workers: int, seed: int, machine: Mapping[str, str]
    ) -> EngineSession:
        """Build and load a database, for a machine."""

    def Policy(self, json_text: str, signature: Mapping[str, Any]) -> Any:  # noqa: N802
        """Validate and compile a policy file's text."""

    def protocols(self) -> list[str]:
        """The protocols it can run."""

    def check_machine(self, machine: Mapping[str, str]) -> None:
        """Refuse a machine that there is not, or that can't be so: ValueError."""

    def check_schedule(
        self, schedule: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse options of an admission policy that there is not, or can't be so: ValueError."""

    def run_trial(self, *arguments: Any) -> dict[str, Any]:
        """Run a workload on a database of its own, record it and check it."""

    def History(self, *arguments: Any) -> Any:  # noqa: N802
        """A history from arrays, to be checked."""

    def signature(self, workload: Mapping[str, str]) -> dict[str, Any]:
        """The workload's transaction types and accesses."""


def engine_build(module: str = "engine") -> str:
    """Names what was compiled: equal for the same file alone. "unknown" where there is no file."""
    try:
        found = importlib.util.find_spec(f"{module}._engine")
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        return "unknown"
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def load_engine(module: str = "engine") -> EngineModule:
    """Import the engine by its module's name.

    Raises:
        ImportError: the module is missing; for the compiled engine the message says how to build.
    """
    try:
        return cast(EngineModule, importlib.import_module(module))
    except ImportError as error:
        raise ImportError(f"the engine can't be loaded ({error}); run `make setup`") from error
