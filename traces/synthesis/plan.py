"""Plans the days: the load of each, which have sales, and which logs are lost or broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from traces.synthesis.settings import Settings

SATURDAY = 5
SALE_OVER = 0.02
"""Share of a usual day's load: a smaller excess is no longer a sale."""


class Damage(Enum):
    """The damage to a day's log."""

    LOST = "lost"
    HOURS_MISSING = "hours missing"
    MOST_MISSING = "most requests missing"


@dataclass(frozen=True)
class PlannedDay:
    """A planned day.

    Attributes:
        load: load relative to a usual day, including sales.
        sale: excess load of a sale, 0 without one.
        sale_begins: whether it is a sale's first day.
        sale_number: the sale's number, which selects its products; 0 before the first.
        damage: the damage to its log, or None.
    """

    load: float
    sale: float
    sale_begins: bool
    sale_number: int
    damage: Damage | None


def plan(settings: Settings) -> list[PlannedDay]:
    """Draw the plan of all days."""
    random = np.random.default_rng([settings.seed, 0])
    slow = np.exp(_drift(settings, random))
    noise = np.exp(settings.noise * random.standard_normal(settings.days))
    weekdays = np.array([settings.date(day).weekday() for day in range(settings.days)])
    weekly = np.where(weekdays >= SATURDAY, settings.weekend, 1.0)
    begins = _spread(settings.sale_count, settings.days, random)
    sale, number = _sales(settings, begins)
    damages = _damages(settings, begins, random)
    return [
        PlannedDay(
            load=float(slow[day] * noise[day] * weekly[day] * (1 + sale[day])),
            sale=float(sale[day]),
            sale_begins=day in begins,
            sale_number=int(number[day]),
            damage=damages.get(day),
        )
        for day in range(settings.days)
    ]


def _drift(settings: Settings, random: np.random.Generator) -> np.ndarray:
    """Sample an Ornstein-Uhlenbeck process by day, centered on its mean over all days."""
    kept = np.exp(-1 / settings.drift_days)
    steps = random.standard_normal(settings.days) * settings.drift
    drift = np.empty(settings.days)
    drift[0] = steps[0]
    for day in range(1, settings.days):
        drift[day] = kept * drift[day - 1] + np.sqrt(1 - kept**2) * steps[day]
    return drift - drift.mean()


def _spread(count: int, days: int, random: np.random.Generator) -> list[int]:
    """Draw one day from the middle half of each of `count` equal parts of the time."""
    part = days / count if count else 0.0
    return [int(part * (at + random.uniform(0.25, 0.75))) for at in range(count)]


def _sales(settings: Settings, begins: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return each day's excess load, and the number of the last sale that began."""
    excess = np.zeros(settings.days)
    number = np.zeros(settings.days, dtype=np.int64)
    for at, begin in enumerate(begins, start=1):
        after = np.arange(settings.days - begin)
        excess[begin:] = (settings.sale_load - 1) * settings.sale_decay**after
        number[begin:] = at
    excess[excess < SALE_OVER] = 0.0
    return excess, number


def _damages(
    settings: Settings, begins: Sequence[int], random: np.random.Generator
) -> dict[int, Damage]:
    """Draw damaged days other than the first, the last, and those next to the start of a sale."""
    spared = {0, settings.days - 1, *(begin + near for begin in begins for near in (-1, 0, 1))}
    candidates = [day for day in range(settings.days) if day not in spared]
    drawn = random.choice(candidates, size=settings.invalid_count, replace=False)
    kinds = list(Damage)
    return {int(day): kinds[at % len(kinds)] for at, day in enumerate(drawn)}
