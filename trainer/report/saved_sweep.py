"""What the runs of a sweep left behind, and what they come to over the seeds."""

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
"""What runs of one kind differ in."""


@dataclass(frozen=True)
class SweptRun:
    """A run of a sweep.

    Attributes:
        values: what it has of the settings that are swept.
        name: its folder's name; of a run that has not begun, its values.
        state: how far it is, in words.
        run: what it left; None if it has not begun or can't be read.
        reason: why it can't be read; empty if it can.
    """

    values: dict[str, str]
    name: str
    state: str
    run: SavedRun | None
    reason: str = ""


@dataclass(frozen=True)
class SweptKind:
    """The runs that differ in nothing but the seed.

    Attributes:
        values: what they share of the settings that are swept.
        scores: of the finished ones, throughput ÷ the best baseline's on the machine of the run.
        missing: how many others there are.
    """

    values: dict[str, str]
    scores: list[float]
    missing: int

    @property
    def quartiles(self) -> tuple[float, float, float] | None:
        """First quartile, median and third quartile of the scores; None without any."""
        if not self.scores:
            return None
        if len(self.scores) == 1:
            return self.scores[0], self.scores[0], self.scores[0]
        first, middle, third = statistics.quantiles(self.scores, n=4, method="inclusive")
        return first, middle, third


@dataclass(frozen=True)
class SavedSweep:
    """A sweep.

    Attributes:
        sweep: its folder.
        runs: in the order in which they are made.
    """

    sweep: Sweep
    runs: Sequence[SweptRun]

    @property
    def finished(self) -> int:
        """How many runs are finished."""
        return sum(one.run is not None and one.run.finished for one in self.runs)

    def kinds(self) -> list[SweptKind]:
        """The runs by what they share but for the seed; none if no setting but that is swept."""
        if set(self.sweep.axes) <= {SEED}:
            named = {"": list(self.runs)}
        else:
            named = {}
            for one in self.runs:
                key = str({name: one.values[name] for name in one.values if name != SEED})
                named.setdefault(key, []).append(one)
        found = []
        for runs in named.values():
            done = [one.run for one in runs if one.run is not None and one.run.finished]
            scores = [run.best[1] for run in done if run.best is not None]
            values = {key: value for key, value in runs[0].values.items() if key != SEED}
            found.append(SweptKind(values, scores, len(runs) - len(scores)))
        return found


def kinds_markdown(kept: SavedSweep) -> str:
    """What the runs come to over the seeds, as a table in Markdown."""
    columns = [key for key in kept.sweep.axes if key != SEED]
    heads = [*columns, "finished", "others", "× best baseline, median", "quartiles"]
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
    """Read the runs of a sweep; one that can't be read has the reason."""
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
