"""One budget of time for a whole training: what each phase may take of what is left."""

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
"""Shares of a budget that is too short for everything as it is set. A phase that needs less leaves
the rest to the search."""

SEARCH_LEAST = 0.2
"""A budget of which the search would get less than this share is refused."""

PAGE = 0.03
"""The share that is left for the page and the record."""


class BudgetError(ValueError):
    """A budget that no training can keep to; the message says what would be enough."""


class TimeBudget:
    """The time of a training from its beginning to the end of its last comparison.

    Args:
        typed: the setting, such as `5min`.
        begun: when the training began, by `now`.
        now: a clock, in seconds.

    Raises:
        ValueError: the setting is no length of time.
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
        """Seconds since the beginning."""
        return self._now() - self._begun

    @property
    def left(self) -> float:
        """Seconds that phases may still take."""
        return self._total * (1 - PAGE) - self.spent

    @property
    def words(self) -> str:
        """How much of it is spent."""
        return f"budget={self._typed}: {duration_words(self.spent)} spent"

    def refuse_too_short(
        self, config: TrainConfig, scenarios: Sequence[Scenario], cost: Cost
    ) -> None:
        """Find a budget that no training can keep to, before it begins.

        Raises:
            BudgetError: it is one.
        """
        least = sum(
            phase_seconds(shortened(config, phase, 0.0), scenarios, phase, cost) or 0.0
            for phase in Phase
            if phase is not Phase.SEARCH
        )
        enough = (self.spent + least / (1 - SEARCH_LEAST)) / (1 - PAGE)
        if enough > self._total:
            raise BudgetError(
                f"budget={self._typed}: is too short: {duration_words(self.spent)} are spent on "
                f"loading, and the shortest sweep, choice and comparisons take "
                f"{duration_words(least)}; take budget={_rounded_up(enough)} or more"
            )

    def planned(
        self,
        config: TrainConfig,
        scenarios: Sequence[Scenario],
        cost: Cost,
        phase: Phase,
        searched: float = 0.0,
    ) -> TrainConfig:
        """The settings with this phase and those after it made to fit in what is left.

        Args:
            config: all settings, as they are set.
            scenarios: what is trained for.
            cost: of measuring, as far as is known by now.
            phase: that begins now.
            searched: seconds that the search has taken already, in a run that is resumed.
        """
        coming = list(Phase)[list(Phase).index(phase) :]
        needs = {one: phase_seconds(config, scenarios, one, cost) for one in coming}
        weights = sum(WEIGHTS[one] for one in coming if needs[one] != 0.0) or 1.0
        left = max(0.0, self.left)
        for one in coming:
            need = needs[one]
            allowed = left * WEIGHTS[one] / weights
            if one is not Phase.SEARCH and need:
                # Loading takes what it takes.
                fixed = cost.loading * workload_count(scenarios) if one is Phase.VALIDATION else 0.0
                config = shortened(config, one, max(0.0, allowed - fixed) / (need - fixed))
        if Phase.SEARCH not in coming:
            allowed = left * WEIGHTS[phase] / weights
            return _bounded(config, scenarios, cost, phase, allowed)
        later = sum(
            phase_seconds(config, scenarios, one, cost) or 0.0
            for one in coming
            if one is not Phase.SEARCH
        )
        seconds = searched + max(0.0, left - later)
        if config.search.seconds is not None:
            seconds = min(seconds, config.search.seconds)
        return replace(config, search=replace(config.search, seconds=seconds))


def _bounded(
    config: TrainConfig, scenarios: Sequence[Scenario], cost: Cost, phase: Phase, allowed: float
) -> TrainConfig:
    """The settings with so much time for the repeats of a comparison that is not decided."""
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
    """The settings of each phase of a training, as far as its budget leaves time for them.

    Args:
        config: all settings, as they are set.
        scenarios: what is trained for.
        cost: of measuring; None = not measured, without a budget.
        budget: None = there is none, and everything is as it is set.
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

    def settings(self, phase: Phase, searched: float = 0.0) -> TrainConfig:
        """All settings, for a phase that begins now.

        Args:
            phase: the phase.
            searched: seconds that the search has taken already.
        """
        if self._budget is None:
            return self._config
        cost = replace(self._cost, per_second=self.rounds.per_second)
        return self._budget.planned(self._config, self._scenarios, cost, phase, searched)

    def ends_before(self, generation_seconds: float) -> float:
        """How many seconds before its bound a search ends whose generations take so long.

        The next one would overrun the bound by more than it leaves unused.
        """
        return generation_seconds / 2 if self._budget is not None else 0.0


def _rounded_up(seconds: float) -> str:
    """A length of time to type, no shorter."""
    if seconds < 60:
        return f"{int(seconds) + 1}s"
    return f"{int(seconds / 60) + 1}min"
