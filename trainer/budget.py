"""A time budget for a whole training, divided among its phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from trainer.config import TrainConfig
from trainer.duration import duration_words, parse_duration
from trainer.forecast import TimedRounds
from trainer.phases import Cost, Phase, phase_seconds, shortened, sweep_seconds, workload_count
from trainer.scenario import Scenario

WEIGHTS = {
    Phase.SWEEP: 0.10,
    Phase.SEARCH: 0.50,
    Phase.CHOICE: 0.10,
    Phase.COMPARISON: 0.14,
    Phase.VALIDATION: 0.16,
}
"""Shares of the phases if a budget is too short for the settings. The search gets what the other
phases leave."""

SEARCH_LEAST = 0.2
"""The least share of a budget for the search; a shorter budget is refused."""

PAGE = 0.03
"""The share for the page and the record."""


class BudgetError(ValueError):
    """A budget that is too short for any training; the message says what would be enough."""


class TimeBudget:
    """The time for a training, from its beginning to the end of its last comparison.

    Args:
        typed: the setting, such as `5min`.
        begun: when the training began, by `now`.
        now: a clock, in seconds.

    Raises:
        ValueError: the setting is not a length of time.
    """

    def __init__(
        self, typed: str, begun: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._typed = typed
        self._total = parse_duration(typed)
        self._now = now
        self._begun = now() if begun is None else begun

    @property
    def spent(self) -> float:
        """Return the seconds since the beginning."""
        return self._now() - self._begun

    @property
    def left(self) -> float:
        """Return the seconds that are left for phases."""
        return self._total * (1 - PAGE) - self.spent

    @property
    def words(self) -> str:
        """Return the budget and the time spent, in words."""
        return f"budget={self._typed}: {duration_words(self.spent)} spent"

    def refuse_too_short(
        self, config: TrainConfig, scenarios: Sequence[Scenario], cost: Cost
    ) -> None:
        """Refuse a budget that is too short, before the training begins.

        Raises:
            BudgetError: it is too short.
        """
        least = sum(
            phase_seconds(shortened(config, phase, 0.0), scenarios, phase, cost) or 0.0
            for phase in Phase
            if phase is not Phase.SEARCH
        )
        enough = (self.spent + least / (1 - SEARCH_LEAST)) / (1 - PAGE)
        if enough > self._total:
            raise BudgetError(
                f"budget={self._typed}: is too short: loading took {duration_words(self.spent)}, "
                f"and the shortest sweep, choice and comparisons take {duration_words(least)}; "
                f"set budget={_rounded_up(enough)} or more"
            )

    def planned(
        self,
        config: TrainConfig,
        scenarios: Sequence[Scenario],
        cost: Cost,
        phase: Phase,
        searched: float = 0.0,
    ) -> TrainConfig:
        """Return the settings with this phase and the later ones shortened to the time left.

        Args:
            config: all settings of the user.
            scenarios: the scenarios of the training.
            cost: of measuring, as far as known.
            phase: the phase that begins now.
            searched: seconds that the search has taken already, in a resumed run.
        """
        remaining = list(Phase)[list(Phase).index(phase) :]
        needs = {each: phase_seconds(config, scenarios, each, cost) for each in remaining}
        weights = sum(WEIGHTS[each] for each in remaining if needs[each] != 0.0) or 1.0
        left = max(0.0, self.left)
        for each in remaining:
            need = needs[each]
            allowed = left * WEIGHTS[each] / weights
            if each is not Phase.SEARCH and need:
                # Loading can't be shortened.
                loads = workload_count(scenarios) if each is Phase.VALIDATION else 0
                fixed = cost.loading * loads
                config = shortened(config, each, max(0.0, allowed - fixed) / (need - fixed))
        if Phase.SEARCH not in remaining:
            allowed = left * WEIGHTS[phase] / weights
            return _bounded(config, scenarios, cost, phase, allowed)
        later = sum(
            phase_seconds(config, scenarios, each, cost) or 0.0
            for each in remaining
            if each is not Phase.SEARCH
        )
        seconds = searched + max(0.0, left - later)
        if config.search.seconds is not None:
            seconds = min(seconds, config.search.seconds)
        return replace(config, search=replace(config.search, seconds=seconds))


def _bounded(
    config: TrainConfig, scenarios: Sequence[Scenario], cost: Cost, phase: Phase, allowed: float
) -> TrainConfig:
    """Return the settings with a bound on the time of a comparison's further repeats."""
    if phase is Phase.COMPARISON:
        each = allowed / len(scenarios)
    elif phase is Phase.VALIDATION:
        each = allowed / workload_count(scenarios) - cost.loading
        each -= sweep_seconds(config.validation.tuning)
    else:
        return config
    set_to = config.verdict.seconds
    seconds = max(0.0, each if set_to is None else min(each, set_to))
    return replace(config, verdict=replace(config.verdict, seconds=seconds))


class Pacing:
    """The settings of each phase of a training, shortened to its budget.

    Args:
        config: all settings of the user.
        scenarios: the scenarios of the training.
        cost: of measuring; None = not measured, without a budget.
        budget: None = no budget, so the settings stay.
    """

    def __init__(
        self,
        config: TrainConfig,
        scenarios: Sequence[Scenario],
        cost: Cost | None = None,
        budget: TimeBudget | None = None,
    ) -> None:
        self._config = config
        self._scenarios = scenarios
        self._cost = cost or Cost(1.0, 0.0)
        self._budget = budget
        self.rounds = TimedRounds(self._cost.per_second)

    def settle(self, seconds: float) -> None:
        """Let runs of the choice and of the comparison warm up for this time at least."""
        run, champion = self._config.run, self._config.champion
        self._config = replace(
            self._config,
            run=replace(run, warmup=max(run.warmup, seconds)),
            champion=replace(champion, warmup_seconds=max(champion.warmup_seconds, seconds)),
        )

    def settings(self, phase: Phase, searched: float = 0.0) -> TrainConfig:
        """Return all settings for a phase that begins now.

        Args:
            phase: the phase.
            searched: seconds that the search has taken already.
        """
        if self._budget is None:
            return self._config
        cost = replace(self._cost, per_second=self.rounds.per_second)
        return self._budget.planned(self._config, self._scenarios, cost, phase, searched)

    def ends_before(self, generation_seconds: float) -> float:
        """Return how many seconds before its bound a search ends.

        A generation that is expected to overrun the bound by more than half is not started.

        Args:
            generation_seconds: the length of a generation.
        """
        return generation_seconds / 2 if self._budget is not None else 0.0


def _rounded_up(seconds: float) -> str:
    """Return a length of time as a setting, rounded up."""
    if seconds < 60:
        return f"{int(seconds) + 1}s"
    return f"{int(seconds / 60) + 1}min"
