"""The entry of a run in a list, read without its policy or its MLflow record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from envs import machine_words
from envs.result import Machine
from trainer.checkpoint import FILE_NAME
from trainer.lock import is_held
from trainer.run_folder import RunFolder
from trainer.runs.tags import read_tags
from trainer.sweep_folder import SWEEPS

FINISHED = "finished"
RUNNING = "running"
NOT_FINISHED = "not finished"
DAMAGED = "damaged"


@dataclass(frozen=True)
class RunSummary:
    """A run in a list.

    Attributes:
        name: its name in commands: relative to `runs_dir`, or the folder.
        path: its folder.
        began: when its folder was created, UTC, in ISO 8601.
        state: its progress.
        workload: its name.
        machine: the machine it was trained on, in words.
        search: the search.
        seed: its seed.
        typed: the overrides on the command line.
        baseline: the verdict's baseline, the best of the closing comparison; None before it.
        score: throughput relative to it: the geometric mean over the repeats, as in the verdict.
        score_on_threads: throughput relative to the best baseline on real cores.
        verdict: of the closing comparison, in a line; None if none is stored.
        tags: set by users.
        bytes: the size of its folder.
    """

    name: str
    path: str
    began: str
    state: str
    workload: str
    machine: str
    search: str
    seed: int | None
    typed: list[str] = field(default_factory=list)
    baseline: str | None = None
    score: float | None = None
    score_on_threads: float | None = None
    verdict: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    bytes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def find_runs(runs_dir: Path) -> list[RunFolder]:
    """Find all runs in a folder and in its sweeps, the newest last."""
    found = [RunFolder(path) for path in _folders(runs_dir) if is_run(path)]
    return sorted(found, key=lambda run: (_began(run.path), str(run.path)))


def is_run(path: Path) -> bool:
    """Whether `heddle train` created the folder for a run."""
    run = RunFolder(path)
    return run.config.is_file() and (
        run.overrides.is_file() or run.policy.is_file() or (path / FILE_NAME).is_file()
    )


def read_summary(run: RunFolder, runs_dir: Path) -> RunSummary:
    """Read the entry of a run; with unreadable files its state is `damaged`."""
    settings = run.saved_settings()
    provenance, damaged = _provenance(run)
    comparison, unreadable = _json(run.scenarios(1)[0].comparison)
    scenarios = settings.get("robust", {}).get("scenarios") if settings else None
    if scenarios:
        comparison, unreadable = _json(run.scenarios(len(scenarios) + 1)[0].comparison)
    scores, on_threads = _best(provenance.get("scores")), _best(provenance.get("scores_on_threads"))
    if not scenarios:  # with several scenarios the score is combined, and the verdict the first's
        validation, _ = _json(run.scenarios(1)[0].validation)
        scores = _judged(comparison) or scores
        on_threads = _judged(validation) or on_threads
    finished = comparison is not None and not comparison.get("interrupted")
    state = FINISHED if finished else NOT_FINISHED
    if damaged or unreadable or not settings:
        state = DAMAGED
    if is_held(run.path):
        state = RUNNING
    workload, search = _part(settings, "workload"), _part(settings, "search")
    seed = settings.get("seed")
    return RunSummary(
        name=_name(run.path, runs_dir),
        path=str(run.path),
        began=datetime.fromtimestamp(_began(run.path), UTC).isoformat(timespec="seconds"),
        state=state,
        workload=str(workload.get("name", "–"))
        + (f" ({len(scenarios)} entries)" if scenarios else ""),
        machine=_machine(provenance, settings),
        search=str(search.get("name", "–")),
        seed=seed if isinstance(seed, int) else None,
        typed=_typed(run),
        baseline=scores[0] if scores else None,
        score=scores[1] if scores else None,
        score_on_threads=on_threads[1] if on_threads else None,
        verdict=_verdict(comparison),
        tags=read_tags(run),
        bytes=sum(path.lstat().st_size for path in run.path.rglob("*") if path.is_file()),
    )


def _folders(runs_dir: Path) -> Iterator[Path]:
    if not runs_dir.is_dir():
        return
    for path in runs_dir.iterdir():
        if path.name.startswith(".") or not path.is_dir():
            continue
        if path.name != SWEEPS:
            yield path
            continue
        for sweep in path.iterdir():
            if sweep.is_dir():
                yield from (folder for folder in sweep.iterdir() if folder.is_dir())


def _began(path: Path) -> float:
    """Return when a run started: the time of its settings, written at the start or on resuming."""
    times = [file.stat().st_mtime for file in (path / "config.yaml", path) if file.exists()]
    return min(times, default=0.0)


def _name(path: Path, runs_dir: Path) -> str:
    try:
        return path.resolve().relative_to(runs_dir.resolve()).as_posix()
    except ValueError:
        return str(path)


def _json(path: Path) -> tuple[Mapping[str, Any] | None, bool]:
    """Return a document, None if missing, and whether it is unreadable."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, False
    except (OSError, ValueError, RecursionError):
        return None, True
    return (found, False) if isinstance(found, Mapping) else (None, True)


def _provenance(run: RunFolder) -> tuple[Mapping[str, Any], bool]:
    policy, damaged = _json(run.policy)
    return (_part(policy, "provenance") if policy is not None else {}), damaged


def _best(scores: Any) -> tuple[str, float] | None:
    """Return the best baseline, and the score relative to it."""
    if not isinstance(scores, Mapping):
        return None
    known = {str(name): score for name, score in scores.items() if isinstance(score, int | float)}
    if not known:
        return None
    name = min(known, key=lambda baseline: known[baseline])
    return name, float(known[name])


def _judged(comparison: Mapping[str, Any] | None) -> tuple[str, float] | None:
    """Return the verdict's baseline and ratio, as in the run's page; None if none is stored."""
    found = _part(comparison or {}, "verdict")
    name, ratio = found.get("baseline"), found.get("ratio")
    return (
        (name, float(ratio)) if isinstance(name, str) and isinstance(ratio, int | float) else None
    )


def _verdict(comparison: Mapping[str, Any] | None) -> str | None:
    found = _part(comparison or {}, "verdict").get("line")
    return str(found) if found is not None else None


def _machine(provenance: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    for place in (_part(provenance, "machine"), _part(settings, "machine")):
        kind, cores = place.get("kind"), place.get("cores")
        if isinstance(kind, str) and isinstance(cores, int):
            return machine_words(Machine(kind, cores))
    return "all real cores" if _part(settings, "machine").get("kind") == "threads" else "–"


def _typed(run: RunFolder) -> list[str]:
    try:
        found = json.loads(run.overrides.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [str(text) for text in found] if isinstance(found, list) else []


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}
