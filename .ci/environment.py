#!/usr/bin/env python3
"""Make the environment the project is built, run and tested in: `make setup` calls this.

What it does, in order: check that the machine has a C++ compiler and the headers the engine needs
(and install the Debian packages that bring them, when it may), create `.venv`, install the Python
requirements under constraints.txt, build the engine and install the project in place (editable).
Every step leaves alone what is already there, so it can be run again at any time.

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OLDEST_PYTHON = (3, 11)
OLDEST_GCC = 12
# Tools of the build. The editable install rebuilds the engine from the environment itself, so they
# live in it rather than in a build environment that is thrown away.
BUILD_TOOLS = ["cmake>=3.25", "ninja>=1.11"]
HEADERS = {
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libgtest-dev": "gtest/gtest.h",
    "libbenchmark-dev": "benchmark/benchmark.h",
    "libboost-context-dev": "boost/context/fiber.hpp",
}
# Headers of external stores, which the engine is built without where they are missing.
STORES = {
    "libsqlite3-dev": ("sqlite", "sqlite3.h"),
    "libpq-dev": ("postgresql", "postgresql/libpq-fe.h"),
    "librocksdb-dev": ("rocksdb", "rocksdb/utilities/transaction_db.h"),
    "libmariadb-dev": ("mariadb", "mariadb/mysql.h"),
}
# Programs that an extra uses and that are no Python: by Debian package, one of them, and where it
# lies under /. What needs them does without where they can't be installed, and says so.
PROGRAMS = {
    "test": {
        "postgresql": ("initdb", "usr/lib/postgresql/*/bin/initdb"),
        "mariadb-server-core": ("mariadbd", "usr/sbin/mariadbd"),
    }
}


class SetupError(Exception):
    """The environment cannot be made; the message says why and what would cure it."""


def run(command: list[str | Path], env: dict[str, str] | None = None) -> None:
    """Run a command quietly; show what it printed when it fails.

    Raises:
        SetupError: the command failed.
    """
    done = subprocess.run(command, cwd=ROOT, env=env, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-20_000:] + done.stderr[-20_000:])
        words = " ".join(str(word) for word in command)
        raise SetupError(f"this command failed with code {done.returncode}: {words}")


class Step:
    """Prints what is being done and, at the end, how long it took."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        self._start = time.monotonic()
        print(f"  {self._what} ...", end="", flush=True)

    def __exit__(self, error: object, *_: object) -> None:
        seconds = time.monotonic() - self._start
        print(" failed" if error else f" {seconds:.0f} s", flush=True)


def gcc_version() -> int:
    """Major version of g++, 0 where there is none."""
    compiler = os.environ.get("CXX", "g++")
    if not shutil.which(compiler.split()[0]):
        return 0
    asked = [*compiler.split(), "-dumpversion"]
    text = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return int(text.split(".")[0]) if text[:1].isdigit() else 0


def has_header(header: str) -> bool:
    """Whether the compiler finds a header."""
    compiler = os.environ.get("CXX", "g++").split()
    return (
        subprocess.run(
            [*compiler, "-E", "-x", "c++", "-"],
            input=f"#include <{header}>\n",
            text=True,
            capture_output=True,
            check=False,
        ).returncode
        == 0
    )


def missing_packages() -> list[str]:
    """Debian packages whose content this machine lacks, however it would have got it."""
    missing = []
    if gcc_version() == 0:
        missing.append("g++")
    missing += [
        package for package, header in HEADERS.items() if "g++" in missing or not has_header(header)
    ]
    if importlib.util.find_spec("ensurepip") is None:
        missing.append("python3-venv")
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        missing.append("python3-dev")
    return missing


def install_packages(packages: list[str]) -> None:
    """Install Debian packages as root, or through a sudo that asks for no password.

    Raises:
        SetupError: it is not allowed to, or this is no Debian.
    """
    names = " ".join(packages)
    if not shutil.which("apt-get"):
        raise SetupError(
            f"this machine lacks what the Debian packages {names} hold, and has no apt-get: "
            "install the equivalents and call make again"
        )
    prefix: list[str | Path] = []
    if os.geteuid() != 0:
        allowed = (
            shutil.which("sudo")
            and not subprocess.run(
                ["sudo", "-n", "true"], capture_output=True, check=False
            ).returncode
        )
        if not allowed:
            raise SetupError(
                "Debian packages are missing and installing them takes root. Run\n\n"
                f"    sudo apt-get update && sudo apt-get install --no-install-recommends {names}\n"
                "\nand call make again"
            )
        prefix = ["sudo", "-n"]
    with Step(f"installing Debian packages: {names}"):
        quiet: list[str | Path] = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
        quiet += ["-q", "-o", "DPkg::Lock::Timeout=300"]
        run([*quiet, "update"])
        run([*quiet, "install", "-y", "--no-install-recommends", *packages])


def missing_programs(extras: list[str]) -> list[str]:
    """Debian packages with programs that the extras use and this machine lacks."""
    return [
        package
        for extra in extras
        for package, (program, place) in PROGRAMS.get(extra, {}).items()
        if not shutil.which(program) and not any(Path("/").glob(place))
    ]


def install_programs(packages: list[str]) -> None:
    """Install what can be done without; where that is not allowed, say what is done without."""
    try:
        install_packages(packages)
    except SetupError as error:
        names = " ".join(packages)
        print(f"  going on without {names}, and the tests that need it are skipped: {error}")


def show_missing_stores() -> None:
    """Say which external stores the engine is built without, and what they need."""
    if os.environ.get("HEDDLE_STORES", "auto") != "auto":
        return
    for package, (store, header) in STORES.items():
        if not has_header(header):
            print(
                f"  going on without store {store}: install {package} and call make -B setup to "
                "build it"
            )


def check_compiler() -> None:
    """Refuse a compiler that is too old.

    Raises:
        SetupError: it is.
    """
    version = gcc_version()
    if version < OLDEST_GCC and "CXX" not in os.environ:
        raise SetupError(
            f"g++ is version {version}; the engine is C++20 and needs {OLDEST_GCC} or newer. "
            "Install one and name it: make setup CXX=g++-12"
        )


def create_venv() -> None:
    """Create `.venv`, anew when it is broken or belongs to another place."""
    python = VENV / "bin" / "python"
    if python.exists():
        asked = [python, "-c", "import sys; print(sys.prefix)"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)
        if answer.returncode == 0 and Path(answer.stdout.strip()) == VENV:
            return
        shutil.rmtree(VENV)
    with Step("creating .venv"):
        run([sys.executable, "-m", "venv", VENV])


def uv_environment() -> dict[str, str]:
    """The process environment, with pip's settings in the words that uv understands.

    uv reads neither pip's configuration files nor its environment variables, so a machine that is
    told where packages come from has told pip only.
    """
    asked: list[str | Path] = [VENV / "bin" / "python", "-m", "pip", "config", "list"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    pip: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        pip[name.rpartition(".")[2]] = value.strip("'\"").replace("\\n", " ")

    env = dict(os.environ)
    words = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "cert": "SSL_CERT_FILE",
        "default-timeout": "UV_HTTP_TIMEOUT",
    }
    for name, variable in words.items():
        if name in pip:
            env.setdefault(variable, pip[name])
    if "find-links" in pip:
        env.setdefault("UV_FIND_LINKS", ",".join(pip["find-links"].split()))
    if "no-index" in pip and pip["no-index"].lower() in ("1", "true", "yes", "on"):
        env.setdefault("UV_NO_INDEX", "1")
    env.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # as pip: the best over all indexes
    env.setdefault("VIRTUAL_ENV", str(VENV))
    return env


def requirements(extras: list[str]) -> list[str]:
    """What pyproject.toml asks for: to build, to run, and for the extras named.

    Raises:
        SetupError: there is no such extra.
    """
    import tomllib  # Python 3.11; older ones were refused by then

    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = table["project"]
    known = project["optional-dependencies"]
    wanted = [*BUILD_TOOLS, *table["build-system"]["requires"], *project["dependencies"]]
    for extra in extras:
        if extra not in known:
            raise SetupError(f"there is no extra '{extra}'; there are {', '.join(known)}")
        wanted += known[extra]
    return wanted


def install_requirements(extras: list[str]) -> None:
    """Install the requirements with uv, which is six times faster, or with pip where uv fails."""
    python = VENV / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    wanted = requirements(extras)
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "requirements.txt"
        listed.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        arguments: list[str | Path] = ["install", "-r", listed, "-c", constraints]
        what = " + ".join(["requirements", *extras])
        try:
            with Step(f"installing {what} with uv"):
                if not (VENV / "bin" / "uv").exists():
                    run([python, "-m", "pip", "install", "-q", "uv", "-c", constraints])
                run([VENV / "bin" / "uv", "pip", *arguments, "--python", python], uv_environment())
        except SetupError as error:
            print(f"  uv did not manage ({error}); trying pip, which takes some minutes")
            with Step(f"installing {what} with pip"):
                run([python, "-m", "pip", "-q", *arguments])


def install_project() -> None:
    """Build the engine and install the project in place, so that edits count at once."""
    env = {**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    env.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    with Step("building the engine (minutes the first time)"):
        command: list[str | Path] = [VENV / "bin" / "python", "-m", "pip", "install", "-q"]
        run([*command, "--no-deps", "--no-build-isolation", "-e", ROOT], env)


def main() -> int:
    """Make the environment; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], help="an extra of pyproject.toml")
    extras = parser.parse_args().extra
    if sys.version_info < OLDEST_PYTHON:
        print(
            f"Python {sys.version.split()[0]} is too old: 3.11 or newer is needed. "
            "Name one: make setup PYTHON=python3.12",
            file=sys.stderr,
        )
        return 1
    print(f"environment {VENV.relative_to(ROOT)}, Python {sys.version.split()[0]}")
    start = time.monotonic()
    try:
        missing = missing_packages()
        if missing:
            install_packages(missing)
        wanted = missing_programs(extras)
        if wanted:
            install_programs(wanted)
        check_compiler()
        show_missing_stores()
        create_venv()
        install_requirements(extras)
        install_project()
    except SetupError as error:
        print(f"setup: {error}.", file=sys.stderr)
        return 1
    for name in ["ready", *(f"ready-{extra}" for extra in extras)]:
        (VENV / f".{name}").touch()  # the Makefile compares these with what they were made from
    print(f"  ready in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
