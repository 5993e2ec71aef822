"""The parameters that a generator shares with the engine's workload of the same name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from omegaconf import OmegaConf


@cache
def _options(workload: str) -> Any:
    text = (files("configs") / "workload" / f"{workload}.yaml").read_text(encoding="utf-8")
    return OmegaConf.create(text)


def number(workload: str, option: str) -> Any:
    """Return an option of `configs/workload`."""
    return _options(workload)[option]


def share(workload: str, option: str) -> float:
    """Return an option in percent as a share of 1."""
    return float(number(workload, option)) / 100
