"""Runs in an external store: through the evaluator and the command."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import engine
from envs import ComparisonPlan, Evaluator, MeasuringError, Subject, compare, subject_of, untuned
from envs.baselines import UnknownPolicyError
from policies.protocol import EXTERNAL
from tests.processes import descendants, stop
from tests.waiting import wait_until
from trainer.command.errors import INTERRUPTED

WORKLOAD = {"name": "smallbank", "accounts": "1000"}


def missing(store: str) -> str | None:
    """Return which package a store lacks; None if it can be used."""
    try:
        engine.check_protocol("external", {"store": store})
    except ValueError as error:
        return str(error)
    return None


needs_sqlite = pytest.mark.skipif(missing("sqlite") is not None, reason=str(missing("sqlite")))
needs_postgresql = pytest.mark.skipif(
    missing("postgresql") is not None, reason=str(missing("postgresql"))
)
needs_rocksdb = pytest.mark.skipif(missing("rocksdb") is not None, reason=str(missing("rocksdb")))
needs_mariadb = pytest.mark.skipif(missing("mariadb") is not None, reason=str(missing("mariadb")))
POSTGRESQL = "external:store=postgresql:durability=off"
MARIADB = "external:store=mariadb:durability=off"


@dataclass(frozen=True)
class ServerStore:
    """A store that starts a server, and what is in the server's folder."""

    name: str
    socket: str
    process: str  # the file that begins with the number of its process

    def folder_in(self, place: Path) -> Path:
        """Return the folder of the server that was started in a place."""
        (socket,) = place.glob(f"heddle-store-*/{self.socket}")
        return socket.parent

    def has_started_in(self, place: Path) -> bool:
        """Whether a server listens in a place."""
        files = (self.socket, self.process)
        return all(list(place.glob(f"heddle-store-*/{file}")) for file in files)

    def process_in(self, place: Path) -> int:
        """Return the number of the process of the server that was started in a place."""
        return int((self.folder_in(place) / self.process).read_text().split()[0])


SERVERS = [
    pytest.param(
        ServerStore(POSTGRESQL, ".s.PGSQL.5432", "data/postmaster.pid"),
        marks=needs_postgresql,
        id="postgresql",
    ),
    pytest.param(ServerStore(MARIADB, "mariadb.sock", "pid"), marks=needs_mariadb, id="mariadb"),
]


@pytest.fixture(name="evaluator")
def opened() -> Evaluator:
    return Evaluator(WORKLOAD, 2)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(
            ["external", "external:durability=normal", "external:begin=deferred"],
            marks=needs_sqlite,
        ),
        pytest.param(
            ["external:store=rocksdb", "external:store=rocksdb:durability=off:conflicts=locking"],
            marks=needs_rocksdb,
        ),
    ],
)
def test_a_run_is_consistent_and_leaves_no_folder(
    names: list[str], evaluator: Evaluator, tmp_path: Path
) -> None:
    names = [*names, f"{names[-1]}:folder={tmp_path}"]
    subjects = [subject_of(name, evaluator.signature, untuned) for name in names]
    found = compare(evaluator.run_round, subjects, ComparisonPlan(0.5, 1, 0.0), seed=1)
    assert found.violations == []
    assert all(row.repeats[0].commits > 0 for row in found.rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("store", "file_of_the_database"),
    [
        pytest.param("sqlite", "database.sqlite-wal", marks=needs_sqlite),
        pytest.param("rocksdb", "database/*.log", marks=needs_rocksdb),
    ],
)
def test_a_killed_run_is_swept_by_the_next(
    store: str, file_of_the_database: str, evaluator: Evaluator, tmp_path: Path
) -> None:
    name = f"external:store={store}:folder={tmp_path}"
    script = f"""
        from envs import Evaluator, subject_of, untuned
        evaluator = Evaluator({WORKLOAD!r}, 2)
        subject = subject_of({name!r}, evaluator.signature, untuned)
        evaluator.run(subject, 60.0, warmup=0.0, seed=1)
    """
    running = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
    try:
        while not list(tmp_path.glob(f"heddle-store-*/{file_of_the_database}")):
            assert running.poll() is None
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    (left,) = tmp_path.iterdir()
    subject = subject_of(name, evaluator.signature, untuned)
    evaluator.run(subject, 0.05, warmup=0.0, seed=1)
    assert not left.exists()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def folder_for_a_server() -> Iterator[str]:
    """A folder that other users may enter, with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory() as text:
        Path(text).chmod(0o755)
        yield text


@pytest.mark.parametrize("store", SERVERS)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user")
def test_a_folder_that_the_servers_user_may_not_enter_is_named(
    store: ServerStore, evaluator: Evaluator
) -> None:
    with tempfile.TemporaryDirectory() as text:
        subject = subject_of(f"{store.name}:folder={text}", evaluator.signature, untuned)
        with pytest.raises(MeasuringError, match=r"can't be started in .*Permission denied; with"):
            evaluator.run(subject, 0.05, warmup=0.0, seed=1)
        assert list(Path(text).iterdir()) == []


@needs_postgresql
def test_a_named_server_is_left_as_it_was(evaluator: Evaluator) -> None:
    with folder_for_a_server() as text:
        own = subject_of(f"{POSTGRESQL}:folder={text}", evaluator.signature, untuned)
        assert evaluator.run(own, 0.05, warmup=0.0, seed=1).commits > 0
        (socket,) = Path(text).glob("heddle-store-*/.s.PGSQL.5432")
        server = socket.parent
        dsn = f"host={server} user=heddle dbname=postgres"

        def sql(command: str) -> str:
            psql = ["psql", "-X", "-A", "-t", "-d", dsn, "-c", command]
            return subprocess.run(psql, capture_output=True, text=True, check=True).stdout

        mark = "A run of Heddle. It is dropped when the run ends."
        sql(f"CREATE SCHEMA heddle_1_1; COMMENT ON SCHEMA heddle_1_1 IS '{mark}'")  # left over
        sql("CREATE SCHEMA heddle_1_2; CREATE TABLE heddle_1_2.mine (number int)")
        named = subject_of(
            f"external:store=postgresql:isolation=repeatable_read:dsn={dsn}+smf",
            evaluator.signature,
            untuned,
        )
        found = compare(evaluator.run_round, [named], ComparisonPlan(0.5, 1, 0.0), seed=1)
        assert found.rows[0].repeats[0].commits > 0
        assert found.violations == []
        schemas = sql("SELECT nspname FROM pg_namespace WHERE nspname ~ '^heddle' ORDER BY 1")
        assert schemas.split() == ["heddle_1_2"]
        os.kill(int((server / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)


class MariadbClient:
    """A connection by the C library: no client's program is needed."""

    def __init__(self, socket: Path) -> None:
        self._library = ctypes.CDLL("libmariadb.so.3")
        for function in ("mysql_init", "mysql_real_connect", "mysql_store_result"):
            getattr(self._library, function).restype = ctypes.c_void_p
        self._library.mysql_fetch_row.restype = ctypes.POINTER(ctypes.c_char_p)
        self._library.mysql_error.restype = ctypes.c_char_p
        self._handle = ctypes.c_void_p(self._library.mysql_init(None))
        connected = self._library.mysql_real_connect(
            self._handle, None, b"root", None, None, 0, str(socket).encode(), ctypes.c_ulong(0)
        )
        assert connected, self._library.mysql_error(self._handle)

    def sql(self, command: str) -> list[str]:
        """Run a statement and return the first column of its rows."""
        failed = self._library.mysql_query(self._handle, command.encode())
        assert not failed, self._library.mysql_error(self._handle)
        result = self._library.mysql_store_result(self._handle)
        if result is None:
            return []
        rows = []
        while row := self._library.mysql_fetch_row(ctypes.c_void_p(result)):
            rows.append(row[0].decode())
        self._library.mysql_free_result(ctypes.c_void_p(result))
        return rows

    def close(self) -> None:
        """End the connection, and with it its locks."""
        self._library.mysql_close(self._handle)


@needs_mariadb
def test_a_named_mariadb_server_is_left_as_it_was(evaluator: Evaluator) -> None:
    with folder_for_a_server() as text:
        own = subject_of(f"{MARIADB}:folder={text}", evaluator.signature, untuned)
        assert evaluator.run(own, 0.05, warmup=0.0, seed=1).commits > 0
        (socket,) = Path(text).glob("heddle-store-*/mariadb.sock")
        client, of_another_run = MariadbClient(socket), MariadbClient(socket)
        mark = "A run of Heddle. It is dropped when the run ends."
        for name in ("heddle_1_1", "heddle_1_2"):  # left over, and of a run that has not ended
            client.sql(f"CREATE DATABASE {name} COMMENT '{mark}'")
        assert of_another_run.sql("SELECT GET_LOCK('heddle_1_2', 0)") == ["1"]
        client.sql("CREATE DATABASE heddle_1_3")
        client.sql("CREATE TABLE heddle_1_3.mine (number int)")
        named = subject_of(
            f"{MARIADB}:isolation=serializable:dsn=mariadb://me@localhost?socket={socket}+smf",
            evaluator.signature,
            untuned,
        )
        found = compare(evaluator.run_round, [named], ComparisonPlan(0.5, 1, 0.0), seed=1)
        assert found.rows[0].repeats[0].commits > 0
        assert found.violations == []
        assert client.sql("SHOW DATABASES LIKE 'heddle%'") == ["heddle_1_2", "heddle_1_3"]
        client.close()
        of_another_run.close()
        os.kill(int((socket.parent / "pid").read_text()), signal.SIGQUIT)


@pytest.mark.parametrize("store", SERVERS)
def test_the_server_of_a_killed_run_ends(store: ServerStore, evaluator: Evaluator) -> None:
    with folder_for_a_server() as text:
        folder = Path(text)
        script = f"""
            from envs import Evaluator, subject_of, untuned
            evaluator = Evaluator({WORKLOAD!r}, 2)
            subject = subject_of("{store.name}:folder={text}", evaluator.signature, untuned)
            evaluator.run(subject, 60.0, warmup=0.0, seed=1)
        """
        running = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)])
        try:
            while not store.has_started_in(folder):
                assert running.poll() is None
            process = store.process_in(folder)
        finally:
            os.kill(running.pid, signal.SIGKILL)
            running.wait()
        wait_until(lambda: not Path(f"/proc/{process}").exists())
        left = set(folder.iterdir())
        script = script.replace("60.0", "0.05")
        subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
        assert left
        assert list(folder.iterdir()) == []


@contextmanager
def evaluating(store: ServerStore, folder: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a command that measures in a server, which it has started in the folder."""
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "trainer.command.main", "evaluate", "workload=smallbank"),
            *(f"policy={store.name}:folder={folder}", "run.seconds=60", "workload.accounts=1000"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while not store.has_started_in(Path(folder)):
            assert running.poll() is None
        yield running
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("store", SERVERS)
def test_an_interrupted_command_leaves_no_server_and_no_folder(store: ServerStore) -> None:
    with folder_for_a_server() as folder, evaluating(store, folder) as running:
        server = store.process_in(Path(folder))
        running.send_signal(signal.SIGINT)
        assert running.wait() == INTERRUPTED
        assert not Path(f"/proc/{server}").exists()
        assert list(Path(folder).iterdir()) == []


@pytest.mark.slow  # it waits for time limits
@pytest.mark.parametrize("store", SERVERS)
def test_a_run_whose_server_is_stopped_can_be_interrupted(store: ServerStore) -> None:
    with folder_for_a_server() as folder, evaluating(store, folder) as running:
        server = store.process_in(Path(folder))
        stop(server)
        for process in descendants(server):
            stop(process)
        running.send_signal(signal.SIGINT)
        assert running.wait() == INTERRUPTED
        assert not Path(f"/proc/{server}").exists()


@needs_postgresql
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("store=sqlite:dsn=host=db", "store sqlite has no option 'dsn'; .* postgresql"),
        ("store=postgresql:begin=deferred", "store postgresql has no option 'begin'; .* sqlite"),
        ("store=sqlite:conflicts=locking", "store sqlite has no option 'conflicts'; .* rocksdb"),
        pytest.param(
            "store=rocksdb:isolation=repeatable_read",
            "store rocksdb: it has no isolation=repeatable_read; use serializable or",
            marks=needs_rocksdb,
        ),
        pytest.param(
            "store=rocksdb:conflicts=off",
            "'conflicts' is 'off'; allowed: one of optimistic, locking",
            marks=needs_rocksdb,
        ),
        pytest.param(
            "store=mariadb:begin=deferred",
            "store mariadb has no option 'begin'; .* sqlite",
            marks=needs_mariadb,
        ),
        pytest.param(
            "store=mariadb:dsn=mariadb://me:abracadabra@db:3306",
            "MYSQL_PWD",
            marks=needs_mariadb,
        ),
        pytest.param(
            "store=mariadb:dsn=mariadb://me@db:3306/shop",
            "names a database; leave it out",
            marks=needs_mariadb,
        ),
        pytest.param(
            "store=mariadb:dsn=host=abracadabra",
            "is no address of MariaDB; give one such as",
            marks=needs_mariadb,
        ),
        ("store=postgresql:folder=/tmp:dsn=host=db", "leave it out with dsn="),
        ("store=postgresql:dsn=postgresql://me:abracadabra@db:5432/shop", "PGPASSWORD"),
        ("stor=postgresql:dsn=postgresql://me:abracadabra@db:5432/shop", "unknown option 'stor'"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    evaluator: Evaluator, options: str, words: str
) -> None:
    with pytest.raises(UnknownPolicyError, match=words) as refused:
        subject_of(f"external:{options}", evaluator.signature, untuned)
    assert "abracadabra" not in str(refused.value)


@needs_sqlite
def test_a_failure_names_its_cause_and_keeps_what_was_measured(
    evaluator: Evaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(f"external:folder={tmp_path / 'no'}", evaluator.signature, untuned)
    with pytest.raises(MeasuringError, match=r"no folder .* can be made in .*; name a folder"):
        evaluator.run(subject, 0.05, warmup=0.0, seed=1)

    lost = "store sqlite: database or disk is full (/data/database.sqlite); free space there"
    measured = evaluator._run

    def failing(*arguments: Any) -> dict[str, Any]:
        return measured(*arguments) | {"failure": lost}

    monkeypatch.setattr(evaluator, "_run", failing)
    plan = ComparisonPlan(0.05, 3, 0.0)
    silo = subject_of("silo", evaluator.signature, untuned)
    found = compare(evaluator.run_round, [silo], plan, seed=1)
    (row,) = found.rows
    assert len(row.repeats) == 1
    assert row.repeats[0].commits > 0
    (violation,) = found.violations
    assert lost in violation


def test_it_needs_real_cores() -> None:
    virtual = Evaluator(WORKLOAD, 2, machine={"kind": "virtual"})
    with pytest.raises(MeasuringError, match="use machine=threads"):
        virtual.run(Subject(EXTERNAL, EXTERNAL), 0.001, warmup=0.0, seed=1)


def test_a_store_that_is_not_built_names_its_package(tmp_path: Path) -> None:
    """The library stands alone: without modules next to it, it has no stores."""
    source = engine._engine.__file__
    script = f"""
        import importlib.util, shutil
        path = shutil.copy("{source}", "{tmp_path}/copied.so")
        spec = importlib.util.spec_from_file_location("engine._engine", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            module.check_protocol("external", {{}})
        except ValueError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "store sqlite: this build lacks it" in printed
    assert "apt-get install libsqlite3-dev" in printed
    assert "make -B setup" in printed
