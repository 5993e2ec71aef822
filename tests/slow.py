"""Parameters with which a test is slow: `make test` leaves them out, `make test-slow` runs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_slow(values: Iterable[Any], slow: Collection[Any]) -> list[Any]:
    """Returns parameters for `pytest.mark.parametrize`; those in `slow` have its mark.

    Raises:
        ValueError: if one of `slow` is not among the values, as after a change of its name.
    """
    values = list(values)
    if unknown := [value for value in slow if value not in values]:
        raise ValueError(f"not among the parameters: {unknown}")
    return [_marked(value) if value in slow else value for value in values]


def _marked(value: Any) -> Any:
    """Return a parameter with the mark; a tuple is the values of several arguments."""
    arguments = value if isinstance(value, tuple) else (value,)
    return pytest.param(*arguments, marks=pytest.mark.slow)
