from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from policies import Encoding, Signature
from tests.traces.replay.some_programs import TYPES
from tests.traces.some_transactions import manifest, write
from tests.trainer.nightly.some_nights import FIRST, SECOND, busy_hour, peak, table, two_days
from traces.reader import open_trace
from trainer.nightly.conditions import chosen_day, conditions_of
from trainer.nightly.errors import BadDayError
from trainer.nightly.state import Publication
from trainer.nightly.training import starting_points


def test_the_peak_of_a_day(tmp_path: Path) -> None:
    trace = open_trace(two_days(tmp_path / "shop", apart=True))
    first = conditions_of(trace, FIRST, 5, None)
    assert (first.day, first.hour, first.requests, first.conflict_rate) == (FIRST, 12, 600, 1.0)
    assert conditions_of(trace, SECOND, 5, None).conflict_rate == 0.0
    assert chosen_day(trace, None) == SECOND


def test_a_day_with_far_fewer_requests_than_before_is_invalid(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    write(folder, busy_hour(FIRST), busy_hour(SECOND)[:100], manifest=manifest(types=TYPES))
    trace = open_trace(folder)
    with pytest.raises(BadDayError, match="2026-03-02 is invalid: 100 requests"):
        conditions_of(trace, SECOND, 5, None)
    assert conditions_of(trace, FIRST, 5, None).requests == 600  # later days are ignored


def damage(folder: Path, day: date, column: str) -> None:
    """Flip a byte in the middle of a column of a day."""
    (file,) = (folder / f"day={day}").glob("*.parquet")
    found = pq.ParquetFile(file).metadata.row_group(0)
    chunks = [found.column(at) for at in range(found.num_columns)]
    chunk = next(one for one in chunks if one.path_in_schema.split(".")[0] == column)
    content = bytearray(file.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("column", ["accesses", "parameters"])
def test_damage_in_any_column_is_detected(tmp_path: Path, column: str) -> None:
    """Parameters do not affect the conflict rate, but damage to them invalidates the file."""
    folder = two_days(tmp_path / "shop")
    damage(folder, SECOND, column)
    with pytest.raises(BadDayError, match=r"2026-03-02: .* is damaged"):
        conditions_of(open_trace(folder), SECOND, 5, None)


def test_a_damaged_earlier_day_is_left_out_of_the_usual_load(tmp_path: Path) -> None:
    folder = two_days(tmp_path / "shop")
    damage(folder, FIRST, "accesses")
    told: list[str] = []
    found = conditions_of(open_trace(folder), SECOND, 5, None, told.append)
    assert (found.requests, found.conflict_rate) == (600, 1.0)
    (words,) = told
    assert words.startswith("2026-03-01 is excluded from the usual load: ")


def test_unknown_accesses_have_no_conflict_rate(tmp_path: Path) -> None:
    rows = [one | {"accesses": None} for one in busy_hour(FIRST)]
    trace = open_trace(write(tmp_path / "shop", rows, manifest=manifest(types=TYPES)))
    with pytest.raises(BadDayError, match="import it with the accesses"):
        conditions_of(trace, FIRST, 5, None)


def test_an_empty_trace_is_reported(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "shop", manifest=manifest(types=TYPES)))
    with pytest.raises(BadDayError, match="has no transactions"):
        chosen_day(trace, None)


def test_the_search_starts_from_a_champion_that_fits(signature: Signature) -> None:
    champion = Publication(table(signature, "ic3"), 3, 2, peak())
    (start,) = starting_points(champion, Encoding(signature))
    assert start.vector == tuple(Encoding(signature).encode(champion.document))
    assert starting_points(champion, Encoding(Signature("other", ()))) == []
    assert starting_points(None, Encoding(signature)) == []


def test_a_champion_keeps_its_schedule_where_schedules_are_searched(
    signature: Signature,
) -> None:
    both = Encoding(signature, scheduled=True)
    smf = {"policy": "smf", "window": 16}
    for schedule, encoding, kept in (
        (smf, both, 16),
        (smf, Encoding(signature), None),
        ({"policy": "smf", "window": 12}, both, None),  # edited by hand: no search has this value
    ):
        document = replace(table(signature, "ic3"), schedule=schedule)
        (start,) = starting_points(Publication(document, 3, 2, peak()), encoding)
        found = encoding.decode(start.vector, "x")
        assert found.cc == document.cc
        assert (found.schedule or {}).get("window") == kept
