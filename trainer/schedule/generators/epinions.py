"""Epinions (OLTP-Bench: Difallah et al., VLDB 2013), nine types on users, items, reviews, trust."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import Zipf, read, setting, write

WEIGHTS = (10, 10, 10, 10, 10, 10, 10, 20, 10)
"""Of the types, in the order of `_types`."""


@dataclass(frozen=True)
class Epinions:
    """Five types read, four update one row. Rows of an item's reviews count as one key."""

    users: int = setting(2_000_000, 1, 100_000_000, "users there are")
    items: int = setting(1_000_000, 1, 100_000_000, "items there are")
    theta: float = setting(0.99, 0, 10, "skew of both")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Without end."""
        users = Zipf(self.users, self.theta, random)
        items = Zipf(self.items, self.theta, random)
        shares = np.array(WEIGHTS) / sum(WEIGHTS)
        while True:
            types = _types(users.draw(), items.draw())
            yield types[random.choice(len(types), p=shares)]


def _types(user: int, item: int) -> list[list[Operation]]:
    return [
        [read("item", item), read("reviews", item)],  # GetReviewItemById
        [read("user", user), read("reviews_by", user)],  # GetReviewsByUser
        [read("trust", user), read("reviews", item)],  # GetAverageRatingByTrustedUser
        [read("reviews", item)],  # GetItemAverageRating
        [read("reviews", item), read("trust", user)],  # GetItemReviewsByTrustedUser
        [read("user", user), write("user", user)],  # UpdateUserName
        [read("item", item), write("item", item)],  # UpdateItemTitle
        [read("reviews", item), write("reviews", item)],  # UpdateReviewRating
        [read("trust", user), write("trust", user)],  # UpdateTrustRating
    ]
