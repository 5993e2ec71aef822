"""The record of a run in MLflow, on which training never depends."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from policies import PolicyDocument
from trainer.checkpoint import GenerationRecord
from trainer.config import MlflowConfig
from trainer.mlflow_store import MlflowStore, reason_of, sqlite_file
from trainer.policy_registry import (
    PolicyRegistry,
    Registered,
    register_candidate,
    register_version,
)
from trainer.record_label import RunLabel
from trainer.verdict import Verdict

BATCH_MAX = 100
"""The most settings that MLflow takes at a time."""


PARENT = "mlflow.parentRunId"
"""The tag with a run's parent run."""

KIND, OF_MODELS = "mlflow.experimentKind", "custom_model_development"
"""The tag that makes MLflow open an experiment with its runs instead of traces."""

VIEW = "workflowType=machine_learning"
"""The part of an address that opens the view with the runs."""

DESCRIPTION, DESCRIPTION_MAX = "mlflow.note.content", 8000
NAME_MAX = 240
"""Characters of a figure's name: MLflow takes 250, and a number may follow."""

TAG_MAX = 5000
"""Characters of a tag that any version of MLflow keeps."""

_NOT_IN_NAMES = re.compile(r"[^\w.\-/ :]")


class Record:
    """One MLflow run. If MLflow fails, one message says so.

    If the run can't be started, there is no record. Later, only values that MLflow refuses are left
    out. If MLflow does not answer, further generations are left out. The end of the run is recorded
    if possible.

    Args:
        config: where to record.
        runs_dir: holds the default store.
        say: shows a message to the user.
        parent: the parent MLflow run, or None.
        label: name, tags and hidden settings; None = the name at `start`, and nothing is hidden.
    """

    def __init__(
        self,
        config: MlflowConfig,
        runs_dir: Path,
        say: Callable[[str], None],
        parent: str | None = None,
        label: RunLabel | None = None,
    ) -> None:
        self._parent = parent
        self._label = label
        self._config = config
        self._say = say
        self._runs_dir = runs_dir.resolve()
        self._store = MlflowStore(config.uri, self._runs_dir)
        self._client: Any = None
        self._experiment_id = ""
        self._away = False
        self.run_id: str | None = None

    @property
    def uri(self) -> str:
        """Return the URI of the store."""
        return self._store.uri

    def start(self, name: str, params: Mapping[str, Any], run_id: str | None) -> None:
        """Start the run, or continue `run_id`.

        Args:
            name: the run's name, if it has no label.
            params: settings, nested mappings allowed.
            run_id: an earlier MLflow run to continue, or None. If the store no longer has it, a
                message says so, and a new one is started.
        """
        if not self._config.enabled:
            return
        with self._tolerant("start a record"):
            self._client = self._store.connect()
            experiment = self._client.get_experiment_by_name(self._config.experiment)
            self._experiment_id = experiment.experiment_id if experiment else self._create()
            if experiment is None or KIND not in experiment.tags:
                self._client.set_experiment_tag(self._experiment_id, KIND, OF_MODELS)
            label = self._label or RunLabel(name)
            if run_id is not None:
                if self._has(run_id):
                    self._client.update_run(run_id, status="RUNNING")
                    self.run_id = run_id
                    for key, value in label.tags.items():
                        self._client.set_tag(run_id, key, value[:TAG_MAX])
                    return
                self._say(
                    f"MLflow at {self.uri} has no run {run_id}: it was deleted, or this is another "
                    "store than before; a new record is started"
                )
            parent = self._parent if self._parent and self._has(self._parent) else None
            tags = {key: value[:TAG_MAX] for key, value in label.tags.items()}
            tags |= {} if parent is None else {PARENT: parent}
            run = self._client.create_run(self._experiment_id, run_name=label.name, tags=tags)
            self.run_id = run.info.run_id
        if self.run_id is not None:
            with self._tolerant("record the settings"):
                self._settings(params)

    def _has(self, run_id: str) -> bool:
        """Return whether the store has a run that is not deleted."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(self._client.get_run(run_id).info.lifecycle_stage == "active")
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return False

    def _settings(self, params: Mapping[str, Any]) -> None:
        """Log settings in batches, since each request to a slow server takes long."""
        from mlflow.entities import Param

        hidden = self._label.hidden if self._label is not None else ()
        found = [
            Param(key, value)
            for key, value in _flatten(params)
            if not any(key == group or key.startswith(f"{group}.") for group in hidden)
        ]
        for begin in range(0, len(found), BATCH_MAX):
            self._client.log_batch(self.run_id, params=found[begin : begin + BATCH_MAX])

    def generation(self, record: GenerationRecord) -> None:
        """Log one generation's metrics; the step is the number of evaluations."""
        if self.run_id is None or self._away:
            return
        with self._tolerant("record a generation"):
            from mlflow.entities import Metric

            values = {
                "fitness/incumbent": record.estimate,
                "fitness/best": record.best,
                "fitness/median": record.median,
                "fitness/worst": record.worst,
                "evaluations": record.evaluations,
                "generation": record.generation,
                "seconds": record.seconds,
            }
            noted = {
                "fitness/incumbent_samples": record.samples,
                "fitness/best_so_far": record.best_so_far,
            }
            values |= {name: value for name, value in noted.items() if value is not None}
            now = _now_ms()
            metrics = [Metric(key, value, now, record.evaluations) for key, value in values.items()]
            self._client.log_batch(self.run_id, metrics=metrics)

    def scores(self, scores: Mapping[str, float]) -> None:
        """Log final figures, such as the score against each baseline."""
        if self.run_id is None:
            return
        for name, value in zip(_metric_names(scores), scores.values(), strict=True):
            with self._tolerant(f"record {name}"):
                self._client.log_metric(self.run_id, name, value)
            if self._away:
                return

    def describe(self, text: str) -> None:
        """Set the Markdown at the top of the record's page."""
        if self.run_id is not None:
            with self._tolerant("record the description"):
                self._client.set_tag(self.run_id, DESCRIPTION, text[:DESCRIPTION_MAX])

    def verdict(self, name: str, verdict: Verdict) -> None:
        """Tag the run with a comparison's verdict, and log its figures as metrics."""
        if self.run_id is None:
            return
        with self._tolerant(f"record {name}"):
            self._client.set_tag(self.run_id, f"heddle.{name}", verdict.kind.value)
            self._client.set_tag(self.run_id, f"heddle.{name}.words", verdict.line[:TAG_MAX])
        figures = {"ratio": verdict.ratio, "low": verdict.low, "high": verdict.high}
        self.scores({f"{name}/{key}": value for key, value in figures.items() if value is not None})

    def artifacts(self, root: Path, *paths: Path) -> None:
        """Add files below a folder to the record, under the same names."""
        for path in paths:
            if self.run_id is not None and path.exists():
                below = path.parent.relative_to(root).as_posix()
                with self._tolerant(f"keep {path.name}"):
                    self._client.log_artifact(
                        self.run_id, str(path), None if below == "." else below
                    )
                if self._away:
                    return

    def attach(self, run_id: str, *paths: Path) -> None:
        """Add files to another run, whose status and times do not change."""
        if not self._config.enabled:
            return
        try:
            client = self._store.connect()
            for path in paths:
                client.log_artifact(run_id, str(path))
        except Exception as error:
            self._say(
                f"MLflow at {self.uri} could not keep the files ({reason_of(error)}). The files "
                "themselves are written."
            )

    def register(
        self, document: PolicyDocument, model: str, front: Sequence[PolicyDocument] = ()
    ) -> Registered | None:
        """Register a policy as a version of a model; show a message and return None on failure.

        Args:
            document: the policy, which becomes the candidate.
            model: name of the registered model.
            front: other policies, which become versions without an alias.
        """
        if self.run_id is None:
            self._say(f"{model} gets no version: there is no record in MLflow")
            return None
        try:
            registered = register_candidate(self._client, model, document, self.run_id)
            registry = PolicyRegistry(self._client, model)
            for policy in front:
                register_version(self._client, registry, policy, self.run_id)
            return registered
        except Exception as error:
            self._say(
                f"MLflow at {self.uri} could not register the policy as a version of {model} "
                f"({reason_of(error)}). The policy is saved."
            )
            return None

    def end(self, status: str = "FINISHED") -> None:
        """Close the record: FINISHED, FAILED or KILLED."""
        if self.run_id is not None:
            with self._tolerant("close the record"):
                self._client.set_terminated(self.run_id, status=status)

    @property
    def how_to_open(self) -> str | None:
        """Return the command and the address that show the record; None if there is none."""
        if self.run_id is None:
            return None
        # Without the query MLflow opens the view of traces, which has no runs.
        page = f"#/experiments/{self._experiment_id}/runs/{self.run_id}?{VIEW}"
        if sqlite_file(self.uri) is None:
            return f"{self.uri.rstrip('/')}/{page}" if "://" in self.uri else self.uri
        return (
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false mlflow server --workers 1 --port 5000 "
            f"--backend-store-uri {shlex.quote(self.uri)}\n  then open http://127.0.0.1:5000/{page}"
        )

    def _create(self) -> str:
        place = (self._runs_dir / "mlartifacts").as_uri() if self._store.is_local else None
        from mlflow.exceptions import MlflowException

        try:
            return str(self._client.create_experiment(self._config.experiment, place))
        except MlflowException:
            # Another run has created it meanwhile.
            experiment = self._client.get_experiment_by_name(self._config.experiment)
            if experiment is None:
                raise
            return str(experiment.experiment_id)

    @contextmanager
    def _tolerant(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # A refused value does not mean that MLflow refuses others.
            refused = getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE"
            if not self._away:
                self._say(
                    f"MLflow at {self.uri} could not {what} ({reason_of(error)}). Training "
                    f"continues {self._how_recorded(refused)}; the policy and the checkpoints are "
                    "saved."
                )
            self._away = self._away or not refused
        else:
            self._away = False

    def _how_recorded(self, refused: bool) -> str:
        if self.run_id is None:
            return "without a record"
        return "and the rest is recorded" if refused else "and is recorded as far as possible"


def _metric_names(names: Iterable[str]) -> list[str]:
    """Return distinct names of figures that MLflow accepts: a baseline may be a path or have a `+`.

    MLflow refuses most special characters, a leading `/`, and the parts `.` and `..`.
    """
    found: list[str] = []
    for name in names:
        parts = _NOT_IN_NAMES.sub("_", name)[:NAME_MAX].split("/")
        made = free = "/".join(part for part in parts if part not in ("", ".", ".."))
        number = 1
        while free in found:
            number += 1
            free = f"{made}-{number}"
        found.append(free)
    return found


def _flatten(params: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings by their dotted names; a mapping with keys that MLflow refuses is one of them.

    The limits of an objective have such keys, as in `*.p99`.
    """
    for key, value in params.items():
        if isinstance(value, Mapping) and not any(
            _NOT_IN_NAMES.search(str(name)) for name in value
        ):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
