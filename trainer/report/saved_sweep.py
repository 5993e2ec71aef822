"""The stored runs of a sweep, and their statistics over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from policies import PolicyFileError
from trainer.checkpoint import CheckpointError
from trainer.report.saved_run import SavedRun, SavedRunError, read_run
from trainer.run_folder import RunFolderError
from trainer.sweep_folder import Sweep, SweepRun

SEED = "seed"
"""The setting in which runs of one kind differ."""


@dataclass(frozen=True)
class SweptRun:
    """A run of a sweep.

    Attributes:
        values: its values of the swept settings.
        name: its folder's name, or its values if it has not started.
        state: its progress, in words.
        run: its stored results; None if it has not started or is unreadable.
        reason: why it is unreadable; empty otherwise.
    """

    values: dict[str, str]
    name: str
    state: str
    run: SavedRun | None
    reason: str = ""


@dataclass(frozen=True)
class SweptKind:
    """The runs that differ only in the seed.

    Attributes:
        values: their common values of the swept settings.
        scores: the finished runs' throughput relative to the best baseline, on their machines.
        missing: the number of unfinished runs.
    """

    values: dict[str, str]
    scores: list[float]
    missing: int

    @property
    def quartiles(self) -> tuple[float, float, float] | None:
        """First quartile, median and third quartile of the scores; None without scores."""
        if not self.scores:
            return None
        if len(self.scores) == 1:
            return self.scores[0], self.scores[0], self.scores[0]
        first, middle, third = statistics.quantiles(self.scores, n=4, method="inclusive")
        return first, middle, third


@dataclass(frozen=True)
class SavedSweep:
    """A sweep and its runs.

    Attributes:
        sweep: the sweep's folder.
        runs: in the order of execution.
    """

    sweep: Sweep
    runs: Sequence[SweptRun]

    @property
    def finished(self) -> int:
        """The number of finished runs."""
        return sum(swept.run is not None and swept.run.finished for swept in self.runs)

    def kinds(self) -> list[SweptKind]:
        """Group the runs that differ only in the seed; empty if only the seed is swept."""
        if set(self.sweep.axes) <= {SEED}:
            named = {"": list(self.runs)}
        else:
            named = {}
            for swept in self.runs:
                key = str({name: swept.values[name] for name in swept.values if name != SEED})
                named.setdefault(key, []).append(swept)
        found = []
        for runs in named.values():
            done = [swept.run for swept in runs if swept.run is not None and swept.run.finished]
            scores = [run.best[1] for run in done if run.best is not None]
            values = {key: value for key, value in runs[0].values.items() if key != SEED}
            found.append(SweptKind(values, scores, len(runs) - len(scores)))
        return found


def kinds_markdown(kept: SavedSweep) -> str:
    """Return the statistics over the seeds as a Markdown table."""
    columns = [key for key in kept.sweep.axes if key != SEED]
    heads = [*columns, "finished", "unfinished", "× best baseline, median", "quartiles"]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for kind in kept.kinds():
        found = kind.quartiles
        figures = ["–", "–"]
        if found is not None:
            figures = [f"{found[1]:.3f}", f"{found[0]:.3f} – {found[2]:.3f}"]
        values = [kind.values.get(key, "–") for key in columns]
        lines.append(_line([*values, str(len(kind.scores)), str(kind.missing), *figures]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def read_sweep(sweep: Sweep) -> SavedSweep:
    """Read the runs of a sweep; an unreadable run has a reason."""
    return SavedSweep(sweep, [_read(sweep, run) for run in sweep.runs])


def _read(sweep: Sweep, run: SweepRun) -> SweptRun:
    folder = sweep.folder_of(run)
    if folder is None or not folder.overrides.exists():
        return SweptRun(run.values, " ".join(run.overrides), str(run.state), None)
    try:
        kept = read_run(folder)
    except (SavedRunError, CheckpointError, PolicyFileError, RunFolderError) as error:
        return SweptRun(run.values, folder.name, "damaged", None, str(error))
    state = "running" if kept.running else "finished" if kept.finished else "not finished"
    return SweptRun(run.values, folder.name, state, kept)
