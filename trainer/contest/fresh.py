"""Tables measured anew: on a population and inputs that no search has seen, and for longer.

What a search took the best of many for is partly luck. So every table that a contest speaks of is
measured here, all tables of a workload on the same inputs, relative to `silo_tuned`. What was
measured is saved: an interrupted contest resumes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from envs import MeasuringError, RunRound, Subject, TunedBackoff
from policies.errors import regular_text
from trainer.checkpoint import write_atomically
from trainer.evaluation.measure import Counter
from trainer.progress import Display

SCHEMA_VERSION = 1
REFERENCE = "reference"


@dataclass(frozen=True)
class FreshPlan:
    """How tables are measured anew.

    Attributes:
        rounds: runs of each, on inputs of their own.
        seconds: of each run.
        warmup: unmeasured seconds before it.
        seed: of the inputs of the first; the next one's is one more.
        together: where the machine's speed drifts, as real cores' does: if anything was not
            measured yet, all are anew, side by side, in an order that turns by the round.
    """

    rounds: int
    seconds: float
    warmup: float
    seed: int
    together: bool = False


@dataclass
class FreshScores:
    """What was measured, in a file.

    Attributes:
        path: the file.
        samples: by what was measured where and how: fitness by round, null where it failed.
        tuned_backoffs: of `silo_tuned`, by where and how they were found.
    """

    path: Path
    samples: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    tuned_backoffs: dict[str, TunedBackoff] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> FreshScores:
        """Read the file; what can't be read, or failed, is measured again."""
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
                return cls(path, samples, tuned)
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
            "tuned_us": {key: one.as_dict() for key, one in self.tuned_backoffs.items()},
            "samples": self.samples,
        }
        write_atomically(self.path, json.dumps(document) + "\n")

    def tuned(
        self, conditions: Mapping[str, Any], tune: Callable[[], TunedBackoff]
    ) -> TunedBackoff:
        """The backoff of `silo_tuned`: found once, and kept in the file.

        Args:
            conditions: what it depends on.
            tune: finds it.

        Raises:
            MeasuringError: nothing could be measured.
            WritingError: the file can't be written.
        """
        key = json.dumps(conditions, sort_keys=True)
        if key not in self.tuned_backoffs:
            self.tuned_backoffs[key] = tune()
            self.save()
        return self.tuned_backoffs[key]

    def measure(
        self,
        run_round: RunRound,
        tables: Mapping[str, Subject],
        reference: Subject,
        plan: FreshPlan,
        conditions: Mapping[str, Any],
        display: Display,
    ) -> dict[str, float]:
        """Measure what was not measured yet.

        Args:
            run_round: measures.
            tables: by a name that equal tables share.
            reference: what scores are relative to.
            plan: how.
            conditions: what else samples depend on: the workload, the machine, the engine's build
                and what is behind names.
            display: shows.

        Returns:
            Each table's score: the mean over the rounds of its fitness ÷ the reference's; 0 if it
            failed in one.

        Raises:
            MeasuringError: the reference failed, in any round.
            WritingError: the file can't be written.
            KeyboardInterrupt: Ctrl-C; what was measured is kept.
        """
        known = self.samples.setdefault(_key(reference, plan, conditions), {})
        subjects = {REFERENCE: reference, **tables}
        missing = [name for name in subjects if len(known.get(name, ())) < plan.rounds]
        if plan.together and missing:
            known.clear()
            missing = list(subjects)
        counter = Counter(display, "measure anew", len(missing) * plan.rounds)
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
                    sample = None if isinstance(outcome, MeasuringError) else outcome.fitness
                    known.setdefault(waiting[index], []).append(sample)
                    counter.step("a table failed" if failed else "")
            finally:
                self.save()
        # All over the same rounds: there may be more, of an earlier contest with a longer plan.
        beside = known[REFERENCE][: plan.rounds]
        return {name: _score(known[name][: plan.rounds], beside, reference) for name in tables}


def _sound(taken: Iterable[Any]) -> list[float | None]:
    """The samples before the first failure, which may have been the machine's: a killed process."""
    return [float(sample) for sample in takewhile(lambda sample: sample is not None, taken)]


def _score(
    samples: Sequence[float | None], beside: Sequence[float | None], reference: Subject
) -> float:
    if not all(beside):
        raise MeasuringError(
            f"the reference {reference.name} failed, or committed nothing; the same command "
            "measures it again, and longer runs (seconds) may be what it needs"
        )
    if None in samples:
        return 0.0
    pairs = zip(samples, beside, strict=True)
    return statistics.fmean(one / other for one, other in pairs if one is not None and other)


def _key(reference: Subject, plan: FreshPlan, conditions: Mapping[str, Any]) -> str:
    settings = {
        "reference_us": reference.backoff_us,
        "seconds": plan.seconds,
        "warmup": plan.warmup,
        "seed": plan.seed,
        # What was measured before there was a choice keeps its name.
        **({} if reference.backoff == "static" else {"reference_backoff": reference.backoff}),
        **conditions,
    }
    return json.dumps(settings, sort_keys=True)
