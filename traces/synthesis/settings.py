"""What a made-up shop's trace is to be like."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import date, timedelta
from typing import Any

from traces.errors import TraceError

PAPER_DAYS = 203
PAPER_INVALID_DAYS = 6
SALES = 3
"""In as many days: what makes the paper's three days with a large error."""

DAYS_PER_SALE = 4
"""So that no two begin on the same day."""

PRODUCTS_MAX = 20_000_000
"""More would take gigabytes."""


def _option(default: Any, least: float, most: float, words: str) -> Any:
    """A setting with its range and what it means."""
    return field(default=default, metadata={"range": (least, most), "help": words})


@dataclass(frozen=True)
class Settings:
    """A shop, its customers and their months; each field says what it means.

    The defaults give what Wang et al. (OSDI 2021, section 7.6.1) found in a shop's log: 203 days
    from 2019-10-07 of which 6 are invalid, about 3 days whose peak hour is predicted with an error
    above 20 %, about 15 retrainings at a threshold of 15 %. `docs/trace-statistics.md` shows it.

    Raises:
        TraceError: the settings do not go together.
    """

    seed: int = _option(7, 0, 2**63 - 1, "Of everything that is drawn.")
    begin: date = field(
        default=date(2019, 10, 7), metadata={"help": "The first day (UTC), YYYY-MM-DD."}
    )
    days: int = _option(PAPER_DAYS, 1, 36_500, "How many days.")
    requests_per_day: int = _option(
        50_000,
        100,
        10_000_000,
        "Carts and purchases of a usual day. Customers and products grow with it, so that the "
        "conflict rate does not.",
    )
    products_per_request: float = _option(
        0.04, 1e-6, 1000, "Products of the shop ÷ requests of a usual day: sets the conflict rate."
    )
    skew: float = _option(0.7, 0, 0.99, "Zipf's exponent of the products' popularity.")
    moving_share: float = _option(
        0.02, 0, 1, "Of the products, how many change places in popularity in a night."
    )
    customers_per_request: float = _option(
        2.0, 1e-3, 1000, "Registered customers ÷ requests of a usual day."
    )
    weekend: float = _option(1.04, 0.1, 10, "Load on Saturdays and Sundays ÷ that of other days.")
    drift: float = _option(
        0.4, 0, 1, "Standard deviation of the slow drift of the load, in its logarithm."
    )
    drift_days: float = _option(45.0, 1, 10_000, "How long the drift takes to forget, in days.")
    noise: float = _option(
        0.015, 0, 1, "Standard deviation of a day's load about its drift, in its logarithm."
    )
    sales: int | None = _option(
        None, 0, 1000, f"Flash sales.  [default: {SALES} in {PAPER_DAYS} days]"
    )
    sale_load: float = _option(1.7, 1, 10, "Load on a sale's first day ÷ a usual day's.")
    sale_decay: float = _option(0.6, 0, 1, "Of a sale's excess load, what is left a day later.")
    sale_share: float = _option(
        0.3, 0, 1, "Of a sale's excess requests, how many are for products on sale."
    )
    invalid_days: int | None = _option(
        None,
        0,
        10_000,
        "Days whose log is lost or broken: in turn without a file, without some hours, with few "
        f"requests.  [default: {PAPER_INVALID_DAYS} in {PAPER_DAYS} days]",
    )

    def __post_init__(self) -> None:
        """Refuse what is out of range, or does not fit into the days."""
        for one in fields(self):
            value = getattr(self, one.name)
            least, most = one.metadata.get("range", (value, value))
            if value is not None and not least <= value <= most:
                raise TraceError(
                    f"--{one.name.replace('_', '-')} {value}: must be {least} to {most}"
                )
        if self.products > PRODUCTS_MAX:
            raise TraceError(
                f"--products-per-request {self.products_per_request:g}: makes {self.products:,} "
                f"products, and {PRODUCTS_MAX:,} is the most; lower it"
            )
        if self.begin.toordinal() + self.days > date.max.toordinal():
            raise TraceError(f"--begin {self.begin}: {self.days} days later is after the year 9999")
        if self.days < DAYS_PER_SALE * self.sale_count:
            raise TraceError(
                f"--sales {self.sale_count}: takes {DAYS_PER_SALE} days each, and there are "
                f"{self.days}; raise --days"
            )
        room = self.days - DAYS_PER_SALE * self.sale_count - 2
        if self.invalid_count > max(0, room):
            raise TraceError(
                f"--invalid-days {self.invalid_count}: {self.days} days have room for "
                f"{max(0, room)}, the first, the last and those about a sale being spared; raise "
                "--days"
            )

    @property
    def sale_count(self) -> int:
        """How many flash sales there are."""
        return round(SALES * self.days / PAPER_DAYS) if self.sales is None else self.sales

    @property
    def invalid_count(self) -> int:
        """How many days are lost or broken."""
        usual = round(PAPER_INVALID_DAYS * self.days / PAPER_DAYS)
        return usual if self.invalid_days is None else self.invalid_days

    @property
    def products(self) -> int:
        """How many the shop has."""
        return max(1, round(self.requests_per_day * self.products_per_request))

    @property
    def customers(self) -> int:
        """How many are registered."""
        return max(1, round(self.requests_per_day * self.customers_per_request))

    def date(self, day: int) -> date:
        """A day by its number, from 0."""
        return self.begin + timedelta(days=day)
