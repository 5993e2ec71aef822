"""MLflow's store: where it is, and a client of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.lock import lock

UNREACHABLE_SECONDS = 10
"""A tracking server that does not answer within this time is treated as absent."""

FILE_NAME = "mlflow.db"
"""The database, in the folder of the runs."""


@dataclass(frozen=True)
class MlflowStore:
    """An MLflow server, or an SQLite file of our own.

    Attributes:
        configured: its URI; None for the file in `folder`.
        folder: holds the file.
    """

    configured: str | None
    folder: Path

    @property
    def is_local(self) -> bool:
        """Whether it is the file."""
        return self.configured is None

    @property
    def uri(self) -> str:
        """As MLflow takes it: a path has signs that mean something in a URI, which are escaped."""
        return self.configured or _sqlite_uri(self.folder.resolve() / FILE_NAME)

    def connect(self) -> Any:
        """A client; the file is made if it is not there.

        Raises:
            Exception: any, as MLflow and its libraries raise them.
        """
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(UNREACHABLE_SECONDS))
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        # Takes seconds to import: only where it is used.
        from mlflow import MlflowClient

        for noisy in ("alembic", "mlflow.store.db.utils", "mlflow"):
            logging.getLogger(noisy).setLevel(logging.ERROR)
        if not self.is_local:
            return MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)
        self.folder.mkdir(parents=True, exist_ok=True)
        with _alone(self.folder / ".mlflow.lock"):
            database = self.folder.resolve() / FILE_NAME
            if not database.exists():
                _make(database)
            client = MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)
            client.search_experiments(max_results=1)
            return client


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite store, by the rules by which MLflow opens it; None of other stores."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        place = make_url(uri)
    except (ArgumentError, ValueError):  # MLflow says what is wrong with it
        return None
    if place.get_backend_name() != "sqlite" or (place.database or "").startswith("file:"):
        return None
    return Path(place.database or "")


def _sqlite_uri(path: Path) -> str:
    # Takes a moment to import: only where a store is named.
    from sqlalchemy.engine import URL

    plain = f"sqlite:///{path}"
    if sqlite_file(plain) == path:
        return plain
    # Under the driver's name: under the plain one MLflow makes the folder whose name is escaped.
    return URL.create("sqlite+pysqlite", database=str(path)).render_as_string(hide_password=False)


def reason_of(error: Exception) -> str:
    """Why it failed, in a line."""
    return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)


def _make(database: Path) -> None:
    """Make the database next to its place and rename it.

    A process that is killed while the tables are made would leave a database that no version of
    MLflow can open.
    """
    from mlflow import MlflowClient

    for left_behind in database.parent.glob(f".{database.name}.*"):
        left_behind.unlink(missing_ok=True)
    beside = database.with_name(f".{database.name}.{os.getpid()}")
    try:
        uri = _sqlite_uri(beside)
        MlflowClient(tracking_uri=uri, registry_uri=uri).search_experiments(max_results=1)
        beside.replace(database)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two processes that create the database at once break its migration."""
    with path.open("w") as file:
        lock(file, path, wait=True)
        yield
