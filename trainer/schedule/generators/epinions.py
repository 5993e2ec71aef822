"""Epinions (OLTP-Bench: Difallah et al., VLDB 2013), nine types on users, items, reviews, trust."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import Zipf, read, setting, write
from trainer.schedule.generators.engine_workload import number, share

NAME = "epinions"
TYPES = (
    "get_review_item_by_id",
    "get_reviews_by_user",
    "get_average_rating_by_trusted_user",
    "get_item_average_rating",
    "get_item_reviews_by_trusted_user",
    "update_user_name",
    "update_item_title",
    "update_review_rating",
    "update_trust_rating",
)
"""In the order of `_types`."""


@dataclass(frozen=True)
class Epinions:
    """Five types read, four update one row. The rows of an item's reviews count as one key."""

    users: int = setting(2_000_000, 1, 100_000_000, "number of users")
    items: int = setting(1_000_000, 1, 100_000_000, "number of items")
    theta: float = setting(number(NAME, "theta"), 0, 10, "skew of both")

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        users = Zipf(self.users, self.theta, random)
        items = Zipf(self.items, self.theta, random)
        shares = [share(NAME, name) for name in TYPES]
        while True:
            types = _types(users.draw(), items.draw())
            yield types[random.choice(len(types), p=shares)]


def _types(user: int, item: int) -> list[list[Operation]]:
    return [
        [read("item", item), read("reviews", item)],
        [read("user", user), read("reviews_by", user)],
        [read("trust", user), read("reviews", item)],
        [read("reviews", item)],
        [read("reviews", item), read("trust", user)],
        [read("user", user), write("user", user)],
        [read("item", item), write("item", item)],
        [read("reviews", item), write("reviews", item)],
        [read("trust", user), write("trust", user)],
    ]
