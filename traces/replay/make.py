"""Makes a replay program from a part of a trace, in two passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from traces.atomic_file import replaced_atomically
from traces.errors import TraceError, why
from traces.reader import Trace
from traces.replay.inputs import InputReader, Inputs
from traces.replay.numbering import Rows, Sessions
from traces.replay.part import Part
from traces.replay.program import Counts, ProgramWriter

MOST_TRANSACTIONS = 2**32 - 1
"""The engine numbers transactions with 32 bits."""

Report = Callable[[int], None]
"""Called with the number of transactions read so far, in both passes."""


def make_program(
    trace: Trace, part: Part, path: Path, report: Report | None = None
) -> dict[str, int]:
    """Write the replay program of a part of a trace atomically.

    Memory holds the keys of the part's rows, its sessions and one batch of transactions.

    Args:
        trace: the trace.
        part: the part of it.
        path: the file, which is replaced.
        report: called with the progress.

    Returns:
        The number of transactions that can't be replayed, by reason.

    Raises:
        TraceError: there is nothing to replay, the trace is damaged, or the file can't be written.
    """
    maker = _Maker(trace, part, report or (lambda done: None))
    maker.number()
    try:
        with replaced_atomically(path) as beside:
            maker.write(beside)
    except OSError as error:
        raise TraceError(f"{path}: can't be written: {why(error)}") from None
    return {reason: count for reason, count in maker.reader.left_out.items() if count}


class _Maker:
    def __init__(self, trace: Trace, part: Part, report: Report) -> None:
        self.reader = InputReader(trace, part)
        self._trace = trace
        self._part = part
        self._report = report
        self._seen = 0
        made = self.reader.accesses
        names = list(dict.fromkeys(access.table for access in made))
        self._tables = {name: Rows() for name in names}
        self._table = np.array([names.index(access.table) for access in made])
        self._inserts = np.array([access.kind == "insert" for access in made])
        self._scans = np.array([access.kind == "scan" for access in made])
        self._sessions = Sessions()
        self._transactions = 0
        self._accesses = 0
        self._first_us: int | None = None

    def number(self) -> None:
        """First pass: count transactions and number rows and sessions."""
        for inputs in self.reader.batches():
            if self._first_us is None and len(inputs.begin):
                self._first_us = int(inputs.begin[0])
            self._sessions.add(inputs.session)
            for table, rows in enumerate(self._tables.values()):
                selected = self._table[inputs.declared] == table
                declared = inputs.declared[selected]
                rows.add(inputs.key[selected], self._inserts[declared], self._scans[declared])
            self._transactions += len(inputs.begin)
            self._accesses += len(inputs.access)
            self._report_progress(inputs)
        self._refuse_nothing()

    def write(self, path: Path) -> None:
        """Second pass: write the file."""
        rows = sum(len(table) for table in self._tables.values())
        counts = Counts(self._transactions, self._accesses, len(self._sessions), rows)
        done = 0
        with ProgramWriter(path, counts, self._header()) as file:
            file.append("first_access", np.zeros(1, np.int64))
            for inputs in self.reader.batches():
                file.append("begin", inputs.begin - self._first_us)
                file.append("first_access", done + np.cumsum(inputs.lengths))
                file.append("row", self._rows_of(inputs))
                file.append("session", self._sessions.numbers(inputs.session))
                file.append("access", inputs.access)
                file.append("type", inputs.type)
                file.append("rolls_back", inputs.rolls_back)
                done += len(inputs.access)
                self._report_progress(inputs)
            for table in self._tables.values():
                file.append("born", table.born)

    def _report_progress(self, inputs: Inputs) -> None:
        self._seen += len(inputs.begin)
        self._report(self._seen)

    def _rows_of(self, inputs: Inputs) -> np.ndarray:
        numbers = np.empty(len(inputs.key), np.int64)
        for table, rows in enumerate(self._tables.values()):
            selected = self._table[inputs.declared] == table
            numbers[selected] = rows.numbers(inputs.key[selected])
        return numbers

    def _header(self) -> dict[str, Any]:
        names = list(self._tables)
        return {
            "trace": self._trace.manifest.name,
            "part": self._part.words,
            "synthetic": self._trace.manifest.synthetic,
            "first_us": self._first_us,
            "left_out": {reason: count for reason, count in self.reader.left_out.items() if count},
            "tables": [{"name": name, "rows": len(self._tables[name])} for name in names],
            "types": [
                {
                    "name": type_.name,
                    "accesses": [
                        {"name": made.name, "table": names.index(made.table), "kind": made.kind}
                        for made in type_.accesses
                    ],
                }
                for type_ in self.reader.types
            ],
        }

    def _refuse_nothing(self) -> None:
        where = f"{self._trace.folder}: {self._part.words}"
        if self._transactions > MOST_TRANSACTIONS:
            raise TraceError(f"{where}: too many transactions to replay; take fewer hours")
        if self._transactions:
            return
        reasons = [f"{count:,} {reason}" for reason, count in self.reader.left_out.items() if count]
        raise TraceError(
            f"{where}: no transaction can be replayed"
            + (f" ({', '.join(reasons)})" if reasons else "; choose another day= or hours=")
        )
