"""The format `postgresql` of `heddle trace import`."""

from __future__ import annotations

import codecs
import json
from collections.abc import Generator
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import pyarrow as pa

from traces.errors import TraceError, shown
from traces.importers.base import Format, LeftOut
from traces.importers.byte_order import read_text
from traces.importers.file_importer import FileImporter
from traces.importers.postgresql.catalog import Catalog
from traces.importers.postgresql.definitions import read_definitions
from traces.importers.postgresql.line_prefix import LinePrefix
from traces.importers.postgresql.log import LogReader
from traces.importers.postgresql.log_forms import LogForms
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.templates import Templates
from traces.importers.postgresql.times import LogTimes
from traces.importers.postgresql.transaction_types import Types
from traces.manifest import TransactionType

UNUSED_NAME = "name for a transaction type that is not in the log"

_ASCII = bytes(range(0x20, 0x7F)) + b"\n"


class PostgresqlImporter(FileImporter):
    """Converts PostgreSQL's log with logged statements into transactions.

    Args:
        sources: the log's files, in the order of time.
        left_out: counts what can't be read.
        schema: a script that defines the tables, for their primary keys.
        type_names: a JSON file with new names of transaction types, by default name.
        timezone: the server's `log_timezone`, if its abbreviations are ambiguous.
        database: the database whose statements are read; None: all.
        encoding: the encoding of the log, which is the server's.
        search_path: settings of the database or a role: `schema, …`, or `role=schema, …`.
        log_line_prefix: the server's setting, for a log in text form; None: a well-known one.

    Raises:
        TraceError: an option or a source is invalid.
    """

    def __init__(
        self,
        sources: tuple[Path, ...],
        left_out: LeftOut,
        schema: Path | None = None,
        type_names: Path | None = None,
        timezone: str | None = None,
        database: str | None = None,
        encoding: str = "utf-8",
        search_path: tuple[str, ...] = (),
        log_line_prefix: str | None = None,
    ) -> None:
        super().__init__(sources, left_out, "the files of the server's log_directory")
        prefix = None if log_line_prefix is None else LinePrefix(log_line_prefix)
        forms = LogForms(_codec(encoding), prefix, database)
        self._names = _read_names(type_names) if type_names is not None else {}
        catalog = read_definitions(schema, left_out) if schema is not None else Catalog()
        templates = Templates(TableKeys(catalog), search_path)
        self._types = Types(templates, self._names)
        times = LogTimes(_zone(timezone))
        self._reader = LogReader(templates, self._types, left_out, times, forms, database)

    def tables(self) -> Generator[pa.Table, None, None]:
        """Yield the transactions of all files.

        Raises:
            TraceError: a file can't be read or is not a log, or no file has a statement.
        """
        for file in self.files():
            yield from self._reader.tables(file)
        yield self._reader.last_table()
        self._refuse_nothing()
        self.left_out.skip(UNUSED_NAME, len(set(self._names) - self._types.renamed))

    def types(self) -> tuple[TransactionType, ...]:
        """The transaction types that were found."""
        return self._types.described()

    def _refuse_nothing(self) -> None:
        if not self._reader.statements:
            raise TraceError(
                f"{self.sources[0]}: no statements are logged: set log_statement = 'all' (and "
                "lc_messages = 'C', if the messages are not English) and record the log again"
            )


def _read_names(path: Path) -> dict[str, str]:
    try:
        names = json.loads(read_text(path, "write it in UTF-8"))
    except TraceError:
        raise
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON: {error}") from None
    if not isinstance(names, dict):
        raise TraceError(f'{path}: must be an object such as {{"update_t.4f00d1": "payment"}}')
    for given, name in names.items():
        if not isinstance(name, str) or not name:
            raise TraceError(f"{path}: {given}: must be a name, not {shown(name)}")
    return names


def _zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise TraceError(
            f"--timezone {name}: is unknown; give the server's log_timezone, such as Europe/Berlin"
        ) from None


def _codec(name: str) -> str:
    """Return a Python codec for the log, which must be a superset of ASCII."""
    try:
        known = codecs.lookup(name).name
        if _ASCII.decode(known) == _ASCII.decode("ascii"):
            return known
    except (LookupError, ValueError):
        pass
    raise TraceError(
        f"--encoding {name}: is not the encoding of a log; give the server's, such as latin1"
    )


POSTGRESQL = Format(
    "PostgreSQL's log (csvlog, jsonlog or text) with logged statements",
    PostgresqlImporter,
    (
        click.Option(
            ["--schema"],
            type=click.Path(path_type=Path),
            metavar="FILE.sql",
            help="Read primary keys from this output of pg_dump --schema-only.",
        ),
        click.Option(
            ["--type-names"],
            type=click.Path(path_type=Path),
            metavar="FILE.json",
            help="Rename transaction types as this JSON file specifies.",
        ),
        click.Option(
            ["--timezone"],
            metavar="ZONE",
            help="Give the server's log_timezone, unless it is UTC.",
        ),
        click.Option(
            ["--search-path"],
            multiple=True,
            metavar="[ROLE=]SCHEMA,...",
            help="Give the search_path that the database or a role sets.",
        ),
        click.Option(["--database"], metavar="NAME", help="Read only this database's statements."),
        click.Option(
            ["--log-line-prefix"],
            metavar="PREFIX",
            help="Give the server's log_line_prefix, for a text log.",
        ),
        click.Option(
            ["--encoding"],
            default="utf-8",
            show_default=True,
            help="Give the server's encoding.",
        ),
    ),
)
