"""Types that differ in what a pattern matches, such as one a URL, made one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa

from traces.errors import TraceError, shown

FOLDED = "*"
"""Stands in a type's name for what was folded."""

MANY_TYPES = 1000
"""A log with more types than this hardly has as many procedures."""

NUMBERS = "[0-9]+"
_OPTION = "--fold-types"


class TypeFolding:
    """Folds names of types.

    Args:
        patterns: regular expressions; what they match becomes `FOLDED`, one after the other.

    Raises:
        TraceError: one is no regular expression.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def fold(self, names: pa.Array) -> pa.Array:
        """The names, folded; each different one is looked at once."""
        if not self._patterns:
            return names
        encoded = names.dictionary_encode()
        folded = [self._fold(name) for name in encoded.dictionary.to_pylist()]
        return pa.array(folded, pa.string()).take(encoded.indices)

    def _fold(self, name: str) -> str:
        for pattern in self._patterns:
            name = pattern.sub(FOLDED, name)
        return name


def many_types_hint(names: Collection[str]) -> str | None:
    """What to do where a log has very many types; None where it has few."""
    if len(names) < MANY_TYPES:
        return None
    numbers = re.compile(NUMBERS)
    folded = len({numbers.sub(FOLDED, name) for name in names})
    examples = ", ".join(shown(name) for name in sorted(names)[:2])
    return (
        f"hint: {len(names):,} types, such as {examples}, are hardly as many procedures; "
        f"{_OPTION} REGEX makes one type of those that differ in what it matches: "
        f"{_OPTION} '{NUMBERS}' leaves {folded:,}"
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TraceError(
            f"{_OPTION} {pattern}: is no regular expression: {error}; such as '{NUMBERS}' is one"
        ) from None
