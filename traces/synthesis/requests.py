"""Draws a day's requests: customers add products to their carts and buy some of them."""

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
"""Probability that a customer adds one more product to the cart."""

PURCHASED = 0.3
"""Probability that a product in the cart is bought."""

REQUESTS_PER_SESSION = (1 + PURCHASED) / (1 - MORE_CARTS)

CART_GAP_US = 90 * 1_000_000
PURCHASE_GAP_US = 120 * 1_000_000
"""Mean times between the requests of a session."""

HOURLY = np.array(
    [
        *(0.18, 0.12, 0.10, 0.12, 0.20, 0.38, 0.58, 0.76, 0.88, 0.95, 0.98, 0.97),
        *(0.94, 0.93, 0.96, 1.05, 1.18, 1.36, 1.62, 1.75, 1.50, 1.05, 0.62, 0.34),
    ]
)
"""Relative load in the middle of each hour (UTC), with its peak in the evening."""

OPENING_HOUR = 19
OPENING = 0.15
"""A sale begins at this hour, with this relative excess load in its first hour."""


@dataclass(frozen=True)
class Requests:
    """Requests; each array has one entry for each of them.

    Attributes:
        begin: microseconds since midnight; larger than a day if the session continues after it.
        session: session number, unique in the trace.
        customer: customer number, from 1.
        product: product id.
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
        """Select requests by mask, positions or range."""
        return Requests(
            self.begin[chosen],
            self.session[chosen],
            self.customer[chosen],
            self.product[chosen],
            self.purchase[chosen],
        )

    def and_then(self, other: Requests) -> Requests:
        """Concatenate these requests and others."""
        return Requests(
            np.concatenate([self.begin, other.begin]),
            np.concatenate([self.session, other.session]),
            np.concatenate([self.customer, other.customer]),
            np.concatenate([self.product, other.product]),
            np.concatenate([self.purchase, other.purchase]),
        )

    def earlier(self) -> Requests:
        """Return the requests with times relative to the next day."""
        return replace(self, begin=self.begin - DAY_US)


def no_requests() -> Requests:
    """Return an empty set of requests."""
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
        day: the plan of the day.
        first_session: the number of the first session; the others follow.
        popularity: the popularity on the day.
        settings: settings of the shop.
        random: the day's random generator.

    Returns:
        Unordered requests, and the number of sessions.
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
    """Draw when sessions begin, in microseconds since midnight: a Poisson process by hour."""
    rates = np.interp(
        np.arange(DAY_MINUTES) + 0.5, 60 * np.arange(-1, 25) + 30, np.pad(HOURLY, 1, mode="wrap")
    )
    rates *= day.load * settings.requests_per_day / REQUESTS_PER_SESSION / rates.sum()
    if day.sale_begins:
        rates[OPENING_HOUR * 60 : (OPENING_HOUR + 1) * 60] *= 1 + OPENING
    counts = random.poisson(rates)
    minutes = np.repeat(np.arange(DAY_MINUTES), counts)
    return minutes * MINUTE_US + random.integers(0, MINUTE_US, size=len(minutes))
