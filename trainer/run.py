"""One training run: sweep, search, choice and comparison, with checkpoints."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from envs import (
    THREADS,
    Comparison,
    MeasuringError,
    Result,
    RunRound,
    Subject,
)
from envs.external_sweep import TUNED_EXTERNAL
from envs.host import this_host
from envs.objective import THROUGHPUT, Objective
from envs.reference import Reference
from policies import (
    SEEDS,
    PolicyDocument,
    PolicyFileError,
    Signature,
    save,
)
from policies.protocol import EXTERNAL
from policies.training_places import SCENARIOS_KEY
from trainer.budget import Pacing
from trainer.champion import choose_champion, stages
from trainer.checkpoint import Checkpoint, GenerationRecord, Incumbent, WritingError, best_curve
from trainer.closing import ClosingComparison
from trainer.config import TrainConfig
from trainer.evaluation import Backend, Race, Samples
from trainer.evaluation.adapted_backoff import AdaptedBackoff
from trainer.evaluation.backend import rounds_of
from trainer.evaluation.combination import COMBINATIONS
from trainer.evaluation.front import FRONT_MAX
from trainer.evaluation.measure import Counter, find_rung_stretch, tune_external, tune_silo
from trainer.evaluation.race import later_warmup
from trainer.front import NAME, Front
from trainer.measured_objective import measure_objective, searched
from trainer.objective import settles_races
from trainer.outcome import LEARNED, Closing, Outcome
from trainer.phases import Phase
from trainer.policy_library.start import start_tables
from trainer.progress import Display
from trainer.record import Record
from trainer.repeats import SEED_STRIDE
from trainer.run_folder import RunFolder
from trainer.run_settings import measuring_settings
from trainer.run_version import heddle_version
from trainer.scenario import Scenario, single_scenario
from trainer.search import Candidate, Search, build_search, warm_start
from trainer.search.space import Space, space_of, store_of
from trainer.search.store_start import store_start
from trainer.table_check import TableCheck

BRIEFLY_S = 0.0001
"""Seconds of a run that only shows whether a policy can run."""

REMEMBERED = 64
"""Best candidates whose samples a checkpoint keeps, in addition to those of the search."""

UNSCHEDULED = ", unscheduled"
"""The suffix of the name of `search.base` without its schedule."""


class Training:
    """A run, from its beginning or from its checkpoint.

    Args:
        config: all settings.
        signature: of the workload.
        folder: of the run.
        backend: measures.
        display: shows progress.
        record: of the run in MLflow.
        library: further candidates that the search starts from.
        scenarios: in the order of the backend's; none = only that of the settings.
        pacing: the settings of each phase; None = `config`.

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
        scenarios: Sequence[Scenario] = (),
        pacing: Pacing | None = None,
    ) -> None:
        self._config = config
        self._scenarios = list(scenarios) or single_scenario(config)
        self._pacing = pacing or Pacing(config, self._scenarios)
        self._combination = COMBINATIONS[config.robust.combine]
        self._objectives = [THROUGHPUT] * len(self._scenarios)
        self._signature = signature
        self._space = space_of(config.search, signature)
        self._encoding = self._space.encoding
        places = [scenario.config for scenario in self._scenarios]
        bases = _base(self._space, config.search.base)
        self._library = [*library, *bases]
        self._store = store_of(config.search)
        seeds = SEEDS if self._store is None else (EXTERNAL, TUNED_EXTERNAL)
        self._known_good = {*seeds, *(base.origin for base in bases)}
        self._library += start_tables(places, self._encoding)
        self._folder = folder
        self._backend = backend
        rounds = rounds_of(backend, len(self._scenarios))
        self._rounds = [self._pacing.rounds.of(run_round) for run_round in rounds]
        self._display = display
        self._record = record
        self._state = Checkpoint.load(folder.path)
        self._state.measured_on = measuring_settings(config, self._scenarios)
        self._samples = Samples(len(self._scenarios), self._combination)
        self._samples.load_state_dict(self._state.samples)
        self._backoff = AdaptedBackoff(self._space)
        self._backoff.load_state_dict(self._state.backoff)
        self._race = Race(backend, self._encoding, config.evaluation, self._backoff)
        # The candidates whose backoff begins where it had adapted to, and whose samples they have.
        self._sampled: dict[str, Candidate] = {}
        self._check = TableCheck(self._scenarios, folder.refused, backend, display.say)

    def run(self) -> Outcome:
        """Search until the budget is spent, choose the champion, compare it with the baselines.

        Every generation writes a checkpoint and the incumbent's policy.

        Raises:
            KeyboardInterrupt: Ctrl-C; the last generation's checkpoint remains.
            MeasuringError: the reference can't run.
            WritingError: a checkpoint or a policy can't be written; the earlier ones remain.
        """
        champion, tuned = self.learn()
        self._begin(Phase.COMPARISON)
        closing = self._closing
        closings = closing.in_each(champion, tuned)
        self._keep_scores(champion, closings, "score", lambda closing: closing.comparison)
        front = None
        if not any(closing.comparison.interrupted for closing in closings):
            front = self._front(champion, tuned, closings[0].comparison)
            closings = self._validated(champion, closings)
        if any(closing.validation is not None for closing in closings):
            self._keep_scores(
                champion, closings, "score_on_threads", lambda closing: closing.validation
            )
        found = [closing.comparison for closing in closings]
        verdict = closing.verdict(champion, found)
        outcome = Outcome(champion, closings, closing.scores(found), verdict, front)
        self._keep_verdicts(outcome)
        return outcome

    def learn(self) -> tuple[Candidate, list[Reference]]:
        """Search until the budget is spent and choose the champion: `run` without the comparison.

        Returns:
            The champion, and the reference in each scenario: `silo_tuned`, or in front of an
            external store `external_tuned`.

        Raises:
            KeyboardInterrupt, MeasuringError, WritingError: as `run`.
        """
        config, state = self._config, self._state
        before = state.mlflow_run_id
        self._record.start(
            self._folder.name, asdict(config) | {"host": this_host().as_dict()}, before
        )
        # A server that can't be reached now may have the earlier part of the record.
        state.mlflow_run_id = self._record.run_id or before
        if before not in (None, state.mlflow_run_id):
            state.save(self._folder.path)  # there may be no generation left to do so
        self._begin(Phase.SWEEP)
        for scenario in self._scenarios[len(state.tuned) :]:
            self._tune(scenario, self._rounds[len(state.tuned)])
            state.save(self._folder.path)
        references = [tuned.subject() for tuned in state.tuned]
        self._objectives = self._found_objectives()
        self._pacing.settle(state.warmup)
        if self._encoding.scheduled:
            self._refuse_unschedulable()
        start = self._warm_start()
        self._race.stretch = self._stretch(start)
        self._race.later_warmup = later_warmup(
            config.evaluation, state.warmup if settles_races(self._objectives[0]) else 0.0
        )
        search = build_search(config.search, self._space, start, config.seed)
        if state.search is not None:
            search.load_state_dict(state.search)
        with self._check:
            self._begin(Phase.SEARCH)
            self._search(search, references)
            self._begin(Phase.CHOICE)
            champion = self._choose(start, references)
        self._save_policy(champion)
        return champion, state.tuned

    def _tune(self, scenario: Scenario, run_round: RunRound) -> None:
        """Find the reference of a scenario: the best of what needs no learning."""
        state, config = self._state, self._config
        if self._store is None:
            found = tune_silo(run_round, config.tuning, config.seed, self._display, scenario.prefix)
            state.tuned_us.append(found.constant_us)
            state.exponential.append(found.exponential)
            return
        workers = scenario.config.machine.cores or len(os.sched_getaffinity(0))
        plain = replace(self._store, name=TUNED_EXTERNAL)
        best = tune_external(
            run_round, plain, workers, config.tuning, config.seed, self._display, scenario.prefix
        )
        state.stores.append(dict(best.options))

    def _warm_start(self) -> list[Candidate]:
        """Return the policies from which the search starts."""
        state = self._state
        if self._store is None:
            return warm_start(self._encoding, state.tuned_us, self._library)
        return store_start(self._encoding, state.stores, self._library)

    def _begin(self, phase: Phase) -> None:
        """Set the settings of a phase, shortened to the budget."""
        self._config = self._pacing.settings(phase, self._state.seconds)

    def _refuse_unschedulable(self) -> None:
        """Refuse workloads without hints of keys, on which schedules depend.

        Raises:
            MeasuringError: a workload has no hints.
        """
        for scenario, run_round, tuned in zip(
            self._scenarios, self._rounds, self._state.tuned, strict=True
        ):
            scheduled = replace(tuned.subject(), schedule={"policy": "smf"})
            for _, outcome in run_round([scheduled], BRIEFLY_S, warmup=0.0, seed=self._config.seed):
                if isinstance(outcome, MeasuringError):
                    raise MeasuringError(
                        f"{scenario.prefix}can't search for a schedule: {outcome}; leave schedule "
                        "out of search.actions"
                    )

    def _found_objectives(self) -> list[Objective]:
        """Return the objective of each scenario, which is measured once a run."""
        state = self._state
        if state.objectives is None:
            found = [
                measure_objective(
                    self._config, self._signature, scenario, run_round, tuned, self._display
                )
                for scenario, run_round, tuned in zip(
                    self._scenarios, self._rounds, state.tuned, strict=True
                )
            ]
            state.objectives = [each.objective.as_dict() for each in found]
            state.least_stretch = max(each.slices for each in found)
            state.warmup = max(each.warmup for each in found)
            state.save(self._folder.path)
        return [Objective.from_dict(source) for source in state.objectives]

    @property
    def objectives(self) -> list[Objective]:
        """Return the objective of each scenario, once `learn` has measured it."""
        return list(self._objectives)

    @property
    def _searched(self) -> list[Objective]:
        """Return the objectives of the search and of the choice, by scenario."""
        return [searched(self._config, objective) for objective in self._objectives]

    def _stretch(self, start: Sequence[Candidate]) -> int:
        """Return the factor on the settings' length of rungs, which is found once a run."""
        config, state = self._config, self._state
        if state.stretch is None and state.history:
            state.stretch = 1  # all samples of a run have the same length
        if state.stretch is None:
            state.stretch = state.least_stretch
            if config.evaluation.settled is not None:
                state.stretch = max(state.stretch, self._settled_stretch(start))
            state.save(self._folder.path)
        return state.stretch

    def _settled_stretch(self, start: Sequence[Candidate]) -> int:
        """Return the factor with which rungs rank the starts as long runs do."""
        config = self._config
        subjects = [self._race.subject(candidate) for candidate in start]
        return max(
            find_rung_stretch(
                run_round,
                subjects,
                config.evaluation,
                config.run.seconds,
                config.seed,
                self._display,
                scenario.prefix,
            )
            for scenario, run_round in zip(self._scenarios, self._rounds, strict=True)
        )

    @property
    def history(self) -> list[GenerationRecord]:
        """Return one record per generation."""
        return self._state.history

    @property
    def reference_name(self) -> str:
        """Return the name of the policy that fitness is relative to."""
        tuned = self._state.tuned
        return tuned[0].name if tuned else ""

    @property
    def _progress(self) -> tuple[float, float | None]:
        """Return how much of the search's budget is spent, and the budget, in its unit."""
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
        by_evaluations = self._candidates_left == 0
        before = state.history[-2].seconds if len(state.history) > 1 else 0.0
        last = state.history[-1].seconds - before if state.history else 0.0
        by_seconds = search.seconds is not None and (
            state.seconds + self._pacing.ends_before(last) >= search.seconds
        )
        return by_generations or by_evaluations or by_seconds

    @property
    def _candidates_left(self) -> float:
        """Return the number of candidates left, which cost one evaluation in each scenario."""
        most = self._config.search.evaluations
        if most is None:
            return math.inf
        return max(0, most - self._state.evaluations) // len(self._scenarios)

    def _search(self, search: Search, references: Sequence[Subject]) -> None:
        done, total = self._progress
        self._display.begin("search", total, done)
        while not self._spent:
            self._generation(search, references)

    def _generation(self, search: Search, references: Sequence[Subject]) -> None:
        state, started, spent = self._state, time.monotonic(), self._state.seconds
        waited = self._backend.waited_s

        def seconds() -> float:
            # Waiting for a machine does not count as searching.
            idle = self._backend.waited_s - waited
            return spent + time.monotonic() - started - idle

        number = len(state.history) + 1
        candidates = search.ask(int(min(search.batch, self._candidates_left)))

        def on_rung(slices: int) -> None:
            state.slices += slices
            state.seconds = seconds()
            self._display.update(self._progress[0], self._words())

        slices = sum(self._config.evaluation.rungs) * self._race.stretch
        seed = self._config.seed * SEED_STRIDE + number * slices
        self._race.run(candidates, references, self._samples, seed, on_rung, self._searched)
        best = self._best_allowed(candidates)
        incumbent = self._incumbent()
        measured = self._samples.measured(candidates)
        search.tell(candidates, measured)
        state.evaluations += len(candidates) * len(self._scenarios)
        remembered = {*self._samples.best(REMEMBERED), *self._samples.front(FRONT_MAX)}
        self._samples.prune({*remembered, *candidates, *search.parents})
        state.samples = self._samples.state_dict()
        state.backoff = self._backoff.state_dict()
        state.search = search.state_dict()
        state.seconds = seconds()
        self._note_incumbent(incumbent, number)
        known = None if incumbent is None else self._samples.measured([incumbent])[0]
        before = best_curve(state.history)[-1:]
        entry = GenerationRecord(
            generation=number,
            evaluations=state.evaluations,
            slices=state.slices,
            seconds=state.seconds,
            best=measured[best].fitness,
            median=statistics.median(sample.fitness for sample in measured),
            worst=min(sample.fitness for sample in measured),
            origin=candidates[best].origin,
            scores=list(measured[best].scores),
            incumbent=known.fitness if known else None,
            samples=known.slices if known else None,
            best_so_far=max([*before, known.cautious]) if known else None,
            excess=known.excess if known else 1.0,
        )
        state.history.append(entry)
        state.save(self._folder.path)
        if incumbent is not None:
            self._save_policy(self._adapted(incumbent))
        self._record.generation(entry)
        self._display.update(self._progress[0], self._words())

    def _best_allowed(self, candidates: Sequence[Candidate]) -> int:
        """Return the position of a generation's best candidate that passes the check."""
        while True:
            measured = self._samples.measured(candidates)
            best = max(range(len(candidates)), key=lambda i: measured[i].cautious)
            if self._samples.failure(candidates[best]) or self._passes(candidates[best]):
                return best

    def _incumbent(self) -> Candidate | None:
        """Return the search's best candidate that passes the check; None if nothing can run."""
        while found := self._samples.best(1):
            if self._passes(found[0]):
                return found[0]
        return None

    def _passes(self, candidate: Candidate) -> bool:
        """Return whether a table passes the check, which runs once per table; refuse it if not."""
        state, key = self._state, candidate.key
        if key in state.checked:
            return True
        reason = state.refused.get(key) or self._check.refusal_reason(self._race.subject(candidate))
        if reason is None:
            # A run that resumes with check.enabled=true checks these tables.
            if self._config.check.enabled:
                state.checked.append(key)
            return True
        state.refused[key] = reason
        self._samples.refuse(candidate, reason)
        return False

    def _note_incumbent(self, incumbent: Candidate | None, generation: int) -> None:
        """Add the incumbent to the state, if it has changed."""
        if incumbent is None:
            return
        state, vector = self._state, list(incumbent.vector)
        if state.incumbents and state.incumbents[-1].vector == vector:
            return
        (measured,) = self._samples.measured([incumbent])
        state.incumbents.append(
            Incumbent(
                generation,
                state.evaluations,
                state.slices,
                state.seconds,
                measured.cautious,
                vector,
                incumbent.origin,
            )
        )

    def _words(self) -> str:
        state = self._state
        rate = state.evaluations / state.seconds if state.seconds else 0.0
        words = "–"
        if state.history:
            last, best = state.history[-1], best_curve(state.history)[-1]
            words = last.incumbent_words
            if last.excess <= 1.0:
                words += f", best {best:.3f} × {self.reference_name}"
        return f"incumbent {words}  {state.evaluations} evaluations, {rate:.1f}/s"

    def _choose(self, start: Sequence[Candidate], references: Sequence[Subject]) -> Candidate:
        """Return the champion: the best of the finalists, the best start and the seeds.

        All of them are measured again, because the search's short runs are noisy, and a seed may be
        better than all tables of the search.
        """
        plan = self._config.champion
        known = {candidate.vector: candidate for candidate in start}
        finalists = self._samples.best(plan.finalists)
        ranked = self._samples.best(REMEMBERED)
        starts = [
            candidate
            for candidate in ranked
            if candidate.vector in known and candidate not in finalists
        ]
        finalists += starts[:1]
        front = self._samples.front(FRONT_MAX)
        finalists += [candidate for candidate in front if candidate not in finalists]
        finalists = list(dict.fromkeys(self._adapted(candidate) for candidate in finalists))
        if not finalists:
            self._display.say("the search found no usable table; the best seed is used")
        finalists += [seed for seed in self._seeds(start) if seed not in finalists]
        if not finalists:
            raise MeasuringError("no measured table and no seed can run; see the engine's messages")
        besides = 1 if self._combination.needs_unit else 0
        sizes = [size + besides for size in stages(len(finalists))]
        slices = plan.rounds * sum(sizes) * len(self._scenarios)
        counter = Counter(self._display, "choose among the best", slices)
        verdict = choose_champion(
            self._rounds,
            [self._race.subject(candidate) for candidate in finalists],
            combination=self._combination,
            objectives=self._searched,
            references=references,
            rounds=plan.rounds,
            seconds=plan.slice_seconds,
            warmup=plan.warmup_seconds,
            seed=(self._config.seed + 1) * SEED_STRIDE,
            on_slice=counter.step,
        )
        for index in verdict.order:
            if self._passes(finalists[index]):
                return finalists[index]
            self._state.save(self._folder.path)  # records the refusal
        raise MeasuringError(
            f"none of the best candidates passes the check; see {self._folder.refused}"
        )

    def _adapted(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the backoff that it has adapted to; unchanged if it is known."""
        adapted = self._backoff.adapted(candidate)
        if candidate.origin in self._known_good or adapted == candidate:
            return candidate
        self._sampled[adapted.key] = candidate
        return adapted

    def _seeds(self, start: Sequence[Candidate]) -> list[Candidate]:
        """Return the unchanged seeds that the search may propose and that can run."""
        return [
            candidate
            for candidate in start
            if candidate.origin in self._known_good
            and self._space.fit(candidate.vector) == candidate.vector
            and self._samples.failure(candidate) is None
        ]

    @property
    def _closing(self) -> ClosingComparison:
        """Return the comparisons with the settings of this phase."""
        return ClosingComparison(
            self._config,
            self._signature,
            self._encoding,
            self._scenarios,
            self._rounds,
            self._objectives,
            self._combination,
            self._display,
        )

    def _front(
        self, champion: Candidate, tuned: Sequence[Reference], compared: Comparison
    ) -> Front | None:
        """Return the front of the policies that pass the check, if one is requested."""
        adapted = dict.fromkeys(map(self._adapted, self._samples.front(FRONT_MAX)))
        members = [each for each in adapted if self._passes(each)]
        if not self._objectives[0].front or not members:
            return None
        found = [champion, *(member for member in members if member != champion)]
        documents = [
            self._document(candidate, NAME.format(number))
            for number, candidate in enumerate(found, start=1)
        ]
        return self._closing.front(documents, tuned, compared)

    def _validated(self, champion: Candidate, closings: Sequence[Closing]) -> list[Closing]:
        """Return the comparisons with those on real cores, if the search was on virtual ones."""
        if self._config.machine.kind == THREADS["kind"] or not self._config.validation.enabled:
            return list(closings)
        self._backend.close()  # frees its databases and cores
        self._begin(Phase.VALIDATION)
        return self._closing.validated(champion, closings)

    def _keep_verdicts(self, outcome: Outcome) -> None:
        """Record the verdicts of the run and of each scenario, on both machines."""
        found = {"verdict": outcome.verdict}
        for closing in outcome.closings:
            place = f".{closing.scenario.name}" if len(self._scenarios) > 1 else ""
            found |= {f"verdict{place}": closing.verdict} if place else {}
            found[f"verdict_on_threads{place}"] = closing.validated
        for name, verdict in found.items():
            if verdict is not None:
                self._record.verdict(name, verdict)

    def _keep_scores(
        self,
        champion: Candidate,
        closings: Sequence[Closing],
        what: str,
        of: Callable[[Closing], Comparison | None],
    ) -> None:
        """Write the scores into the policy's file and the record."""
        self._save_policy(champion, closings)
        figures = {
            f"{what}/{name}": score
            for name, score in self._closing.scores([of(closing) for closing in closings]).items()
        }
        for closing in closings if len(self._scenarios) > 1 else ():
            compared = of(closing)
            scores = compared.scores(LEARNED) if compared is not None else {}
            figures |= {f"{what}/{closing.scenario.name}/{name}": scores[name] for name in scores}
        self._record.scores(figures)

    def _save_policy(self, candidate: Candidate, closings: Sequence[Closing] = ()) -> None:
        document = self._document(candidate, self._folder.name, closings)
        try:
            save(document, self._folder.policy)
        except PolicyFileError as error:
            raise WritingError(str(error)) from error

    def _document(
        self, candidate: Candidate, name: str, closings: Sequence[Closing] = ()
    ) -> PolicyDocument:
        """Return a candidate as a policy with its origin, and its scores if it was compared."""
        state, config = self._state, self._config
        provenance = {
            "search": config.search.name,
            "origin": candidate.origin,
            "seed": config.seed,
            **self._trained_for(),
            **self._training_places(candidate, closings),
            "generations": len(state.history),
            "evaluations": state.evaluations,
            **_scores_written(
                self._closing.scores([closing.comparison for closing in closings]),
                self._closing.scores([closing.validation for closing in closings]),
            ),
            "run": self._folder.name,
            "version": heddle_version(),
            "host": this_host().as_dict(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return self._encoding.decode(candidate.vector, name, provenance)

    def _trained_for(self) -> dict[str, Any]:
        """Return the objectives of the scenarios for the policy's file, unless it is throughput."""
        if all(objective == THROUGHPUT for objective in self._objectives):
            return {}
        found = [objective.as_dict() for objective in self._objectives]
        settled = {"warmup_s": self._state.warmup} if self._state.warmup else {}
        return {"objective": found[0] if len(found) == 1 else found, **settled}

    def _training_places(self, candidate: Candidate, closings: Sequence[Closing]) -> dict[str, Any]:
        """Return the workload and machine of the training for the policy's file, or a list."""
        sampled = self._sampled.get(candidate.key, candidate)
        places: list[dict[str, Any]] = [
            {"workload": scenario.workload, "machine": _machine(scenario, last)}
            for scenario, last in zip(self._scenarios, self._samples.last(sampled), strict=True)
        ]
        if len(places) == 1:
            return places[0]
        for place, closing in zip(places, closings, strict=False):
            on_real = closing.validation.scores(LEARNED) if closing.validation is not None else {}
            place |= _scores_written(closing.comparison.scores(LEARNED), on_real)
        return {"combine": self._config.robust.combine, SCENARIOS_KEY: places}


def _base(space: Space, name: str | None) -> list[Candidate]:
    """Return the policy that the search changes, if one is named, with and without its schedule."""
    if name is None:
        return []
    vector = list(space.base)
    for cell in space.encoding.schedule_cells[:1]:
        vector[cell] = space.encoding.cells[cell].default
    plain = space.fit(space.encoding.canonical(vector))
    found = {space.base: name}
    found.setdefault(plain, f"{name}{UNSCHEDULED}")
    return [Candidate(cells, origin) for cells, origin in found.items()]


def _machine(scenario: Scenario, last: Result | None) -> dict[str, Any]:
    """Return the machine of a scenario's samples; without samples, that of the settings."""
    if last is None:
        machine = scenario.config.machine
        return {"kind": machine.kind, "cores": machine.cores}
    return last.machine.as_dict()


def _scores_written(
    scores: Mapping[str, float], on_threads: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Return scores in the form of a policy's file; those on real cores only if there are any."""
    found = {"scores": scores} | ({"scores_on_threads": on_threads} if on_threads else {})
    return {
        what: {name: round(score, 4) for name, score in of.items()} for what, of in found.items()
    }
