"""The MLflow store, and its client."""

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
    """An MLflow server, or Heddle's own SQLite file.

    Attributes:
        configured: its URI; None for the file in `folder`.
        folder: holds the file.
    """

    configured: str | None
    folder: Path

    @property
    def is_local(self) -> bool:
        """Return whether the store is the file."""
        return self.configured is None

    @property
    def uri(self) -> str:
        """Return its URI, in which special characters of a path are escaped."""
        return self.configured or _sqlite_uri(self.folder.resolve() / FILE_NAME)

    def connect(self) -> Any:
        """Return a client; create the file if it is missing.

        Raises:
            Exception: any, as MLflow and its libraries raise them.
        """
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(UNREACHABLE_SECONDS))
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        # Takes seconds to import, so only here.
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
    """Return the file of an SQLite store, as MLflow resolves it; None for other stores."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        place = make_url(uri)
    except (ArgumentError, ValueError):  # MLflow reports the error
        return None
    if place.get_backend_name() != "sqlite" or (place.database or "").startswith("file:"):
        return None
    return Path(place.database or "")


def _sqlite_uri(path: Path) -> str:
    # Takes a moment to import, so only here.
    from sqlalchemy.engine import URL

    plain = f"sqlite:///{path}"
    if sqlite_file(plain) == path:
        return plain
    # With the driver's name: with the plain one MLflow creates a folder with the escaped name.
    return URL.create("sqlite+pysqlite", database=str(path)).render_as_string(hide_password=False)


def reason_of(error: Exception) -> str:
    """Return the first line of an error's message."""
    return str(error).strip().splitlines()[0] if str(error).strip() else repr(error)


def _make(database: Path) -> None:
    """Create the database under a temporary name and rename it.

    A process that is killed while it creates the tables would leave a database that no version of
    MLflow can open.
    """
    from mlflow import MlflowClient

    for left_behind in database.parent.glob(f".{database.name}.*"):
        left_behind.unlink(missing_ok=True)
    temporary = database.with_name(f".{database.name}.{os.getpid()}")
    try:
        uri = _sqlite_uri(temporary)
        MlflowClient(tracking_uri=uri, registry_uri=uri).search_experiments(max_results=1)
        temporary.replace(database)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock: two processes that create the database at once break its migration."""
    with path.open("w") as file:
        lock(file, path, wait=True)
        yield
