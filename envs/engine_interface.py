"""The part of the compiled engine's interface that this package uses, as protocols."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast


class PolicySession(Protocol):
    """An object whose current run can switch to another policy."""

    def switch_policy(self, policy: Any) -> None:
        """Switch the run in progress, in another thread, to another policy.

        Each worker switches at its next transaction.

        Args:
            policy: a policy compiled by `EngineModule.Policy`.

        Raises:
            ValueError: no run executes a policy, or the policy is for another workload.
        """


class EngineSession(PolicySession, Protocol):
    """One loaded database and its workers; see `engine.Session`."""

    @property
    def grown_bytes(self) -> int:
        """Growth of the database since it was loaded, in bytes."""

    @property
    def memory_bytes(self) -> int:
        """Memory that the database has allocated from the system, in bytes."""

    def run(self, options: Any, *, on_copy: bool = False, check: bool = False) -> dict[str, Any]:
        """Run the workload and return the result as a dictionary; see `envs.Result`.

        Args:
            options: run options made by `EngineModule.RunOptions`.
            on_copy: run on a copy of the database (virtual machine only).
            check: add the violated consistency conditions to the result.
        """

    def run_trial(self, options: Any, *, finish_s: float = ...) -> dict[str, Any]:
        """Record and check a run on a copy of the database (virtual machine only).

        Args:
            options: run options made by `EngineModule.RunOptions`.
            finish_s: time limit of the checks in seconds.

        Returns:
            A dictionary with the keys `findings`, `report` and `grown_bytes`; see
            `envs.trial.Verdict`.
        """

    def check(self) -> list[str]:
        """Return the workload's violated consistency conditions, one line each."""

    def stop(self) -> None:
        """Stop the current run early. Call it from another thread."""


class EngineModule(Protocol):
    """The module `engine`, or a module with the same interface."""

    EngineError: type[Exception]
    PolicyError: type[Exception]
    Interrupted: type[BaseException]
    probe: Any

    def Session(  # noqa: N802
        self, workload: Mapping[str, str], workers: int, seed: int, machine: Mapping[str, str]
    ) -> EngineSession:
        """Load a database and return a session on it.

        Args:
            workload: name of the workload under `name`, and its options.
            workers: number of workers, one per core.
            seed: seed of the population.
            machine: kind of the machine under `kind`, and its options.
        """

    def RunOptions(self, **fields: Any) -> Any:  # noqa: N802
        """Return run options with the given fields, and defaults for the others."""

    def Policy(self, json_text: str, signature: Mapping[str, Any]) -> Any:  # noqa: N802
        """Validate and compile the text of a policy file.

        Raises:
            PolicyError: the policy is not valid for the workload of the signature.
        """

    def protocols(self) -> list[str]:
        """Return the names of the protocols."""

    def check_protocol(
        self, protocol: str, options: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> None:
        """Check the options of a protocol.

        Raises:
            ValueError: there is no such protocol, option or value.
        """

    def option_specs(self, group: str, name: str = "") -> Sequence[Any]:
        """Return the declarations of the options of a group; see `envs.option_specs`."""

    def guard_memory(self, reserve_bytes: int, groups: Sequence[tuple[str, str, int]]) -> None:
        """Keep a memory reserve: refuse databases and end runs that would use it.

        Args:
            reserve_bytes: memory to leave free, in bytes.
            groups: usage file, statistics file and limit in bytes of each control group.
        """

    def memory_left(self) -> int:
        """Return the bytes that the process may still allocate."""

    def check_machine(self, machine: Mapping[str, str]) -> None:
        """Check the kind and the options of a machine.

        Raises:
            ValueError: the kind or an option is unknown, or a value is out of range.
        """

    def check_schedule(
        self, schedule: Mapping[str, str], signature: Mapping[str, Any] | None = None
    ) -> None:
        """Check the options of an admission policy.

        Raises:
            ValueError: the policy or an option is unknown, or a value is out of range.
        """

    def run_trial(
        self,
        workload: Mapping[str, str],
        workers: int,
        seed: int,
        machine: Mapping[str, str],
        options: Any,
        switches: Sequence[Any] = ...,
        isolation: str = ...,
    ) -> dict[str, Any]:
        """Load a database, run a workload on it, record the run and check it at a level."""

    def History(self, *arguments: Any) -> Any:  # noqa: N802
        """Return a history made from arrays; its `check` looks for anomalies."""

    def signature(self, workload: Mapping[str, str]) -> dict[str, Any]:
        """Return a workload's signature: its transaction types and their accesses."""


def engine_build(module: str = "engine") -> str:
    """Return the SHA-256 digest of the compiled module, or "unknown" if there is no file."""
    try:
        found = importlib.util.find_spec(f"{module}._engine")
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        return "unknown"
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def load_engine(module: str = "engine") -> EngineModule:
    """Import the engine by the name of its module.

    Raises:
        ImportError: the module is missing; the message says how to build the engine.
    """
    try:
        return cast(EngineModule, importlib.import_module(module))
    except ImportError as error:
        raise ImportError(f"the engine can't be loaded ({error}); run `make setup`") from error
