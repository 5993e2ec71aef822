"""One day's requests: customers come, put products into their carts, and buy some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from traces.synthesis.plan import PlannedDay
from traces.synthesis.popularity import Popularity
from traces.synthesis.settings import Settings
from traces.trace_files import DAY_US

MINUTE_US = 60_000_000
DAY_MINUTES = 1440

MORE_CARTS = 0.4
"""Chance that a customer puts one more product into the cart."""

PURCHASED = 0.3
"""Chance that a product in the cart is bought."""

REQUESTS_PER_SESSION = (1 + PURCHASED) / (1 - MORE_CARTS)

CART_GAP_US = 90 * 1_000_000
PURCHASE_GAP_US = 120 * 1_000_000
"""Mean times between requests of a session."""

HOURLY = np.array(
    [
        *(0.18, 0.12, 0.10, 0.12, 0.20, 0.38, 0.58, 0.76, 0.88, 0.95, 0.98, 0.97),
        *(0.94, 0.93, 0.96, 1.05, 1.18, 1.36, 1.62, 1.75, 1.50, 1.05, 0.62, 0.34),
    ]
)
"""Load in the middle of each hour (UTC), in relation: a shop whose evening is the peak."""

OPENING_HOUR = 19
OPENING = 0.15
"""A sale begins in the evening's rush, with so much more load in its first hour."""


@dataclass(frozen=True)
class Requests:
    """Some requests, one entry each in every array.

    Attributes:
        begin: µs since midnight; beyond the day where a session runs into the next.
        session: unique in the trace.
        customer: from 1.
        product: its id.
        purchase: true for a purchase, false for a cart.
    """

    begin: np.ndarray
    session: np.ndarray
    customer: np.ndarray
    product: np.ndarray
    purchase: np.ndarray

    def __len__(self) -> int:
        return len(self.begin)

    def where(self, chosen: np.ndarray | slice) -> Requests:
        """Some of them, by mask, by position or by range."""
        return Requests(
            self.begin[chosen],
            self.session[chosen],
            self.customer[chosen],
            self.product[chosen],
            self.purchase[chosen],
        )

    def and_then(self, other: Requests) -> Requests:
        """These and others."""
        return Requests(
            np.concatenate([self.begin, other.begin]),
            np.concatenate([self.session, other.session]),
            np.concatenate([self.customer, other.customer]),
            np.concatenate([self.product, other.product]),
            np.concatenate([self.purchase, other.purchase]),
        )

    def earlier(self) -> Requests:
        """The same, in the next day's time."""
        return replace(self, begin=self.begin - DAY_US)


def no_requests() -> Requests:
    """None at all."""
    none = np.empty(0, dtype=np.int64)
    return Requests(none, none, none, none, np.empty(0, dtype=bool))


def draw_requests(
    day: PlannedDay,
    first_session: int,
    popularity: Popularity,
    settings: Settings,
    random: np.random.Generator,
) -> tuple[Requests, int]:
    """Draw the sessions that begin on a day, and their requests.

    Args:
        day: what is planned.
        first_session: the number of the first; the others follow.
        popularity: of the day.
        settings: of the shop.
        random: the day's own.

    Returns:
        Requests in no order, and the number of sessions.
    """
    starts = _session_starts(day, settings, random)
    sessions = len(starts)
    carts = random.geometric(1 - MORE_CARTS, size=sessions)
    of_session = np.repeat(np.arange(sessions), carts)
    gaps = random.exponential(CART_GAP_US, size=len(of_session))
    waited = np.cumsum(gaps)
    firsts = np.cumsum(carts) - carts
    begin = starts[of_session] + (waited - waited[firsts][of_session]).astype(np.int64)
    customers = random.integers(1, settings.customers + 1, size=sessions)
    on_sale = settings.sale_share * day.sale / (1 + day.sale)
    cart = Requests(
        begin,
        first_session + of_session,
        customers[of_session],
        popularity.draw(len(of_session), on_sale, random),
        np.zeros(len(of_session), dtype=bool),
    )
    bought = np.flatnonzero(random.random(len(of_session)) < PURCHASED)
    later = random.exponential(PURCHASE_GAP_US, size=len(bought)).astype(np.int64)
    purchase = Requests(
        begin[bought] + later,
        cart.session[bought],
        cart.customer[bought],
        cart.product[bought],
        np.ones(len(bought), dtype=bool),
    )
    return cart.and_then(purchase), sessions


def _session_starts(day: PlannedDay, settings: Settings, random: np.random.Generator) -> np.ndarray:
    """When sessions begin, µs since midnight: a Poisson process whose rate follows the hours."""
    rates = np.interp(
        np.arange(DAY_MINUTES) + 0.5, 60 * np.arange(-1, 25) + 30, np.pad(HOURLY, 1, mode="wrap")
    )
    rates *= day.load * settings.requests_per_day / REQUESTS_PER_SESSION / rates.sum()
    if day.sale_begins:
        rates[OPENING_HOUR * 60 : (OPENING_HOUR + 1) * 60] *= 1 + OPENING
    counts = random.poisson(rates)
    minutes = np.repeat(np.arange(DAY_MINUTES), counts)
    return minutes * MINUTE_US + random.integers(0, MINUTE_US, size=len(minutes))
