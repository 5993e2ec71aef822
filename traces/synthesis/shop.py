"""Generates the transactions of a shop trace, day by day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np
import pyarrow as pa

from traces.synthesis.plan import Damage, PlannedDay, plan
from traces.synthesis.popularity import Popularity, prices_of
from traces.synthesis.requests import Requests, draw_requests, no_requests
from traces.synthesis.settings import Settings
from traces.synthesis.table import table_of
from traces.trace_files import DAY_US, start_of

HOUR_US = DAY_US // 24
TABLE_ROWS = 1 << 19
"""Requests that are converted to transactions at a time, which take several times the memory."""

KEPT = 0.1
"""Share of the requests in the log of a day that lacks most of them."""

MISSING_HOURS = (9, 14)
"""The first and the last hour of a gap in a log that lacks hours."""


def days_of(settings: Settings) -> Iterator[tuple[date, Iterator[pa.Table]]]:
    """Yield each day with ordered tables of its transactions; none if its log is lost.

    Memory holds the requests of one day. The same settings give the same transactions.
    """
    prices = prices_of(settings)
    transactions = 0
    for day, requests in requests_of_days(settings):
        yield day, _tables(requests, prices, start_of(day), transactions)
        transactions += len(requests)


def requests_of_days(settings: Settings) -> Iterator[tuple[date, Requests]]:
    """Yield each day with the ordered requests of its log."""
    popularity = Popularity(settings)
    running_on = no_requests()
    sessions = 0
    for number, planned in enumerate(plan(settings)):
        random = np.random.default_rng([settings.seed, 2, number])
        popularity.move(random)
        if planned.sale_begins:
            popularity.begin_sale(random)
        drawn, begun = draw_requests(planned, sessions, popularity, settings, random)
        sessions += begun
        today, running_on = _split(running_on.and_then(drawn))
        yield settings.date(number), _kept(today, planned, random)


def _tables(
    requests: Requests, prices: pa.Array, midnight_us: int, first_transaction: int
) -> Iterator[pa.Table]:
    for first in range(0, len(requests), TABLE_ROWS):
        some = requests.where(np.s_[first : first + TABLE_ROWS])
        yield table_of(some, prices, midnight_us, first_transaction + first)


def _split(requests: Requests) -> tuple[Requests, Requests]:
    """Return today's requests in order, and those that continue on the next day."""
    later = requests.begin >= DAY_US
    today = requests.where(~later)
    return today.where(np.argsort(today.begin, kind="stable")), requests.where(later).earlier()


def _kept(requests: Requests, planned: PlannedDay, random: np.random.Generator) -> Requests:
    """Return the requests that remain in a damaged log."""
    if planned.damage is Damage.LOST:
        return no_requests()
    if planned.damage is Damage.HOURS_MISSING:
        hours = requests.begin // HOUR_US
        return requests.where((hours < MISSING_HOURS[0]) | (hours >= MISSING_HOURS[1]))
    if planned.damage is Damage.MOST_MISSING:
        return requests.where(random.random(len(requests)) < KEPT)
    return requests
