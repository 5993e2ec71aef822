"""A small synthetic shop whose requests can be executed."""

from __future__ import annotations

from pathlib import Path

from traces.manifest import Manifest, Source
from traces.synthesis.settings import Settings
from traces.synthesis.shop import days_of
from traces.synthesis.table import TYPES
from traces.writer import TraceWriter


def made_up_shop(folder: Path, days: int = 1, requests_per_day: int = 2000) -> Path:
    """Write its trace, with a dozen popular products."""
    settings = Settings(
        days=days,
        requests_per_day=requests_per_day,
        products_per_request=12 / requests_per_day,
        skew=0.9,
    )
    with TraceWriter(folder, Manifest("shop", Source("synth"), TYPES, synthetic=True)) as writer:
        for _, tables in days_of(settings):
            for table in tables:
                writer.write(table)
    return folder
