"""Merges types that differ only in what a pattern matches, such as ids in a URL."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa

from traces.errors import TraceError, shown

FOLDED = "*"
"""The replacement of the matched text in a type's name."""

MANY_TYPES = 1000
"""The number of types above which a log is likely to lack folding."""

NUMBERS = "[0-9]+"
_OPTION = "--fold-types"


class TypeFolding:
    """Folds names of types.

    Args:
        patterns: regular expressions, applied in order; each match becomes `FOLDED`.

    Raises:
        TraceError: a pattern is not a regular expression.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def fold(self, names: pa.Array) -> pa.Array:
        """Fold names; each distinct name is folded once."""
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
    """Return advice for a log with very many types; None if it has few."""
    if len(names) < MANY_TYPES:
        return None
    numbers = re.compile(NUMBERS)
    folded = len({numbers.sub(FOLDED, name) for name in names})
    examples = ", ".join(shown(name) for name in sorted(names)[:2])
    return (
        f"hint: the log has {len(names):,} types, such as {examples}, probably more than its "
        f"procedures; {_OPTION} REGEX merges types that differ only in what it matches: "
        f"{_OPTION} '{NUMBERS}' leaves {folded:,}"
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TraceError(
            f"{_OPTION} {pattern}: is not a regular expression: {error}; a valid one is '{NUMBERS}'"
        ) from None
