"""A small shop with busy hours, and the smallest night that trains for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

from policies import Signature, build_seed
from policies.document import PolicyDocument
from tests.traces.replay.some_programs import TYPES, day, shop
from tests.traces.some_transactions import manifest, write
from trainer.command.settings import compose_settings
from trainer.config import NightlyConfig
from trainer.nightly.conditions import Conditions
from trainer.progress import LineDisplay

FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)

TINY = (
    "machine.cores=2",
    "search.generations=2",
    "search.seconds=null",
    "search.proposals=2",
    "evaluation.backend=in_process",
    "evaluation.slice_seconds=0.001",
    "evaluation.warmup_seconds=0.0002",
    "evaluation.rungs=[1]",
    "tuning.slice_seconds=0.001",
    "tuning.warmup_seconds=0.0002",
    "tuning.rounds=1",
    "tuning.finalists=1",
    "tuning.final_rounds=1",
    "champion.finalists=2",
    "champion.rounds=1",
    "champion.slice_seconds=0.001",
    "champion.warmup_seconds=0.0002",
    "run.seconds=0.001",
    "run.repeats=1",
    "run.warmup=0.0002",
    "held_out.blocks=3",
    "held_out.resamples=199",
    "baselines=[silo]",
    "check.enabled=false",
    "mlflow.enabled=false",
)


def noon(of: date) -> datetime:
    return datetime(of.year, of.month, of.day, 12, tzinfo=UTC)


def busy_hour(of: date, sessions: int = 10, apart: bool = False) -> list[dict[str, Any]]:
    """Return an hour of orders and cancellations from noon, one every six seconds.

    All of them access the same seven goods, or each its own with `apart`.
    """
    step_s = 6
    rows = day(noon(of), 3600 // step_s, sessions)
    for number, one in enumerate(rows):
        one["begin"] = noon(of) + timedelta(seconds=number * step_s)
        one["transaction"] += of.toordinal() * 100_000
        one["user"] = one["session"]
        if apart:
            one["accesses"] = [made | {"key": 10_000 + number} for made in one["accesses"]]
    return rows


def two_days(folder: Path, apart: bool = False) -> Path:
    """Write two days; the second equals the first or has no conflicts."""
    write(folder, busy_hour(FIRST), busy_hour(SECOND, apart=apart), manifest=manifest(types=TYPES))
    return folder


def one_day(folder: Path, sessions: int = 10) -> Path:
    return shop(folder, *busy_hour(FIRST, sessions=sessions))


def settings(*typed: str) -> NightlyConfig:
    return compose_settings("nightly", [*TINY, *typed], NightlyConfig)


@contextmanager
def quiet() -> Iterator[LineDisplay]:
    yield LineDisplay(Console(quiet=True))


def peak(rate: float = 0.5, of: date = FIRST) -> Conditions:
    return Conditions(of, 12, 600, rate)


def table(signature: Signature, name: str = "occ") -> PolicyDocument:
    return build_seed(name, signature)
