"""Numbers the words of a log, consistently through the whole import."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from traces.errors import TraceError

WORD_BITS = 15
WORDS_MAX = (1 << WORD_BITS) - 1
"""The number of types or tables that fit into the schema's 16 bits."""


class Words:
    """Numbers words in the order of their first occurrence.

    Args:
        what: a noun for the message that there are too many: `type`.
        words: words that have numbers already.
        cure: what to do if there are too many.

    Attributes:
        words: the words, ordered by their numbers.
    """

    def __init__(
        self,
        what: str,
        words: tuple[str, ...] = (),
        cure: str = "name a column with fewer values",
    ) -> None:
        self._cure = cure
        self.words = list(words)
        self._numbers = {word: number for number, word in enumerate(words)}
        self._what = what

    def numbers(self, column: pa.Array) -> np.ndarray:
        """Return the numbers of a column of text without nulls.

        Raises:
            TraceError: there are too many different words.
        """
        encoded = column.cast(pa.string()).dictionary_encode()
        known = [self._number(word) for word in encoded.dictionary.to_pylist()]
        return np.array(known, dtype=np.int32)[encoded.indices.to_numpy()]

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        if number >= WORDS_MAX:
            raise TraceError(
                f"{self._what}: the log has more than {WORDS_MAX} different values; {self._cure}"
            )
        return number
