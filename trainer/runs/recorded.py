"""The MLflow record of a finished run: its tags, and its deletion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trainer.checkpoint import Checkpoint, CheckpointError
from trainer.mlflow_store import MlflowStore, reason_of, sqlite_file
from trainer.run_folder import RunFolder
from trainer.runs.tags import PREFIX


class RunRecord:
    """The MLflow record of a run, if there is one; errors of MLflow are returned, not raised.

    Args:
        run: the run.
        runs_dir: the folder of the store, unless the run was recorded elsewhere.
    """

    def __init__(self, run: RunFolder, runs_dir: Path) -> None:
        try:
            self._run_id = Checkpoint.load(run.path).mlflow_run_id
        except CheckpointError:
            self._run_id = None
        mlflow = run.saved_settings().get("mlflow")
        uri = mlflow.get("uri") if isinstance(mlflow, Mapping) else None
        self._store = MlflowStore(str(uri) if uri else None, runs_dir)

    @property
    def exists(self) -> bool:
        """Whether the run was recorded, and its store may still exist."""
        if self._run_id is None:
            return False
        file = sqlite_file(self._store.uri)
        return file is None or file.is_file()

    def tag(self, tags: Mapping[str, str], removed: Iterable[str]) -> str | None:
        """Set and remove tags; return the reason of a failure, else None."""
        if not self.exists:
            return None
        try:
            client = self._store.connect()
            known = client.get_run(self._run_id).data.tags
            for key in removed:
                if f"{PREFIX}{key}" in known:
                    client.delete_tag(self._run_id, f"{PREFIX}{key}")
            for key, value in tags.items():
                client.set_tag(self._run_id, f"{PREFIX}{key}", value)
        except Exception as error:
            return f"MLflow at {self._store.uri}: {reason_of(error)}"
        return None

    def delete(self) -> str | None:
        """Mark the record as deleted; return why it stays, None if it is deleted.

        A record with the file of a registered version stays.
        """
        if not self.exists:
            return None
        try:
            client = self._store.connect()
            versions: list[Any] = list(client.search_model_versions(f"run_id = '{self._run_id}'"))
            if versions:
                name, number = versions[0].name, versions[0].version
                return f"its record in MLflow stays: registry:{name}/{number} is kept there"
            client.delete_run(self._run_id)
        except Exception as error:
            return f"its record stays; MLflow at {self._store.uri}: {reason_of(error)}"
        return None
