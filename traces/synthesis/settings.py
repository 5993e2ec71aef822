"""Settings of a synthetic shop trace."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import date, timedelta
from typing import Any

from traces.errors import TraceError

PAPER_DAYS = 203
PAPER_INVALID_DAYS = 6
SALES = 3
"""Sales in `PAPER_DAYS` days, which give the paper's three days with a large error."""

DAYS_PER_SALE = 4
"""The minimum number of days for each sale, so that no two begin on the same day."""

PRODUCTS_MAX = 20_000_000
"""The limit that keeps memory below gigabytes."""


def _option(default: Any, least: float, most: float, words: str) -> Any:
    """Declare a setting with its range and its help text."""
    return field(default=default, metadata={"range": (least, most), "help": words})


@dataclass(frozen=True)
class Settings:
    """Settings of a shop and its customers; each field has a help text.

    The defaults reproduce the shop's log of Wang et al. (OSDI 2021, section 7.6.1): 203 days from
    2019-10-07 of which 6 are invalid, about 3 days whose peak hour is predicted with an error above
    20 %, and about 15 retrainings at a threshold of 15 %. See `docs/trace-statistics.md`.

    Raises:
        TraceError: a setting is out of range, or two contradict each other.
    """

    seed: int = _option(7, 0, 2**63 - 1, "Set the seed of the random generator.")
    begin: date = field(default=date(2019, 10, 7), metadata={"help": "Set the first day (UTC)."})
    days: int = _option(PAPER_DAYS, 1, 36_500, "Set the number of days.")
    requests_per_day: int = _option(
        50_000,
        100,
        10_000_000,
        "Set the carts and purchases of a usual day.",
    )
    products_per_request: float = _option(
        0.04, 1e-6, 1000, "Set products per request of a usual day (conflict rate)."
    )
    skew: float = _option(0.7, 0, 0.99, "Set the Zipf exponent of the products' popularity.")
    moving_share: float = _option(
        0.02, 0, 1, "Set the share of products whose popularity changes each night."
    )
    customers_per_request: float = _option(
        2.0, 1e-3, 1000, "Set registered customers per request of a usual day."
    )
    weekend: float = _option(1.04, 0.1, 10, "Set the weekend's load relative to other days.")
    drift: float = _option(0.4, 0, 1, "Set the standard deviation of the log load's drift.")
    drift_days: float = _option(45.0, 1, 10_000, "Set the drift's correlation time in days.")
    noise: float = _option(0.015, 0, 1, "Set the standard deviation of the log load by day.")
    sales: int | None = _option(
        None, 0, 1000, f"Set the number of flash sales.  [default: {SALES} in {PAPER_DAYS} days]"
    )
    sale_load: float = _option(1.7, 1, 10, "Set the relative load of a sale's first day.")
    sale_decay: float = _option(0.6, 0, 1, "Set the share of excess load left a day later.")
    sale_share: float = _option(0.3, 0, 1, "Set the share of excess requests for products on sale.")
    invalid_days: int | None = _option(
        None,
        0,
        10_000,
        "Set the number of days whose log is damaged. "
        f" [default: {PAPER_INVALID_DAYS} in {PAPER_DAYS} days]",
    )

    def __post_init__(self) -> None:
        """Check the ranges, and that sales and damaged days fit into the days."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            least, most = setting.metadata.get("range", (value, value))
            if value is not None and not least <= value <= most:
                raise TraceError(
                    f"--{setting.name.replace('_', '-')} {value}: must be {least} to {most}"
                )
        if self.products > PRODUCTS_MAX:
            raise TraceError(
                f"--products-per-request {self.products_per_request:g}: gives {self.products:,} "
                f"products, and at most {PRODUCTS_MAX:,} are supported; lower it"
            )
        if self.begin.toordinal() + self.days > date.max.toordinal():
            raise TraceError(f"--begin {self.begin}: {self.days} days later is after the year 9999")
        if self.days < DAYS_PER_SALE * self.sale_count:
            raise TraceError(
                f"--sales {self.sale_count}: needs {DAYS_PER_SALE * self.sale_count} days, "
                f"{DAYS_PER_SALE} each, but there are {self.days}; raise --days"
            )
        room = self.days - DAYS_PER_SALE * self.sale_count - 2
        if self.invalid_count > max(0, room):
            raise TraceError(
                f"--invalid-days {self.invalid_count}: at most {max(0, room)} of {self.days} days "
                "can be invalid, which excludes the first, the last and those near a sale; raise "
                "--days"
            )

    @property
    def sale_count(self) -> int:
        """The number of flash sales."""
        return round(SALES * self.days / PAPER_DAYS) if self.sales is None else self.sales

    @property
    def invalid_count(self) -> int:
        """The number of days whose log is damaged."""
        usual = round(PAPER_INVALID_DAYS * self.days / PAPER_DAYS)
        return usual if self.invalid_days is None else self.invalid_days

    @property
    def products(self) -> int:
        """The number of products."""
        return max(1, round(self.requests_per_day * self.products_per_request))

    @property
    def customers(self) -> int:
        """The number of registered customers."""
        return max(1, round(self.requests_per_day * self.customers_per_request))

    def date(self, day: int) -> date:
        """Return the date of a day number, from 0."""
        return self.begin + timedelta(days=day)
