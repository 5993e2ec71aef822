"""A PostgreSQL server for the tests, which logs statements."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import PATIENCE_S

DEBIAN = Path("/usr/lib/postgresql")
USER = "heddle"
SCALE = 2

STATEMENT = {"log_statement": "all"}
"""Entries are written before a statement runs."""

DURATION = {"log_statement": "none", "log_min_duration_statement": "0"}
"""Entries are written after it, with its duration, and for each phase of the protocol."""

BOTH = {"log_statement": "all", "log_min_duration_statement": "0", "log_duration": "on"}
"""Entries are written before it, and a bare duration after it."""


def binaries() -> Path | None:
    """Return the folder of the server's programs; None: not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = [path.parent for path in DEBIAN.glob("*/bin/initdb")]
    return max(versions, key=lambda path: float(path.parent.name), default=None)


def account() -> str | None:
    """Return the account of the server, because PostgreSQL rejects root; None: the tests' own."""
    if os.geteuid() != 0:
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@dataclass(frozen=True)
class Pgbench:
    """The report of pgbench."""

    processed: int
    failed: int
    retries: int


class Server:
    """A server on a socket in its own folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._account = account()
        self._options = ""
        self._data = folder / "data"
        self._as_owner("initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8", "-N")

    @contextmanager
    def running(self, **settings: str) -> Iterator[None]:
        """Run with these settings during the block."""
        wanted = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._folder),
            "fsync": "off",
            **settings,
        }
        self._options = " ".join(f"-c {key}='{value}'" for key, value in wanted.items())
        self.restart()
        try:
            yield
        finally:
            self._control("stop", "-m", "fast")

    @contextmanager
    def logging(self, name: str, **settings: str) -> Iterator[Path]:
        """Run with these settings; the log is complete after the block."""
        wanted = {
            "logging_collector": "on",
            "log_destination": "csvlog",
            "log_directory": str(self._folder / "log"),
            "log_filename": f"{name}.log",
            "log_rotation_age": "0",
            "log_timezone": "UTC",
            **settings,
        }
        with self.running(**wanted):
            yield self._folder / "log" / f"{name}.csv"

    def restart(self) -> None:
        """Restart the server, also after a crash, with the current settings."""
        self._control("restart", "-o", self._options, "-l", str(self._folder / "start.log"))

    def crash(self) -> None:
        """Stop the server as a power failure would."""
        self._control("stop", "-m", "immediate")

    def psql(self, script: str, **environment: str) -> str:
        """Send statements one by one with psql, ignoring errors."""
        return self._client("psql", "-X", "-q", "-A", "-t", stdin=script, **environment).stdout

    def pgbench(self, *arguments: str, **environment: str) -> Pgbench:
        """Run pgbench on its tables."""
        printed = self._client("pgbench", "-n", *arguments, **environment).stdout

        def number(label: str) -> int:
            found = re.search(rf"{label}: (\d+)", printed)
            return int(found[1]) if found else 0

        return Pgbench(
            number("number of transactions actually processed"),
            number("number of failed transactions"),
            number("total number of retries"),
        )

    def dump_schema(self, path: Path) -> Path:
        """Write the definitions of all tables."""
        path.write_text(self._client("pg_dump", "--schema-only").stdout)
        return path

    def fill(self) -> None:
        """Create pgbench's tables."""
        self._client("pgbench", "-i", "-q", "-s", str(SCALE))

    def start_client(self, script: str) -> subprocess.Popen[str]:
        """Start a psql that reads statements from the caller."""
        client = subprocess.Popen(
            [self._programs / "psql", "-X", "-q", "-A", "-t"],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert client.stdin is not None
        client.stdin.write(script)
        client.stdin.flush()
        return client

    def environment(self, **more: str) -> dict[str, str]:
        """Return a client's variables, which select this server."""
        own = {"PGHOST": str(self._folder), "PGUSER": USER, "PGDATABASE": "postgres"}
        path = f"{self._programs}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "LC_ALL": "C.UTF-8", **own, **more}

    def _client(
        self, program: str, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self._programs / program, *arguments],
            env=self.environment(**environment),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    def _control(self, action: str, *arguments: str) -> None:
        self._as_owner(
            "pg_ctl", "-D", self._data, "-w", "-t", f"{PATIENCE_S:.0f}", action, *arguments
        )

    def _as_owner(self, program: str, *arguments: str | Path) -> None:
        ids = {}
        if self._account is not None:
            ids = {"user": self._account, "group": pwd.getpwnam(self._account).pw_gid}
        done = subprocess.run(
            [self._programs / program, *arguments],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self._folder)},
            cwd=self._folder,
            extra_groups=[] if ids else None,
            # With these open, the test would wait for the end of the server.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            **ids,
        )
        log = self._folder / "start.log"
        said = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{program} failed: {said}"


@contextmanager
def server() -> Iterator[Server]:
    """Yield a new server, which is removed at the end; `binaries` must have found its programs."""
    programs = binaries()
    assert programs is not None
    # The server's account can't access the folders of the tests.
    folder = Path(tempfile.mkdtemp(prefix="heddle-postgresql-"))
    try:
        name = account()
        if name is not None:
            os.chown(folder, pwd.getpwnam(name).pw_uid, -1)
        yield Server(programs, folder)
    finally:
        shutil.rmtree(folder)
