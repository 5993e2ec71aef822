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

    @property
    def memory_bytes(self) -> int:
        """Memory that the database holds from the system, bytes."""

    def run(self, options: Any, *, on_copy: bool = False, check: bool = False) -> dict[str, Any]:
        """Run the workload; the result as a dictionary.

        Args:
            options: the engine's `RunOptions`.
            on_copy: leaves the database as it was loaded (virtual machine only).
            check: adds the consistency violations after the run.
        """

    def run_trial(self, options: Any, *, finish_s: float = ...) -> dict[str, Any]:
        """Record and check a run on a copy of the database (virtual machine only).

        Args:
            options: the engine's `RunOptions`.
            finish_s: how long the checks may take, seconds.
        """

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

    def RunOptions(self, **fields: Any) -> Any:  # noqa: N802
        """How a run is made: any of its fields by keyword, and defaults for the others."""

    def Policy(self, json_text: str, signature: Mapping[str, Any]) -> Any:  # noqa: N802
        """Validate and compile a policy file's text."""

    def protocols(self) -> list[str]:
        """The protocols it can run."""

    def option_specs(self, group: str, name: str = "") -> Sequence[Any]:
        """The declarations of what can be set; see `envs.option_specs`."""

    def guard_memory(self, reserve_bytes: int, groups: Sequence[tuple[str, str, int]]) -> None:
        """Load no database, and end runs, where less memory than the reserve would be left."""

    def memory_left(self) -> int:
        """Bytes that the process may still take."""

    def check_machine(self, machine: Mapping[str, str]) -> None:
        """Refuse a machine that there is not, or that can't be so: ValueError."""

    def check_schedule(
        self, schedule: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse options of an admission policy that there is not, or can't be so: ValueError."""

    def run_trial(
        self,
        workload: Mapping[str, str],
        workers: int,
        seed: int,
        machine: Mapping[str, str],
        options: Any,
        switches: Sequence[Any] = ...,
    ) -> dict[str, Any]:
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
