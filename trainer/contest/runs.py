"""The runs of sweeps, prepared for a contest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envs import TunedBackoff
from envs.engine_interface import load_engine
from envs.evaluator import reference_seconds
from envs.workload import workload_signature
from policies import Encoding, PolicyDocument, load
from policies.policy_digest import policy_digest
from policies.protocol import TABLE
from trainer.checkpoint import Checkpoint, CheckpointError, Incumbent
from trainer.config import TrainConfig, workload_options
from trainer.contest.naming import Names, Settings, name_runs
from trainer.evaluation import Samples
from trainer.evaluation.race import later_warmup
from trainer.run_folder import RunFolder
from trainer.search import Candidate
from trainer.search.space import space_of
from trainer.sweep_folder import Sweep


@dataclass(frozen=True)
class Reference:
    """The reference of a run's fitness: Silo as its search ran it.

    Attributes:
        tuned: its backoff.
        seconds: length of each run.
        warmup: unmeasured seconds before each run.
    """

    tuned: TunedBackoff
    seconds: float
    warmup: float

    @classmethod
    def of(cls, tuned: TunedBackoff, config: TrainConfig, settled: float = 0.0) -> Reference:
        """Return the reference of a run with these settings.

        Args:
            tuned: the backoff that its sweep found.
            config: its settings.
            settled: the seconds after which its latencies had settled (`Checkpoint.warmup`).
        """
        race = config.evaluation
        seconds = reference_seconds(race.slice_seconds, config.machine.kind)
        return cls(tuned, seconds, later_warmup(race, settled))


@dataclass(frozen=True)
class Entrant:
    """A finished run.

    Attributes:
        case: its workload and machine, as far as they distinguish runs (`name_runs`).
        method: its search, with the settings that distinguish it.
        seed: its seed.
        folder: its folder.
        config: its settings.
        encoding: of its tables.
        reference: of its search's fitness.
        evaluations: candidates charged to it.
        seconds: the duration of its search.
        refused: candidates that failed the check.
        incumbents: the incumbent after each change; none if it found nothing.
        champion: its final table. A seed policy that only the closing choice added, and that its
            search never measured or no longer keeps, does not count: then it is the last
            incumbent. None if the search found no usable table: it scores 0.
        trained: the champion's fitness as measured by the search.
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
        """Return a name that equal tables of all runs share, whatever the run's encoding."""
        return policy_digest(self.encoding.decode(vector, self.method))

    @property
    def name(self) -> str:
        """Its folder, relative to that of its sweep."""
        return "/".join(self.folder.path.parts[-2:])

    def in_force(self, points: int, evaluations: int, seconds: float) -> list[Incumbent]:
        """Return the incumbents that represent its curve: first, last, and at equal distances.

        Args:
            points: the number of equally spaced moments.
            evaluations: the number that all runs of its workload have: the last moment. A run with
                more has as many moments over all of its own.
            seconds: the duration of the fastest run: one more moment.
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
    """Return the index of the last true element; the first if there is none."""
    return max((number for number, true in enumerate(there) if true), default=0)


def in_common(runs: Sequence[Entrant]) -> tuple[int, float]:
    """Return the evaluations that all runs have, and the duration of the fastest."""
    return min(run.evaluations for run in runs), min(run.seconds for run in runs)


SettingsOf = Callable[[RunFolder], tuple[list[str], TrainConfig]]
"""Returns the overrides of a run, and its settings."""


def read_entrants(sweeps: Sequence[Sweep], settings_of: SettingsOf) -> list[Entrant]:
    """Read the finished runs of sweeps.

    Raises:
        CheckpointError, PolicyFileError: a file of a run is damaged.
        UnlikeError: runs that would be compared are not comparable.
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
    """Find two runs with the same method, workload and seed: one of them is redundant."""
    first: dict[tuple[str, str, int], Entrant] = {}
    for entrant in entrants:
        known = first.setdefault((entrant.case, entrant.method, entrant.seed), entrant)
        if known is not entrant:
            return known, entrant
    return None


def by_case(entrants: Sequence[Entrant]) -> dict[str, list[Entrant]]:
    """Group the entrants by case, in order."""
    found: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        found.setdefault(entrant.case, []).append(entrant)
    return found


def by_method(entrants: Sequence[Entrant]) -> dict[str, list[Entrant]]:
    """Group the entrants by method, in order."""
    found: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        found.setdefault(entrant.method, []).append(entrant)
    return found


def _read(folder: RunFolder, config: TrainConfig, names: Names) -> Entrant:
    state = Checkpoint.load(folder.path)
    if len(state.tuned_us) > 1:
        raise CheckpointError(
            f"{folder.path}: was trained for several workloads (robust.scenarios), but a contest "
            "compares scores on one; heddle evaluate measures tables on all of them"
        )
    if state.stores:
        raise CheckpointError(
            f"{folder.path}: was trained in front of an external store, and a contest compares "
            "scores in the engine; heddle evaluate measures policies in the store"
        )
    if not state.tuned_us:
        raise CheckpointError(f"{folder.path}: has no reference; repeat the run")
    (tuned,) = state.backoffs
    signature = workload_signature(load_engine(), workload_options(config.workload))
    encoding = (
        Encoding.of_vector(signature, state.incumbents[-1].vector)
        if state.incumbents and not config.search.classifiers and config.search.protocols == [TABLE]
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
        reference=Reference.of(tuned, config, state.warmup),
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
    """Return a search's own champion, or None, and its fitness as measured by the search."""
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
