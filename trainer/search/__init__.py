"""Search methods: each proposes policy tables and learns from their measurements."""

from __future__ import annotations

from trainer.search.base import Candidate, Measured, Search
from trainer.search.registry import SEARCHES, build_search, register_searches
from trainer.search.warm_start import warm_start

__all__ = [
    "SEARCHES",
    "Candidate",
    "Measured",
    "Search",
    "build_search",
    "register_searches",
    "warm_start",
]
