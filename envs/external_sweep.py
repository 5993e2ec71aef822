"""Find the best settings of an external store without a scheduler (`external_tuned`).

Much of what a scheduler gains over a store with many connections, fewer of them or another backoff
gain as well. A comparison with a store therefore needs the store at its best settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from envs.round import RunRound
from envs.subject import Subject
from envs.tournament import Tournament, TournamentPlan
from policies.protocol import EXTERNAL, shown_name

TUNED_EXTERNAL = "external_tuned"
"""The name of `external` with the best settings of those that `settings` lists."""

SWEPT = ("concurrency", "backoff_first_us", "backoff_longest_us")
"""The options that a sweep sets."""

FIRST_BACKOFFS_US = (0, 500, 1000, 2000)
DOUBLINGS = 6
"""A backoff doubles so often, at most."""

FEWEST_AT_A_TIME = 4
"""Fewer transactions in the store leave it idle while one waits for the disk."""

_NAMED = re.compile(rf"{TUNED_EXTERNAL}(?=[:+]|$)")


def is_tuned_external(name: str) -> bool:
    """Return whether a name is `external_tuned`, with options, an admission policy, or neither."""
    return _NAMED.match(name) is not None


def before_tuning(name: str) -> str:
    """Return the name without settings that `external_tuned` stands for, with its options.

    Raises:
        ValueError: an option is one that the sweep sets; the message names it.
    """
    for option in SWEPT:
        if f":{option}=" in name:
            raise ValueError(
                f"policy={shown_name(name)}: {TUNED_EXTERNAL} finds {option} itself; leave it "
                f"out, or use {EXTERNAL}"
            )
    return EXTERNAL + name.removeprefix(TUNED_EXTERNAL)


def settings(subject: Subject, workers: int) -> list[Subject]:
    """Return a subject with each of the settings to try.

    Args:
        subject: `external`, with any other options.
        workers: number of workers, which is the highest concurrency.
    """
    levels = [min(FEWEST_AT_A_TIME, workers)]
    while levels[-1] < workers:
        levels.append(min(2 * levels[-1], workers))
    return [
        replace(
            subject,
            options={
                **subject.options,
                "concurrency": str(level),
                "backoff_first_us": str(first),
                "backoff_longest_us": str(first << DOUBLINGS),
            },
        )
        for level, first in product(levels, FIRST_BACKOFFS_US)
    ]


@dataclass(frozen=True)
class TunedStore:
    """A store with the best settings that it has without a scheduler.

    Attributes:
        options: of `external`, with the settings that the sweep found.
    """

    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the store with these settings."""
        return TUNED_EXTERNAL

    @property
    def words(self) -> str:
        """The settings as text."""
        return settings_words(self.subject())

    def subject(self) -> Subject:
        """Return the store with these settings, as a reference."""
        return Subject(TUNED_EXTERNAL, EXTERNAL, options=dict(self.options))


@dataclass(frozen=True)
class ExternalSweep:
    """The result of a sweep.

    Attributes:
        best: the subject with the best settings.
        tried: number of settings.
    """

    best: Subject
    tried: int

    @property
    def words(self) -> str:
        """The best settings, as one sentence."""
        return f"{settings_words(self.best)} suit it best here ({self.tried} settings were tried)"


def is_tuned_store(subject: Subject) -> bool:
    """Return whether a subject has the settings that a sweep finds."""
    return all(option in subject.options for option in SWEPT)


def settings_words(subject: Subject) -> str:
    """Return the settings of a tuned subject, for a table."""
    level, first, longest = (subject.options[option] for option in SWEPT)
    backoff = "no backoff" if longest == "0" else f"backoff {int(first):,} to {int(longest):,} µs"
    return f"{level} at a time, {backoff}"


def runs_of(plan: TournamentPlan, tried: int) -> int:
    """Return the number of runs of a sweep."""
    return tried * plan.rounds + min(plan.finalists, tried) * plan.final_rounds


def sweep_external(
    run_round: RunRound,
    tried: Sequence[Subject],
    plan: TournamentPlan,
    seed: int,
    on_run: Callable[[], None] = lambda: None,
) -> ExternalSweep:
    """Find the best of the settings.

    Args:
        run_round: measures the settings of a round.
        tried: what `settings` returns.
        plan: the measurements to make.
        seed: seed of the inputs and of the order.
        on_run: called after every run.

    Raises:
        MeasuringError: a run failed.
    """
    tournament = Tournament(run_round, plan, seed, lambda _subject, _value: on_run())
    finalists = [tried[at] for at in tournament.finalists(tried)]
    return ExternalSweep(finalists[tournament.best(finalists)], len(tried))
