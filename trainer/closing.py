"""The closing comparisons of a training: its champion and the baselines, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from envs import (
    THREADS,
    Comparison,
    ComparisonPlan,
    Evaluator,
    MeasuringError,
    Row,
    RunRound,
    Subject,
    machine_words,
    of_policy,
    subject_of,
)
from envs.objective import Objective
from envs.reference import Reference
from policies import Encoding, PolicyDocument, Signature, to_json
from trainer.config import RunConfig, TrainConfig
from trainer.evaluation.combination import Combination
from trainer.evaluation.measure import compare_shown, compare_until, tune_silo
from trainer.front import Front
from trainer.outcome import LEARNED, Closing
from trainer.progress import Display
from trainer.repeats import SEED_STRIDE, varied
from trainer.scenario import Scenario
from trainer.search import Candidate
from trainer.verdict import Verdict, beyond_limits, judge, left_out_by, ratios_judged, same_as_known


@dataclass(frozen=True)
class ClosingComparison:
    """Compares a champion with the baselines in all scenarios, on inputs no search has seen.

    Attributes:
        config: the settings of this phase of the run.
        signature: of the workload.
        encoding: of the candidates.
        scenarios: of the training.
        rounds: measures in each scenario.
        objectives: of each scenario.
        combination: of the scores in the scenarios.
        display: shows progress.
    """

    config: TrainConfig
    signature: Signature
    encoding: Encoding
    scenarios: Sequence[Scenario]
    rounds: Sequence[RunRound]
    objectives: Sequence[Objective]
    combination: Combination
    display: Display

    def in_each(self, champion: Candidate, tuned: Sequence[Reference]) -> list[Closing]:
        """Return the closing comparisons, up to the one that Ctrl-C ends."""
        closings: list[Closing] = []
        for scenario, run_round, backoff, objective in zip(
            self.scenarios, self.rounds, tuned, self.objectives, strict=True
        ):
            place = scenario.config
            vary = varied(run_round, place.workload, place.machine, place.seed, self._compared_from)
            comparison, verdict = self._compare(
                vary, champion, backoff, self.config.run, scenario, objective
            )
            closings.append(Closing(scenario, comparison, verdict=verdict))
            if comparison.interrupted:
                break
        return closings

    def front(
        self,
        documents: Sequence[PolicyDocument],
        tuned: Sequence[Reference],
        compared: Comparison,
    ) -> Front | None:
        """Return the front, measured on the inputs of the comparison; None if Ctrl-C ended that.

        On virtual cores a policy's runs on the same inputs are the same, so those of the comparison
        are taken over. On real cores all policies run side by side.

        Args:
            documents: the champion, then the search's policies that no other dominates.
            tuned: the reference in each scenario.
            compared: the champion and the baselines.
        """
        (objective, *_), (backoff, *_) = self.objectives, tuned
        learned = [of_policy(document.name, to_json(document)) for document in documents]
        known: list[Row] = []
        subjects = [*learned, *self._baselines(backoff)]
        if self.config.machine.kind != THREADS["kind"]:
            known = [_renamed(row, documents[0].name) for row in compared.rows]
            subjects = learned[1:]
        much, place = self.config.run, self.scenarios[0].config
        comparison = compare_shown(
            varied(self.rounds[0], place.workload, place.machine, place.seed, self._compared_from),
            subjects,
            ComparisonPlan(much.seconds, much.repeats, much.warmup, objective=objective),
            self._compared_from,
            self.display,
            "measure the front",
        )
        if comparison.interrupted:
            return None
        named = {document.name: document for document in documents}
        comparison = replace(comparison, rows=[*known, *comparison.rows])
        return Front(comparison, named, documents[0].name, objective)

    def validated(self, champion: Candidate, closings: Sequence[Closing]) -> list[Closing]:
        """Return the comparisons with those on real cores, for a search on virtual ones.

        Scenarios that differ only in virtual cores share a validation.
        """
        made: dict[str, tuple[Comparison | None, Verdict | None]] = {}
        validated = []
        for closing in closings:
            workload = str(sorted(closing.scenario.workload.items()))
            interrupted = any(found is not None and found.interrupted for found, _ in made.values())
            if workload not in made and not interrupted:
                made[workload] = self._validate(champion, closing.scenario)
            validation, verdict = made.get(workload, (None, None))
            validated.append(replace(closing, validation=validation, validated=verdict))
        return validated

    def verdict(self, champion: Candidate, comparisons: Sequence[Comparison]) -> Verdict | None:
        """Return the verdict on all scenarios, by the objective's value of each repeat."""
        if len(comparisons) < len(self.scenarios):
            return None
        found = ratios_judged(LEARNED, comparisons)
        together = {
            name: [
                self.combination.fitness(taken)
                for taken in zip(*(ratios[name] for ratios in found), strict=False)
            ]
            for name in found[0]
            if all(name in ratios for ratios in found)
        }
        run, most = self.config.run, self.config.verdict.repeats_max
        plan = ComparisonPlan(run.seconds, run.repeats, run.warmup, most or 0)
        return self._judge(together, plan, self._same_as(champion), comparisons)

    def scores(self, comparisons: Sequence[Comparison | None]) -> dict[str, float]:
        """Return the objective's value of the scores in the scenarios, for each baseline."""
        found = [each.scores(LEARNED) if each is not None else {} for each in comparisons]
        if len(found) < len(self.scenarios):
            return {}
        return {
            name: self.combination.fitness([scores[name] for scores in found])
            for name in found[0]
            if all(name in scores for scores in found)
        }

    def _subjects(self, champion: Candidate, tuned: Reference) -> list[Subject]:
        """Return the baselines and the champion."""
        policy = to_json(self.encoding.decode(champion.vector, LEARNED))
        return [*self._baselines(tuned), of_policy(LEARNED, policy)]

    def _baselines(self, tuned: Reference) -> list[Subject]:
        return [subject_of(name, self.signature, lambda: tuned) for name in self.config.baselines]

    def _compare(
        self,
        run_round: RunRound,
        champion: Candidate,
        tuned: Reference,
        much: RunConfig,
        scenario: Scenario,
        objective: Objective,
    ) -> tuple[Comparison, Verdict | None]:
        sure, same_as = self.config.verdict, self._same_as(champion)
        plan = ComparisonPlan(
            much.seconds, much.repeats, much.warmup, sure.repeats_max or 0, objective
        )

        def verdict(found: Comparison) -> Verdict | None:
            (ratios,) = ratios_judged(LEARNED, [found])
            return self._judge(ratios, plan, same_as, [found])

        def decided(found: Comparison) -> bool:
            shown = verdict(found)
            return shown is None or shown.is_decided(sure.equal_within)

        comparison = compare_until(
            run_round,
            self._subjects(champion, tuned),
            plan,
            self._compared_from,
            self.display,
            decided,
            sure,
            f"{scenario.prefix}compare",
        )
        return comparison, verdict(comparison)

    def _judge(
        self,
        ratios: Mapping[str, Sequence[float]],
        plan: ComparisonPlan,
        same_as: str | None,
        comparisons: Sequence[Comparison],
    ) -> Verdict | None:
        by = self.objectives[0]
        return judge(
            ratios,
            self.config.verdict.confidence,
            analyses=len(plan.analyses),
            same_as=same_as,
            left_out=left_out_by(LEARNED, comparisons),
            beyond=beyond_limits(LEARNED, comparisons),
            objective=None if by.is_throughput else by.words,
        )

    @property
    def _compared_from(self) -> int:
        """Return the seed of the first repeat of a comparison."""
        return (self.config.seed + 2) * SEED_STRIDE

    def _same_as(self, champion: Candidate) -> str | None:
        return same_as_known(self.encoding.decode(champion.vector, LEARNED))

    def _validate(
        self, champion: Candidate, scenario: Scenario
    ) -> tuple[Comparison | None, Verdict | None]:
        """Return the comparison on real cores and its verdict; None if it can't be made."""
        config, much = self.config, self.config.validation
        evaluator = Evaluator(scenario.workload, much.cores, seed=config.seed)
        try:
            self.display.say(f"{scenario.prefix}validation on {machine_words(evaluator.place)}")
            tuned = tune_silo(
                evaluator.run_round, much.tuning, config.seed, self.display, scenario.prefix
            )
            # Limits hold on the machine of the training: other cores have other latencies.
            objective = replace(self.objectives[scenario.number - 1], limits=())
            return self._compare(evaluator.run_round, champion, tuned, much, scenario, objective)
        except KeyboardInterrupt:
            return Comparison([], interrupted=True), None
        except MeasuringError as error:
            self.display.say(f"{scenario.prefix}no validation on real cores: {error}")
            return None, None
        finally:
            evaluator.close()


def _renamed(row: Row, learned: str) -> Row:
    """Return a row of the comparison, the champion's under another name."""
    if row.subject.name != LEARNED:
        return row
    return replace(row, subject=replace(row.subject, name=learned))
