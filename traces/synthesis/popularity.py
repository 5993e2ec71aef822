"""The popularity of products, which changes from day to day."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from traces.synthesis.settings import Settings

FIRST_PRODUCT = 1_000_000
MEDIAN_CENTS = 5000.0
ON_SALE = 0.002
"""Share of the products that a sale reduces."""


class Popularity:
    """A ranking of the products that is partly shuffled each night.

    A request is for the product of rank r with a probability proportional to r^-skew. If the skew
    is below 1, the share of the busiest products in a window depends only on the requests per
    product, so shops of any size have the same conflict rate.
    """

    def __init__(self, settings: Settings) -> None:
        random = np.random.default_rng([settings.seed, 1])
        self._settings = settings
        self._ranking = FIRST_PRODUCT + random.permutation(settings.products)
        self._exponent = 1 / (1 - settings.skew)
        self._on_sale = self._ranking[:0]

    def move(self, random: np.random.Generator) -> None:
        """Shuffle some products for the next day."""
        moving = round(self._settings.moving_share * len(self._ranking))
        places = random.choice(len(self._ranking), size=moving, replace=False)
        self._ranking[places] = self._ranking[random.permutation(places)]

    def begin_sale(self, random: np.random.Generator) -> None:
        """Choose new products to be on sale."""
        count = max(1, round(ON_SALE * len(self._ranking)))
        self._on_sale = random.choice(self._ranking, size=count, replace=False)

    def draw(self, count: int, on_sale: float, random: np.random.Generator) -> np.ndarray:
        """Draw a product for each request; a share of the requests is for products on sale."""
        ranks = (random.random(count) ** self._exponent * len(self._ranking)).astype(np.int64)
        products = self._ranking[ranks]
        if on_sale > 0:
            chosen = np.flatnonzero(random.random(count) < on_sale)
            products[chosen] = random.choice(self._on_sale, size=len(chosen))
        return products


def prices_of(settings: Settings) -> pa.Array:
    """Return each product's price as a log writes it, by its number from `FIRST_PRODUCT`."""
    random = np.random.default_rng([settings.seed, 3])
    cents = np.exp(random.normal(np.log(MEDIAN_CENTS), 1.0, settings.products))
    return pa.array([f"{cent / 100:.2f}" for cent in np.maximum(cents, 1.0)])
