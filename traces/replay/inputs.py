"""The inputs of recorded transactions as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from traces.declared import word_numbers
from traces.errors import TraceError
from traces.manifest import Access, TransactionType
from traces.order import begins_of
from traces.reader import Trace
from traces.replay.part import Part

COLUMNS = ("begin", "session", "type", "accesses", "outcome")

UNDECLARED = "of a type whose accesses trace.json does not declare"
UNKNOWN = "whose accesses are not known"
EXCLUDED = "of an excluded type"


@dataclass(frozen=True)
class Inputs:
    """Transactions in the order of `begin`, and their accesses in the same order.

    Attributes:
        begin: int64 for each transaction, microseconds since 1970 (UTC).
        session: int64 for each transaction.
        type: int64 for each transaction: its number among the types that are replayed.
        rolls_back: bool for each transaction: it ended with its own ROLLBACK.
        lengths: int64 for each transaction: its number of accesses.
        access: int64 for each access: its number in its type.
        key: int64 for each access.
        declared: int64 for each access: its number among the declared accesses of all types.
    """

    begin: np.ndarray
    session: np.ndarray
    type: np.ndarray
    rolls_back: np.ndarray
    lengths: np.ndarray
    access: np.ndarray
    key: np.ndarray
    declared: np.ndarray


class InputReader:
    """Reads the inputs of a part of a trace, in any number of passes.

    Args:
        trace: the trace.
        part: the part of it.

    Raises:
        TraceError: no type of the trace declares its accesses, or all that do are excluded.

    Attributes:
        types: the types that are replayed: their accesses are declared, and they are not excluded.
        left_out: transactions of the last pass that aren't replayed, by reason.
    """

    def __init__(self, trace: Trace, part: Part) -> None:
        self._trace = trace
        self._part = part
        declared = [type_ for type_ in trace.manifest.types if type_.accesses]
        self.types: tuple[TransactionType, ...] = tuple(
            type_ for type_ in declared if type_.name not in part.excluded
        )
        self.left_out: Counter[str] = Counter()
        if not declared:
            raise TraceError(
                f"{trace.folder}: can't be replayed: no transaction type in its trace.json "
                "declares its accesses; import it with a mapping that names them"
            )
        if not self.types:
            raise TraceError(
                f"exclude={','.join(part.excluded)}: leaves no type whose accesses are declared; "
                "exclude fewer"
            )
        counts = np.array([len(type_.accesses) for type_ in self.types])
        self._firsts = np.cumsum(counts) - counts

    @property
    def accesses(self) -> list[Access]:
        """The declared accesses of all types, type by type."""
        return [made for type_ in self.types for made in type_.accesses]

    def batches(self) -> Iterator[Inputs]:
        """Stream the inputs.

        Raises:
            TraceError: a file of the trace is damaged.
        """
        self.left_out.clear()
        for batch in self._trace.batches(COLUMNS, self._part.days):
            begins = begins_of(batch)
            first, end = np.searchsorted(begins, [self._part.first_us, self._part.end_us])
            if first < end:
                yield self._inputs(batch.slice(first, end - first), begins[first:end])

    def _inputs(self, batch: pa.RecordBatch, begins: np.ndarray) -> Inputs:
        types = word_numbers(batch["type"], [type_.name for type_ in self.types])
        lists = batch["accesses"]
        known = lists.is_valid().to_numpy(zero_copy_only=False)
        kept = (types >= 0) & known
        excluded = word_numbers(batch["type"], self._part.excluded) >= 0
        self.left_out[EXCLUDED] += int(excluded.sum())
        self.left_out[UNDECLARED] += int(((types < 0) & ~excluded).sum())
        self.left_out[UNKNOWN] += int(((types >= 0) & ~known).sum())
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        items = lists.flatten()
        of_kept = np.repeat(kept, lengths)
        access = items.field("access").to_numpy()[of_kept].astype(np.int64)
        return Inputs(
            begin=begins[kept],
            session=batch["session"].to_numpy()[kept],
            type=types[kept],
            rolls_back=_rolled_back(batch["outcome"])[kept],
            lengths=lengths[kept].astype(np.int64),
            access=access,
            key=items.field("key").to_numpy()[of_kept],
            declared=np.repeat(self._firsts[types[kept]], lengths[kept]) + access,
        )


def _rolled_back(outcomes: pa.DictionaryArray) -> np.ndarray:
    indices = outcomes.indices.fill_null(-1)
    rolled = [word == "rolled_back" for word in outcomes.dictionary.to_pylist()] + [False]
    return np.array(rolled)[indices.to_numpy()]
