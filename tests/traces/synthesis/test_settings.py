from __future__ import annotations

import math
from datetime import date
from typing import Any

import pytest

from traces.errors import TraceError
from traces.synthesis.plan import Damage, plan
from traces.synthesis.settings import Settings


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"days": 0}, "--days 0: must be 1 to 36500"),
        ({"requests_per_day": 99}, "--requests-per-day 99: must be 100"),
        ({"skew": 1.0}, "--skew 1.0: must be 0 to 0.99"),
        ({"skew": math.nan}, "--skew nan"),
        ({"drift": math.inf}, "--drift inf"),
        ({"sales": 3, "days": 11}, "--sales 3: needs 12 days, 4 each, but there are 11"),
        (
            {"invalid_days": 5, "sales": 0, "days": 6},
            "--invalid-days 5: at most 4 of 6 days",
        ),
        ({"begin": date(9999, 12, 1)}, "--begin 9999-12-01"),
        ({"products_per_request": 900.0, "requests_per_day": 10**6}, "--products-per-request 900"),
    ],
)
def test_messages_name_the_option(bad: dict[str, Any], told: str) -> None:
    with pytest.raises(TraceError) as error:
        Settings(**bad)
    assert told in str(error.value)


def test_the_default_days_match_the_paper() -> None:
    settings = Settings()
    assert (settings.date(0), settings.date(settings.days - 1)) == (
        date(2019, 10, 7),
        date(2020, 4, 26),
    )
    assert settings.invalid_count == 6


@pytest.mark.parametrize("days", range(1, 60))
def test_the_defaults_fit_any_number_of_days(days: int) -> None:
    assert len(plan(Settings(days=days))) == days


def test_the_plan_matches_the_settings() -> None:
    planned = plan(Settings(days=60, sales=2, invalid_days=7))
    assert [day.sale_begins for day in planned].count(True) == 2
    damages = [day.damage for day in planned if day.damage is not None]
    assert sorted(damage.name for damage in damages) == sorted(
        [damage.name for damage in Damage] * 2 + [Damage.LOST.name]
    )
    assert planned[0].damage is None
    assert planned[-1].damage is None


def test_a_sale_decays() -> None:
    settings = Settings(days=40, sales=1, invalid_days=0, sale_load=2.0, sale_decay=0.5)
    sales = [day.sale for day in plan(settings)]
    begin = next(at for at, sale in enumerate(sales) if sale)
    assert sales[begin : begin + 4] == [1.0, 0.5, 0.25, 0.125]
    assert sales[begin - 1] == 0
    assert sales[-1] == 0


def test_the_mean_load_is_about_one() -> None:
    loads = [day.load for day in plan(Settings(days=200, sales=0, drift=0.4))]
    assert sum(loads) / len(loads) == pytest.approx(1.05, abs=0.1)
    assert max(loads) / min(loads) > 1.5
