"""The version that results and policies carry."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def heddle_version() -> str:
    """The installed version, "unknown" when it runs from bare sources."""
    try:
        return version("heddle")
    except PackageNotFoundError:
        return "unknown"
