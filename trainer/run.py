"""One training run: sweep, search, choose, compare, and keep everything on the way."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from envs import (
    THREADS,
    TUNED,
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Subject,
    of_policy,
    static_silo,
    subject_of,
)
from policies import SEEDS, Encoding, PolicyFileError, Signature, save, to_json
from trainer.champion import choose_champion, stages
from trainer.checkpoint import Best, Checkpoint, GenerationRecord, WritingError
from trainer.config import RunConfig, TrainConfig, workload_options
from trainer.evaluation import Backend, Ledger, Race
from trainer.evaluation.backend import check_backend
from trainer.evaluation.measure import Counter, compare_shown, settle_looks, tune_silo
from trainer.evaluation.race import check_race
from trainer.library.start import start_tables
from trainer.policy_registry import refuse_bad_model
from trainer.progress import Display
from trainer.record import Record
from trainer.run_folder import RunFolder
from trainer.run_version import heddle_version
from trainer.search import Candidate, Search, build_search, warm_start
from trainer.search.space import Space
from trainer.table_check import TableCheck

LEARNED = "learned"
"""How tables call the policy that the run learned."""

REMEMBERED = 64
"""So many of the best candidates keep their samples in a checkpoint."""

SEED_STRIDE = 1_000_003
"""Distance between the inputs of two seeds: no run is long enough to reach the next one's."""


@dataclass(frozen=True)
class Outcome:
    """What a run ends with.

    Attributes:
        champion: the policy that was chosen.
        comparison: it and the baselines, measured side by side.
        scores: its throughput relative to each baseline, paired.
        validation: the same on real cores, after a search on virtual ones; None if there was none.
    """

    champion: Candidate
    comparison: Comparison
    scores: dict[str, float]
    validation: Comparison | None = None

    @property
    def comparisons(self) -> list[Comparison]:
        """All that were made."""
        return [self.comparison, *([self.validation] if self.validation else [])]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C cut one of them short."""
        return any(comparison.interrupted for comparison in self.comparisons)

    @property
    def violations(self) -> list[str]:
        """Consistency violations found by any of them."""
        return [one for comparison in self.comparisons for one in comparison.violations]


def check_settings(config: TrainConfig, signature: Signature) -> None:
    """Find mistakes before minutes of measuring, not after.

    Raises:
        ValueError: a setting is wrong; the message names it.
        PolicyFileError: the file of a baseline, or of `search.start`, is not a valid policy for the
            workload.
    """
    bounds = ("generations", "evaluations", "seconds")
    if all(getattr(config.search, bound) is None for bound in bounds):
        raise ValueError(
            "search.generations, search.evaluations and search.seconds are null: the search would "
            "never end"
        )
    check_backend(config.evaluation)
    check_race(config.evaluation)
    start_tables(config, Encoding(signature))
    refuse_bad_model(config.registered_model)
    if config.registered_model is not None and not config.mlflow.enabled:
        raise ValueError(
            f"registered_model={config.registered_model}: is in MLflow's registry; leave out "
            "mlflow.enabled=false"
        )
    build_search(config.search, Encoding(signature), [], config.seed)
    for name in config.baselines:
        subject_of(name, signature, lambda: 1.0)


def measuring_settings(config: TrainConfig) -> dict[str, str]:
    """What samples depend on, by the names under which it is set."""
    machine = asdict(config.machine)
    costs = machine.pop("costs", {})
    parts = {
        "machine": machine,
        "machine.costs": costs,
        "workload": workload_options(config.workload),
    }
    settings = {
        f"{part}.{name}": str(value)
        for part, values in parts.items()
        for name, value in values.items()
    }
    slices = config.evaluation
    return settings | {
        "evaluation.slice_seconds": str(slices.slice_seconds),
        "evaluation.warmup_seconds": str(slices.warmup_seconds),
        "seed": str(config.seed),
        "search": config.search.name,
        "search.actions": ", ".join(sorted(set(config.search.actions))),
    }


class Training:
    """A run, from its beginning or from its checkpoint.

    Args:
        config: all settings.
        signature: of the workload.
        folder: where the run is kept.
        backend: measures.
        display: shows.
        record: logs.
        library: candidates that the search starts from besides the seeds and `search.start`.

    Raises:
        CheckpointError: the folder holds a checkpoint that can't be used.
    """

    def __init__(
        self,
        config: TrainConfig,
        signature: Signature,
        folder: RunFolder,
        backend: Backend,
        display: Display,
        record: Record,
        library: Sequence[Candidate] = (),
    ) -> None:
        self._config = config
        self._signature = signature
        self._encoding = Encoding(signature)
        self._library = [*library, *start_tables(config, self._encoding)]
        self._folder = folder
        self._backend = backend
        self._display = display
        self._record = record
        self._state = Checkpoint.load(folder.path)
        self._state.measured_on = measuring_settings(config)
        self._ledger = Ledger()
        self._ledger.load_state_dict(self._state.ledger)
        self._race = Race(backend, self._encoding, config.evaluation)
        self._check = TableCheck(config, folder.refused, display.say)

    def run(self) -> Outcome:
        """Train to the end of the budget, choose the champion, compare it with the baselines.

        Every generation leaves a checkpoint and the best policy so far.

        Raises:
            KeyboardInterrupt: Ctrl-C; the last generation's checkpoint is what remains.
            MeasuringError: the reference could not run.
            WritingError: a checkpoint or a policy can't be written; those before it remain.
        """
        champion, tuned_us = self.learn()
        comparison = self._compare(
            self._backend, self._subjects(champion, tuned_us), self._config.run
        )
        scores = comparison.scores(LEARNED)
        self._save_policy(champion, scores)
        self._record.scores({f"score/{name}": score for name, score in scores.items()})
        validation = None if comparison.interrupted else self._validate(champion)
        if validation is not None and validation.row(LEARNED) is not None:
            on_real = validation.scores(LEARNED)
            self._save_policy(champion, scores, on_real)
            self._record.scores({f"score_on_threads/{name}": on_real[name] for name in on_real})
        return Outcome(champion, comparison, scores, validation)

    def learn(self) -> tuple[Candidate, float]:
        """Train to the end of the budget and choose the champion: `run` without the comparison.

        Returns:
            The champion, and the constant backoff of `silo_tuned`, µs.

        Raises:
            KeyboardInterrupt, MeasuringError, WritingError: as `run`.
        """
        config, state = self._config, self._state
        self._record.start(self._folder.name, asdict(config), state.mlflow_run_id)
        # A server that is away today may have the earlier part of the record.
        state.mlflow_run_id = self._record.run_id or state.mlflow_run_id
        if state.tuned_us is None:
            state.tuned_us = tune_silo(
                self._backend.run_round, config.tuning, config.seed, self._display
            )
            state.save(self._folder.path)
        reference = static_silo(state.tuned_us)
        start = warm_start(self._encoding, state.tuned_us, self._library)
        self._race.stretch = self._stretch(start)
        search = build_search(config.search, self._encoding, start, config.seed)
        if state.search is not None:
            search.load_state_dict(state.search)
        with self._check:
            self._search(search, reference)
            champion = self._choose(start)
        self._save_policy(champion, {})
        return champion, state.tuned_us

    def _stretch(self, start: Sequence[Candidate]) -> int:
        """How much longer looks must be than the settings say, found once a run."""
        config, state = self._config, self._state
        within = config.evaluation.settled
        if state.stretch is None and (state.history or within is None):
            state.stretch = 1  # samples of one run are all of one length
        if state.stretch is None:
            state.stretch = settle_looks(
                self._backend.run_round,
                [self._race.subject(one) for one in start],
                config.evaluation,
                config.run.seconds,
                config.seed,
                self._display,
            )
            state.save(self._folder.path)
        return state.stretch

    @property
    def history(self) -> list[GenerationRecord]:
        """One record a generation so far."""
        return self._state.history

    @property
    def reference_name(self) -> str:
        """What fitness is relative to."""
        return TUNED

    @property
    def _progress(self) -> tuple[float, float | None]:
        """How much of the budget is spent, and how much there is, in its own unit."""
        search = self._config.search
        if search.seconds is not None:
            return self._state.seconds, search.seconds
        if search.evaluations is not None:
            return self._state.evaluations, search.evaluations
        return float(len(self._state.history)), search.generations

    @property
    def _spent(self) -> bool:
        search, state = self._config.search, self._state
        by_generations = search.generations is not None and (
            len(state.history) >= search.generations
        )
        by_evaluations = self._evaluations_left == 0
        by_seconds = search.seconds is not None and state.seconds >= search.seconds
        return by_generations or by_evaluations or by_seconds

    @property
    def _evaluations_left(self) -> float:
        most = self._config.search.evaluations
        return math.inf if most is None else max(0, most - self._state.evaluations)

    def _search(self, search: Search, reference: Subject) -> None:
        done, total = self._progress
        self._display.begin("search", total, done)
        while not self._spent:
            self._generation(search, reference)

    def _generation(self, search: Search, reference: Subject) -> None:
        state, started, spent = self._state, time.monotonic(), self._state.seconds
        number = len(state.history) + 1
        candidates = search.ask(int(min(search.batch, self._evaluations_left)))

        def on_look(slices: int) -> None:
            state.slices += slices
            state.seconds = spent + time.monotonic() - started
            self._display.update(self._progress[0], self._words())

        slices = sum(self._config.evaluation.looks) * self._race.stretch
        seed = self._config.seed * SEED_STRIDE + number * slices
        self._race.run(candidates, reference, self._ledger, seed, on_look)
        best = self._best_allowed(candidates)
        best_so_far = self._best_so_far()
        measured = self._ledger.measured(candidates)
        search.tell(candidates, measured)
        state.evaluations += len(candidates)
        self._ledger.prune({*self._ledger.best(REMEMBERED), *candidates})
        state.ledger = self._ledger.state_dict()
        state.search = search.state_dict()
        state.seconds = spent + time.monotonic() - started
        self._remember(best_so_far, number)
        entry = GenerationRecord(
            generation=number,
            evaluations=state.evaluations,
            slices=state.slices,
            seconds=state.seconds,
            best=measured[best].fitness,
            median=statistics.median(one.fitness for one in measured),
            worst=min(one.fitness for one in measured),
            origin=candidates[best].origin,
        )
        state.history.append(entry)
        state.save(self._folder.path)
        if best_so_far is not None:
            self._save_policy(best_so_far, {})
        self._record.generation(entry)
        self._display.update(self._progress[0], self._words())

    def _best_allowed(self, candidates: Sequence[Candidate]) -> int:
        """The position of the best of a generation, once those are refused that fail the check."""
        while True:
            measured = self._ledger.measured(candidates)
            best = max(range(len(candidates)), key=lambda i: measured[i].cautious)
            if self._ledger.failure(candidates[best]) or self._passes(candidates[best]):
                return best

    def _best_so_far(self) -> Candidate | None:
        """The best of the whole search, likewise; None if nothing can run."""
        while found := self._ledger.best(1):
            if self._passes(found[0]):
                return found[0]
        return None

    def _passes(self, candidate: Candidate) -> bool:
        """Whether a table passes the check, which is made once; one that does not has failed."""
        state, key = self._state, candidate.key
        if key in state.checked:
            return True
        reason = state.refused.get(key) or self._check.why_refused(self._race.subject(candidate))
        if reason is None:
            # Who goes on with check.enabled=true has those checked that were not.
            if self._config.check.enabled:
                state.checked.append(key)
            return True
        state.refused[key] = reason
        self._ledger.refuse(candidate, reason)
        return False

    def _remember(self, best: Candidate | None, generation: int) -> None:
        """Note who is the best so far, if that is another than before."""
        if best is None:
            return
        state, vector = self._state, list(best.vector)
        if state.bests and state.bests[-1].vector == vector:
            return
        (measured,) = self._ledger.measured([best])
        state.bests.append(
            Best(
                generation,
                state.evaluations,
                state.slices,
                state.seconds,
                measured.cautious,
                vector,
                best.origin,
            )
        )

    def _words(self) -> str:
        state = self._state
        rate = state.evaluations / state.seconds if state.seconds else 0.0
        best = f"{state.history[-1].best:.3f} × {TUNED}" if state.history else "–"
        return f"best {best}  {state.evaluations} evaluations, {rate:.1f}/s"

    def _choose(self, start: Sequence[Candidate]) -> Candidate:
        """The champion: the best of the search, the best start and the seeds, measured anew.

        The search's short runs mistake some tables, and none is worth shipping that a seed beats.
        """
        plan = self._config.champion
        known = {candidate.vector: candidate for candidate in start}
        finalists = self._ledger.best(plan.finalists)
        ranked = self._ledger.best(REMEMBERED)
        starters = [one for one in ranked if one.vector in known and one not in finalists]
        finalists += starters[:1]
        if not finalists:
            raise ValueError("the search measured no policy that can run")
        finalists += [one for one in self._seeds(start) if one not in finalists]
        slices = plan.rounds * sum(stages(len(finalists)))
        counter = Counter(self._display, "choose among the best", slices)
        verdict = choose_champion(
            self._backend.run_round,
            [self._race.subject(candidate) for candidate in finalists],
            rounds=plan.rounds,
            seconds=plan.slice_seconds,
            warmup=plan.warmup_seconds,
            seed=(self._config.seed + 1) * SEED_STRIDE,
            on_slice=counter.step,
        )
        for index in verdict.order:
            if self._passes(finalists[index]):
                return finalists[index]
        raise MeasuringError(
            f"none of the best candidates passes the check; see {self._folder.refused}"
        )

    def _seeds(self, start: Sequence[Candidate]) -> list[Candidate]:
        """The seeds as they are, those of them that the search may propose and that can run."""
        space = Space(self._encoding, self._config.search.actions)
        return [
            one
            for one in start
            if one.origin in SEEDS
            and space.fit(one.vector) == one.vector
            and self._ledger.failure(one) is None
        ]

    def _subjects(self, champion: Candidate, tuned_us: float) -> list[Subject]:
        """What the champion is compared with, and itself."""
        policy = to_json(self._encoding.decode(champion.vector, LEARNED))
        baselines = [
            subject_of(name, self._signature, lambda: tuned_us) for name in self._config.baselines
        ]
        return [*baselines, of_policy(LEARNED, policy)]

    def _compare(
        self, where: Backend | Evaluator, subjects: Sequence[Subject], much: RunConfig
    ) -> Comparison:
        plan = ComparisonPlan(much.seconds, much.repeats, much.warmup)
        seed = (self._config.seed + 2) * SEED_STRIDE
        return compare_shown(where.run_round, subjects, plan, seed, self._display)

    def _validate(self, champion: Candidate) -> Comparison | None:
        """The comparison again, on real cores; None where the search was on real ones already."""
        config, much = self._config, self._config.validation
        if config.machine.kind == THREADS["kind"] or not much.enabled:
            return None
        self._backend.close()  # its databases are not needed any more, and its cores are
        evaluator = Evaluator(workload_options(config.workload), much.cores, seed=config.seed)
        try:
            self._display.say(f"validation on {evaluator.cores} real cores")
            tuned_us = tune_silo(evaluator.run_round, much.tuning, config.seed, self._display)
            return self._compare(evaluator, self._subjects(champion, tuned_us), much)
        except KeyboardInterrupt:
            return Comparison([], interrupted=True)
        except MeasuringError as error:
            self._display.say(f"there is no validation on real cores: {error}")
            return None
        finally:
            evaluator.close()

    def _machine(self, candidate: Candidate) -> dict[str, Any]:
        result = self._ledger.measured([candidate])[0].result
        if result is None:
            return {"kind": self._config.machine.kind, "cores": self._config.machine.cores}
        return asdict(result.machine)

    def _save_policy(
        self,
        candidate: Candidate,
        scores: dict[str, float],
        on_threads: dict[str, float] | None = None,
    ) -> None:
        state, config = self._state, self._config
        provenance = {
            "search": config.search.name,
            "origin": candidate.origin,
            "seed": config.seed,
            "workload": workload_options(config.workload),
            "machine": self._machine(candidate),
            "generations": len(state.history),
            "evaluations": state.evaluations,
            "scores": {name: round(score, 4) for name, score in scores.items()},
            **(
                {}
                if on_threads is None
                else {"scores_on_threads": {k: round(v, 4) for k, v in on_threads.items()}}
            ),
            "run": self._folder.name,
            "version": heddle_version(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        document = self._encoding.decode(candidate.vector, self._folder.name, provenance)
        try:
            save(document, self._folder.policy)
        except PolicyFileError as error:
            raise WritingError(str(error)) from error
