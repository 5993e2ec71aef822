"""The installed versions of Heddle, its engine and its libraries."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from envs.engine_interface import EngineModule, load_engine
from envs.host import this_host
from trainer.run_version import heddle_version

LIBRARIES = (
    "ray",
    "mlflow",
    "hydra-core",
    "deap",
    "optuna",
    "gymnasium",
    "numpy",
    "pyarrow",
    "duckdb",
    "sqlglot",
)
"""The distributions that Heddle's commands need."""

OPTIONAL = {"torch": "policy-gradient"}
"""Optional distributions, and the extra that installs each."""


@dataclass(frozen=True)
class Engine:
    """The compiled engine, if it can be loaded.

    Attributes:
        module: None if it can't be loaded.
        problem: the reason; None if it is loaded.
    """

    module: EngineModule | None
    problem: str | None = None

    @property
    def words(self) -> str:
        """Return its version and compiler, or why it can't be loaded."""
        if self.module is None:
            return f"can't be loaded: {self.problem}"
        known = [getattr(self.module, name, None) for name in ("version", "compiler")]
        return ", ".join(str(part) for part in known if part is not None)


def find_engine() -> Engine:
    """Load the engine; return the reason if any error prevents it."""
    try:
        return Engine(load_engine())
    except Exception as error:  # such as a missing symbol or file
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Engine(None, lines[0])


def library_version(name: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def version_text() -> str:
    """Return the lines of `heddle --version`."""
    libraries = {name: library_version(name) for name in (*LIBRARIES, *OPTIONAL)}
    found = ", ".join(f"{name} {number}" for name, number in libraries.items() if number)
    return "\n".join(
        (
            f"heddle {heddle_version()}",
            f"commit     {this_host().commit}",
            f"engine     {find_engine().words}",
            f"Python     {platform.python_version()}, {platform.machine()}",
            f"libraries  {found}",
        )
    )
