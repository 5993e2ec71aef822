"""The values and defaults of policies that the engine declares.

`python -m configs.generate` writes this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ALPHAS: tuple[float, ...] = (
    0.0,
    0.5,
    1.0,
    2.0,
    4.0,
)

INITIAL_US: tuple[float, ...] = (
    0.125,
    0.5,
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    32.0,
    64.0,
    128.0,
    256.0,
    512.0,
    1024.0,
)

SCHEDULE_DEFAULTS: Mapping[str, str | int | float] = MappingProxyType(
    {
        "policy": "fifo",
        "window": 8,
        "k": 5,
        "barrier": 32,
        "hot": 0.01,
        "wrong_hints": 0.0,
        "defer": 0.6,
        "rules": "auto",
        "until": "auto",
        "probe_us": 1000.0,
    }
)
"""The engine's defaults of the fields of a schedule."""
