"""Imports a log as a trace from Python, as `heddle trace import` does from a shell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.errors import TraceError
from traces.importers.base import LeftOut
from traces.importers.registry import FORMATS, find_format
from traces.manifest import Manifest, Source
from traces.new_folder import refuse_existing
from traces.output import bar, counted
from traces.reader import Trace, open_trace
from traces.tally import Tally
from traces.writer import TraceWriter


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        trace: the new trace.
        tally: its transactions and accesses by type.
        left_out: the rows left out or guessed, by reason.
    """

    trace: Trace
    tally: Tally
    left_out: LeftOut


class NothingImportedError(TraceError):
    """No row of a log became a transaction.

    Attributes:
        left_out: the rows left out, by reason.
    """

    def __init__(self, left_out: LeftOut) -> None:
        counts = (f"{reason}: {count:,}" for reason, count in left_out.counts.most_common())
        why = f"all rows were left out: {', '.join(counts)}" if left_out.counts else ""
        super().__init__(f"nothing to import: {why or 'the log has no rows'}")
        self.left_out = left_out


def import_log(
    format_name: str,
    sources: Sequence[Path | str],
    out: Path | str,
    *,
    name: str | None = None,
    strict: bool = False,
    replace: bool = False,
    **options: Any,
) -> Imported:
    """Convert a log into a trace, the folder `out`, which is created completely or not at all.

    Args:
        format_name: the log's format, one of `traces.importers.registry.FORMATS`.
        sources: the log's files.
        out: the trace's folder.
        name: the trace's name; None: the name of its folder.
        strict: whether the first bad row is an error; otherwise bad rows are counted.
        replace: whether an existing trace is replaced.
        options: options of the format, such as `mapping=FILE` of `access-log`.

    Raises:
        NothingImportedError: no row became a transaction.
        TraceError: a file can't be read or written, or an option or the format is unknown.
    """
    if format_name not in FORMATS:
        raise TraceError(f"{format_name}: unknown format; choose one of {', '.join(FORMATS)}")
    out, paths = Path(out), tuple(Path(source) for source in sources)
    refuse_existing(out, replace)
    left_out = LeftOut(strict)
    importer = find_format(format_name).open(paths, left_out, **options)

    def manifest() -> Manifest:
        files = tuple(path.name.encode(errors="replace").decode() for path in paths)
        source = Source(format_name, files, dict(left_out.counts), dict(left_out.guessed))
        return Manifest(name or out.absolute().name, source, importer.types())

    tally = Tally()
    with (
        TraceWriter(out, manifest(), replace=replace) as writer,
        bar("importing", importer.bytes_total) as shown,
        closing(importer.tables()) as tables,
    ):
        for table in tables:
            writer.write(table)
            tally.add(table)
            shown.update(importer.bytes_read, counted(tally.transactions.total(), "transaction"))
        shown.update(importer.bytes_read, "writing")
        if not tally.days:
            raise NothingImportedError(left_out)
        writer.manifest = manifest()
    return Imported(open_trace(out), tally, left_out)
