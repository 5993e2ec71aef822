"""The runs of sweeps, as a contest sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs import TunedBackoff
from envs.engine_interface import load_engine
from envs.evaluator import reference_seconds
from envs.workload import workload_signature
from policies import Encoding, PolicyDocument, load
from policies.policy_digest import policy_digest
from trainer.checkpoint import Checkpoint, CheckpointError, Incumbent
from trainer.config import TrainConfig, workload_options
from trainer.contest.naming import Names, Settings, name_runs
from trainer.evaluation import Samples
from trainer.run_folder import RunFolder
from trainer.search import Candidate
from trainer.search.space import space_of
from trainer.sweep_folder import Sweep


@dataclass(frozen=True)
class Reference:
    """What a run's fitness is relative to: Silo as its search ran it beside its candidates.

    Attributes:
        tuned: under this backoff.
        seconds: for so long at a time …
        warmup: … after so many unmeasured seconds.
    """

    tuned: TunedBackoff
    seconds: float
    warmup: float

    @classmethod
    def of(cls, tuned: TunedBackoff, config: TrainConfig) -> Reference:
        """That of a run with these settings."""
        race = config.evaluation
        seconds = reference_seconds(race.slice_seconds, config.machine.kind)
        return cls(tuned, seconds, race.warmup_seconds)


@dataclass(frozen=True)
class Entrant:
    """A finished run.

    Attributes:
        case: its workload and machine, as far as these tell runs apart (`name_runs`).
        method: its search, with its settings that do.
        seed: its seed.
        folder: where it is.
        config: its settings.
        encoding: of its tables.
        reference: what its search's fitness is relative to.
        evaluations: candidates charged to it.
        seconds: that its search took.
        refused: candidates that failed the check.
        bests: its best so far, each time that it changed; none if it found nothing.
        champion: what it ends with. A seed that its search never measured, or has long forgotten,
            and that only the closing choice took in, is none of its search's: then this is the
            last best so far. None if its search found no table that can be used: it scores 0.
        trained: what the search took the champion's fitness for.
    """

    case: str
    method: str
    seed: int
    folder: RunFolder
    config: TrainConfig
    encoding: Encoding
    reference: Reference
    evaluations: int
    seconds: float
    refused: int
    incumbents: tuple[Incumbent, ...]
    champion: Candidate | None
    trained: float

    def name_of(self, vector: Sequence[int]) -> str:
        """What equal tables of all runs share: a vector's meaning hangs on a run's settings."""
        return policy_digest(self.encoding.decode(vector, self.method))

    @property
    def name(self) -> str:
        """Its folder, in that of its sweep."""
        return "/".join(self.folder.path.parts[-2:])

    def in_force(self, points: int, evaluations: int, seconds: float) -> list[Incumbent]:
        """The bests that stand for its curve: the first, those at some moments, and the last.

        Args:
            points: moments, evenly apart.
            evaluations: that all runs of its workload have: the last of the moments. A run that has
                more has as many moments over all of its own.
            seconds: that the quickest of them took: one more moment.
        """
        if len(self.incumbents) <= points:
            return list(self.incumbents)
        ends = {evaluations, self.evaluations}
        moments = [end * (point + 1) / points for end in ends for point in range(points)]
        chosen = {0, len(self.incumbents) - 1}
        chosen |= {_last([best.evaluations <= at for best in self.incumbents]) for at in moments}
        chosen |= {_last([best.seconds <= seconds for best in self.incumbents])}
        return [self.incumbents[i] for i in sorted(chosen)]


def _last(there: Sequence[bool]) -> int:
    """The number of the last that is there; the first if none is."""
    return max((number for number, one in enumerate(there) if one), default=0)


def in_common(runs: Sequence[Entrant]) -> tuple[int, float]:
    """The evaluations that all runs have, and the seconds that the quickest took."""
    return min(run.evaluations for run in runs), min(run.seconds for run in runs)


SettingsOf = Callable[[RunFolder], tuple[list[str], TrainConfig]]
"""What was typed for a run, and what its settings are."""


def read_entrants(sweeps: Sequence[Sweep], settings_of: SettingsOf) -> list[Entrant]:
    """The finished runs of sweeps.

    Raises:
        CheckpointError, PolicyFileError: a run's file can't be used.
        UnlikeError: runs that would be compared are not alike.
    """
    folders = [
        folder
        for sweep in sweeps
        for run in sweep.runs
        if (folder := sweep.folder_of(run)) is not None and sweep.has_finished(run)
    ]
    found = [(folder, *settings_of(folder)) for folder in folders]
    settings = [Settings.of(folder.path, typed, config) for folder, typed, config in found]
    names = name_runs(settings, {key for sweep in sweeps for key in sweep.axes})
    return [
        _read(folder, config, own) for (folder, _, config), own in zip(found, names, strict=True)
    ]


def twice(entrants: Sequence[Entrant]) -> tuple[Entrant, Entrant] | None:
    """Two runs of a method with one seed in one workload: one of them says nothing new."""
    first: dict[tuple[str, str, int], Entrant] = {}
    for entrant in entrants:
        known = first.setdefault((entrant.case, entrant.method, entrant.seed), entrant)
        if known is not entrant:
            return known, entrant
    return None


def by_case(entrants: Sequence[Entrant]) -> dict[str, list[Entrant]]:
    """The entrants of each workload, in order."""
    found: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        found.setdefault(entrant.case, []).append(entrant)
    return found


def by_method(entrants: Sequence[Entrant]) -> dict[str, list[Entrant]]:
    """The entrants of each method, in order."""
    found: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        found.setdefault(entrant.method, []).append(entrant)
    return found


def _read(folder: RunFolder, config: TrainConfig, names: Names) -> Entrant:
    state = Checkpoint.load(folder.path)
    if len(state.tuned_us) > 1:
        raise CheckpointError(
            f"{folder.path}: was trained for several workloads (robust.scenarios), whose scores in "
            "one would be compared; heddle evaluate measures tables in all of them"
        )
    if not state.tuned_us:
        raise CheckpointError(f"{folder.path}: has no reference; make the run again")
    (tuned,) = state.tuned
    signature = workload_signature(load_engine(), workload_options(config.workload))
    encoding = (
        Encoding.of_vector(signature, state.incumbents[-1].vector)
        if state.incumbents and not config.search.classifiers
        else space_of(config.search, signature).encoding
    )
    champion, trained = _champion(state, encoding, load(folder.policy, signature))
    return Entrant(
        case=names.case,
        method=names.method,
        seed=config.seed,
        folder=folder,
        config=config,
        encoding=encoding,
        reference=Reference.of(tuned, config),
        evaluations=state.evaluations,
        seconds=state.seconds,
        refused=len(state.refused),
        incumbents=tuple(state.incumbents),
        champion=champion,
        trained=trained,
    )


def _champion(
    state: Checkpoint, encoding: Encoding, shipped: PolicyDocument
) -> tuple[Candidate | None, float]:
    """A search's own champion, None if it found nothing, and what it took its fitness for."""
    if not state.incumbents:
        return None, 0.0
    last = state.incumbents[-1]
    samples = Samples()
    samples.load_state_dict(state.samples)
    origin = str(shipped.provenance.get("origin", last.origin))
    found = Candidate(tuple(encoding.encode(shipped)), origin)
    if not samples.slices(found):
        found = Candidate(tuple(last.vector), last.origin)
    known = samples.slices(found) > 0
    return found, samples.measured([found])[0].fitness if known else last.fitness
