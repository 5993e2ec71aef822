"""The version in results and policies."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def heddle_version() -> str:
    """Return the installed version; "unknown" if Heddle is not installed."""
    try:
        return version("heddle")
    except PackageNotFoundError:
        return "unknown"
