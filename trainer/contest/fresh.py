"""Independent measurements of tables, on a population and inputs that no search has used.

The best of many samples is partly noise. So every table of a contest is measured again in longer
runs, relative to `silo_tuned`, all tables of a workload on the same inputs. Measurements are
stored: an interrupted contest resumes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from envs import MeasuringError, Result, RunRound, Subject, TunedBackoff
from envs.objective import THROUGHPUT, Objective, excess, limited
from policies.errors import regular_text
from trainer.checkpoint import write_atomically
from trainer.evaluation.measure import Counter
from trainer.progress import Display

SCHEMA_VERSION = 1
REFERENCE = "reference"

Found = TypeVar("Found")

Sample = float | list[float]
"""A value of an objective; under limits, that and the ratio to each limit."""


@dataclass(frozen=True)
class FreshPlan:
    """How tables are measured again.

    Attributes:
        rounds: the number of runs of each table, with different inputs.
        seconds: length of each run.
        warmup: unmeasured seconds before it.
        seed: of the first run's inputs; each later one's is one more.
        together: whether to measure all tables again, interleaved in rotating order, if any is
            missing. For machines whose speed drifts, as real cores do.
        objective: what tables are compared by.
    """

    rounds: int
    seconds: float
    warmup: float
    seed: int
    together: bool = False
    objective: Objective = THROUGHPUT


@dataclass
class FreshScores:
    """Stored measurements.

    Attributes:
        path: the file.
        samples: by conditions and table: a sample by round, null for a failure. It is the value of
            the objective; under limits a list of that and the ratio to each limit.
        tuned_backoffs: of `silo_tuned`, by conditions.
        objectives: of the runs, with absolute limits, by conditions.
    """

    path: Path
    samples: dict[str, dict[str, list[Sample | None]]] = field(default_factory=dict)
    tuned_backoffs: dict[str, TunedBackoff] = field(default_factory=dict)
    objectives: dict[str, Objective] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> FreshScores:
        """Read the file; unreadable entries and failures are measured again."""
        try:
            document = json.loads(regular_text(path))
            if document["schema_version"] == SCHEMA_VERSION:
                samples = {
                    key: {name: _sound(taken) for name, taken in tables.items()}
                    for key, tables in document["samples"].items()
                }
                tuned = {
                    key: TunedBackoff.from_json(found)
                    for key, found in document.get("tuned_us", {}).items()
                }
                objectives = {
                    key: Objective.from_dict(found)
                    for key, found in document.get("objectives", {}).items()
                }
                return cls(path, samples, tuned, objectives)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return cls(path)

    def save(self) -> None:
        """Write the file.

        Raises:
            WritingError: it can't be written.
        """
        document = {
            "schema_version": SCHEMA_VERSION,
            "tuned_us": {key: tuned.as_dict() for key, tuned in self.tuned_backoffs.items()},
            "objectives": {key: found.as_dict() for key, found in self.objectives.items()},
            "samples": self.samples,
        }
        write_atomically(self.path, json.dumps(document) + "\n")

    def tuned(
        self, conditions: Mapping[str, Any], tune: Callable[[], TunedBackoff]
    ) -> TunedBackoff:
        """Return the backoff of `silo_tuned`, tuned once and then stored in the file.

        Args:
            conditions: what it depends on.
            tune: tunes it.

        Raises:
            MeasuringError: a measurement failed.
            WritingError: the file can't be written.
        """
        return self._once(self.tuned_backoffs, conditions, tune)

    def objective(
        self, conditions: Mapping[str, Any], measure: Callable[[], Objective]
    ) -> Objective:
        """Return the objective of a case, whose relative limits are measured once and then stored.

        Args:
            conditions: what it depends on.
            measure: measures it.

        Raises:
            MeasuringError: a measurement failed.
            WritingError: the file can't be written.
        """
        return self._once(self.objectives, conditions, measure)

    def _once(
        self, stored: dict[str, Found], conditions: Mapping[str, Any], find: Callable[[], Found]
    ) -> Found:
        key = json.dumps(conditions, sort_keys=True)
        if key not in stored:
            stored[key] = find()
            self.save()
        return stored[key]

    def measure(
        self,
        run_round: RunRound,
        tables: Mapping[str, Subject],
        reference: Subject,
        plan: FreshPlan,
        conditions: Mapping[str, Any],
        display: Display,
    ) -> dict[str, float]:
        """Measure tables that have not been measured.

        Args:
            run_round: measures.
            tables: by name; equal tables have equal names.
            reference: the policy to which scores are relative.
            plan: the rounds.
            conditions: what else samples depend on: the workload, the machine, the engine's build
                and the content behind names.
            display: shows the progress.

        Returns:
            Each table's score: the mean over the rounds of its value of the objective ÷ the
            reference's; 0 if it failed in a round. A table beyond a limit in the median round has
            `envs.objective.limited`'s.

        Raises:
            MeasuringError: the reference failed in a round.
            WritingError: the file can't be written.
            KeyboardInterrupt: Ctrl-C; measurements so far are stored.
        """
        known = self.samples.setdefault(_key(reference, plan, conditions), {})
        subjects = {REFERENCE: reference, **tables}
        missing = [name for name in subjects if len(known.get(name, ())) < plan.rounds]
        if plan.together and missing:
            known.clear()
            missing = list(subjects)
        counter = Counter(display, "measure again", len(missing) * plan.rounds)
        for number in range(plan.rounds):
            waiting = [name for name in missing if len(known.get(name, ())) == number]
            first = number % len(waiting) if plan.together and waiting else 0
            waiting = waiting[first:] + waiting[:first]
            try:
                for index, outcome in run_round(
                    [subjects[name] for name in waiting],
                    plan.seconds,
                    warmup=plan.warmup,
                    seed=plan.seed + number,
                ):
                    failed = isinstance(outcome, MeasuringError)
                    sample = (
                        None
                        if isinstance(outcome, MeasuringError)
                        else _sample(plan.objective, outcome)
                    )
                    known.setdefault(waiting[index], []).append(sample)
                    counter.step("a table failed" if failed else "")
            finally:
                self.save()
        # All over the same rounds: an earlier contest may have stored more.
        reference_samples = known[REFERENCE][: plan.rounds]
        return {
            name: _score(known[name][: plan.rounds], reference_samples, reference)
            for name in tables
        }


def _sample(objective: Objective, outcome: Result) -> Sample:
    value, ratios = objective.value(outcome), objective.limit_ratios(outcome)
    return [value, *ratios] if ratios else value


def _sound(taken: Iterable[Any]) -> list[Sample | None]:
    """Return the samples before the first failure, which may be due to a killed process."""
    found = takewhile(lambda sample: sample is not None, taken)
    return [
        [float(figure) for figure in sample] if isinstance(sample, list) else float(sample)
        for sample in found
    ]


def _value(sample: Sample) -> float:
    return sample[0] if isinstance(sample, list) else sample


def _score(
    samples: Sequence[Sample | None], reference_samples: Sequence[Sample | None], reference: Subject
) -> float:
    if any(sample is None or not _value(sample) for sample in reference_samples):
        raise MeasuringError(
            f"the reference {reference.name} failed, or committed nothing; run the same command "
            "to measure it again, possibly with longer runs (seconds)"
        )
    if None in samples:
        return 0.0
    pairs = zip(samples, reference_samples, strict=True)
    score = statistics.fmean(
        _value(one) / _value(other) for one, other in pairs if one is not None and other is not None
    )
    ratios = [sample[1:] for sample in samples if isinstance(sample, list)]
    return limited(score, excess([statistics.median(of) for of in zip(*ratios, strict=True)]))


def _key(reference: Subject, plan: FreshPlan, conditions: Mapping[str, Any]) -> str:
    settings = {
        "reference_us": reference.backoff_us,
        "seconds": plan.seconds,
        "warmup": plan.warmup,
        "seed": plan.seed,
        # Plans without `together` keep the key of earlier versions.
        **({} if reference.backoff == "static" else {"reference_backoff": reference.backoff}),
        **({} if plan.objective == THROUGHPUT else {"objective": plan.objective.as_dict()}),
        **conditions,
    }
    return json.dumps(settings, sort_keys=True)
