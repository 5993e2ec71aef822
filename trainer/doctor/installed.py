"""The installation: the engine, the libraries and the compiler."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator

from envs.host import this_host
from trainer.doctor.finding import Finding
from trainer.installation import LIBRARIES, OPTIONAL, find_engine, library_version
from trainer.run_version import heddle_version

COMPILERS = ("c++", "g++", "clang++")
EXTRA_WORDS = {"torch": "search=policy_gradient"}
"""The settings that need an optional distribution."""


def examine_installation() -> Iterator[Finding]:
    """Examine the installation."""
    yield Finding("heddle", f"{heddle_version()}, commit {this_host().commit}")
    yield Finding("Python", f"{platform.python_version()}, {platform.machine()}")
    yield _engine()
    yield _libraries()
    yield from (_optional(name, extra) for name, extra in OPTIONAL.items())
    yield _compiler()


def _engine() -> Finding:
    engine = find_engine()
    if engine.module is None:
        return Finding(
            "engine",
            engine.words,
            "nothing can be trained, measured or checked",
            "make setup builds the engine",
            needed=True,
        )
    built, here = getattr(engine.module, "version", None), heddle_version()
    if built != here:
        return Finding(
            "engine",
            engine.words,
            f"the engine is version {built} and the rest of Heddle {here}",
            "make setup builds the engine again",
        )
    return Finding("engine", engine.words)


def _libraries() -> Finding:
    versions = {name: library_version(name) for name in LIBRARIES}
    missing = [name for name, number in versions.items() if number is None]
    found = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
    if missing:
        return Finding(
            "libraries",
            found or "none",
            f"not installed: {', '.join(missing)}",
            "make setup installs them",
            needed=True,
        )
    return Finding("libraries", found)


def _optional(name: str, extra: str) -> Finding:
    number = library_version(name)
    if number is None:
        return Finding(
            name,
            "not installed",
            f"{EXTRA_WORDS[name]} can't run",
            f"make setup EXTRAS={extra} installs it",
        )
    return Finding(name, number)


def _compiler() -> Finding:
    found = next((path for name in COMPILERS if (path := shutil.which(name))), None)
    if found is None:
        return Finding(
            "compiler",
            "none",
            "the engine can't be built again after a change of its sources",
            "install one, such as apt-get install g++",
        )
    return Finding("compiler", found)
