from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from policies import PolicyDocument, PolicyFileError, Signature, validate, workload_signature
from policies.published_text import LAYOUTS, import_published, parse_published

HEAD = ["slots", "4", "decrease", "0 1 2", "4 8 0", "1 1 1", "increase", "2 2 2", "0 0 1", "8 4 2"]
TITLES = {"slots": 0, "decrease": 2, "increase": 6, "access": 10}


def published(rows: dict[int, str] | None = None) -> list[str]:
    """Return the lines of a table with actions in the given states only."""
    return [*HEAD, "normal access", *((rows or {}).get(s, "0 0 0 0 0 0") for s in range(26))]


def line_of_state(state: int) -> int:
    return len(HEAD) + 2 + state


@pytest.fixture
def parse(tpcc: Signature) -> Callable[[list[str]], PolicyDocument]:
    def run(lines: list[str]) -> PolicyDocument:
        document = parse_published("\n".join(lines), "t.txt", "t", tpcc)
        validate(document)
        return document

    return run


Parse = Callable[[list[str]], PolicyDocument]


def test_a_table_that_does_nothing_is_occ(parse: Parse) -> None:
    for row in parse(published()).cc:
        assert set(row.wait.values()) == {"NO_WAIT"}
        assert row.read_version in ("CLEAN", None)
        assert row.write_visibility in ("PRIVATE", None)
        assert not row.early_validation


def test_backoff_blocks_are_commit_then_abort_with_a_column_for_each_type(parse: Parse) -> None:
    backoff = parse(published()).backoff
    assert backoff["new_order"].commit == (0, 2, 0.5)
    assert backoff["payment"].commit == (0.5, 4, 0.5)
    assert backoff["delivery"].commit == (1, 0, 0.5)
    assert backoff["new_order"].abort == (1, 0, 4)
    assert backoff["payment"].abort == (1, 0, 2)
    assert backoff["delivery"].abort == (1, 0.5, 1)
    assert {row.initial_us for row in backoff.values()} == {1}


def test_waits_count_finished_accesses(parse: Parse) -> None:
    rows = parse(published({3: "0 1 0 1 7 2", 4: "0 1 0 11 0 8", 5: "0 0 0 11 7 8"})).cc
    assert list(rows[3].wait.values()) == [0, "COMMIT", 19]
    assert list(rows[4].wait.values()) == ["COMMIT", "NO_WAIT", "COMMIT"]
    assert list(rows[5].wait.values()) == ["NO_WAIT"] * 3


def test_dirty_counts_on_reads_only(parse: Parse) -> None:
    rows = parse(published(dict.fromkeys(range(26), "1 0 0 0 0 0"))).cc
    dirty = [row.state for row in rows if row.read_version == "DIRTY"]
    assert dirty == [0, 1, 3, 4, 10, 11, 13, 15, 20, 24]


def test_a_point_on_a_write_publishes_it(parse: Parse) -> None:
    rows = parse(published({2: "0 0 1 0 0 0"})).cc
    assert [row.state for row in rows if row.early_validation] == [2]
    assert [row.state for row in rows if row.write_visibility == "PUBLIC"] == [2]


def test_a_point_on_a_read_publishes_buffered_writes(parse: Parse) -> None:
    rows = parse(published({3: "0 0 1 0 0 0", 10: "0 0 1 0 0 0", 15: "0 0 1 0 0 0"})).cc
    assert [row.state for row in rows if row.early_validation] == [3, 10, 15]
    # DISTRICT before ITEM; ORDER_LINE, the last of five, before CUSTOMER; DISTRICT in Payment.
    assert [row.state for row in rows if row.write_visibility == "PUBLIC"] == [2, 9, 14]


def test_a_point_on_a_read_with_nothing_buffered_publishes_nothing(parse: Parse) -> None:
    rows = parse(published({0: "0 0 1 0 0 0", 2: "0 0 1 0 0 0", 4: "0 0 1 0 0 0"})).cc
    assert [row.state for row in rows if row.write_visibility == "PUBLIC"] == [2]
    # A type does not publish the writes that another one buffered.
    rows = parse(published({11: "0 0 1 0 0 0"})).cc
    assert not any(row.write_visibility == "PUBLIC" for row in rows)


def test_trailing_blanks_and_carriage_returns_are_accepted(tpcc: Signature) -> None:
    text = " \r\n".join(published()) + " \r\n\r\n"
    assert parse_published(text, "t.txt", "t", tpcc).cc[25].state == 25


def replaced(line: int, content: str) -> list[str]:
    lines = published()
    lines[line - 1] = content
    return lines


MALFORMED = [
    ([], "t.txt: the file is empty"),
    (["5"], "t.txt:1:1: the file must begin with a title"),
    (published()[:-1], "t.txt:11: 25 rows below 'normal access'; the access table has 26"),
    ([*published(), "0 0 0 0 0 0"], "t.txt:11: 27 rows"),
    (published()[:11], "t.txt:11: 0 rows"),
    (published()[:10], "t.txt: 3 blocks"),
    ([*published(), "another", "1"], "t.txt:11: more than 4 blocks.*one more block"),
    ([*HEAD[:4], "", *HEAD[4:]], "t.txt:5: blank line"),
    (replaced(2, "4 4"), "t.txt:2:3: 2 numbers; a row of the transaction slots"),
    (replaced(4, "0 1"), "t.txt:4:3: 2 numbers; a row of the backoff decrease on commit has 3"),
    (replaced(4, "0 1 2 3"), "t.txt:4:7: 4 numbers"),
    (replaced(4, "0 3 2"), "t.txt:4:3: a backoff cell is 3; it must be one of 0, 1, 2, 4, 8"),
    (replaced(8, "2 2 x"), "t.txt:8:5: 'x' is not a whole number"),
    (replaced(8, "2 2 -1"), "t.txt:8:5: '-1' is not a whole number"),
    (replaced(8, "2 2 1.0"), "t.txt:8:5: '1.0' is not a whole number"),
    (replaced(8, "2 2 ٣"), "t.txt:8:5: '٣' is not a whole number"),
    (replaced(line_of_state(0), "2 0 0 0 0 0"), "t.txt:12:1: dirty is 2"),
    (replaced(line_of_state(1), "1 2 0 0 0 0"), "t.txt:13:3: wait is 2"),
    (replaced(line_of_state(2), "1 0 7 0 0 0"), "t.txt:14:5: ev is 7"),
    (replaced(line_of_state(3), "1 1 0 12 0 0"), "t.txt:15:7: .* 12 accesses of new_order; .* 11"),
    (replaced(line_of_state(3), "1 0 0 0 8 0"), "t.txt:15:9: .* 8 accesses of payment; .* 7"),
    (replaced(line_of_state(3), "1 1 0 0 0 9"), "t.txt:15:11: .* 9 accesses of delivery; .* 8"),
    (replaced(line_of_state(3), "1 1 0 0 0"), "t.txt:15:9: 5 numbers.*has 6"),
    (replaced(line_of_state(3), "1 1 0 0 0 0 0"), "t.txt:15:13: 7 numbers"),
    (replaced(line_of_state(3), "1 1 0 0 0 " + "9" * 5000), "t.txt:15:11: "),
]


@pytest.mark.parametrize(("lines", "message"), MALFORMED, ids=[m for _, m in MALFORMED])
def test_errors_name_line_and_column(parse: Parse, lines: list[str], message: str) -> None:
    with pytest.raises(PolicyFileError, match=message):
        parse(lines)


def test_the_older_form_is_refused_not_misread(parse: Parse) -> None:
    commit_waits = ["txn final commit wait", *["1 11 7 8"] * 6]
    states = [row for row in ["1 1 1 3 4 8"] * 26 for _ in range(4)]
    older = [*HEAD, *commit_waits, "normal access", *states]
    with pytest.raises(PolicyFileError, match=r"t\.txt:11: .*older form.*one more block"):
        parse(older)


def with_zeros(counts: list[int], rows: dict[int, str]) -> str:
    """Return a table for types with these numbers of accesses, with actions in some rows only."""
    types = len(counts)
    backoff = [" ".join(["2"] * types)] * 3
    zeros = " ".join(["0"] * (3 + types))
    access = [rows.get(state, zeros) for state in range(sum(counts))]
    return "\n".join(["slots", "3", "less", *backoff, "more", *backoff, "access", *access])


TPCE = [30, 51, 12, 23]


def test_the_type_that_is_never_executed_is_left_out() -> None:
    signature = workload_signature("tpce")
    rows = {
        29: "0 1 0 30 51 12 23",  # the last of Trade-Order
        80: "1 1 1 4 3 2 1",  # the last of Trade-Result
        82: "0 1 1 16 50 1 22",  # Market-Feed's update of LAST_TRADE
        93: "1 0 0 0 0 0 0",  # the first of Trade-Update
    }
    document = parse_published(with_zeros(TPCE, rows), "t.txt", "t", signature)
    validate(document)
    assert len(document.cc) == 65
    assert set(document.backoff) == {"trade_order", "market_feed", "trade_update"}
    end = dict.fromkeys(("trade_order", "market_feed", "trade_update"), "COMMIT")
    assert document.cc[29].wait == end
    update = document.cc[31]
    assert update.access == "update_last_trade"
    assert update.wait == {"trade_order": 15, "market_feed": 30, "trade_update": 42 + 21}
    assert update.early_validation
    assert update.write_visibility == "PUBLIC"
    changed = {row.state for row in document.cc if row.read_version == "DIRTY"}
    assert changed == {42}
    assert [row.state for row in document.cc if row.early_validation] == [31]


def test_rows_that_are_left_out_are_checked() -> None:
    signature = workload_signature("tpce")
    for row, message in (
        ("0 1 0 0 52 0 0", "52 accesses of trade_result; it has 51"),
        ("0 1 3 0 0 0 0", "ev is 3"),
        ("9 1 0 0 0 0 0", "dirty is 9"),
    ):
        with pytest.raises(PolicyFileError, match=message):
            parse_published(with_zeros(TPCE, {40: row}), "t.txt", "t", signature)


def test_a_read_modify_write_of_the_micro_benchmark_has_both_actions() -> None:
    signature = workload_signature("micro")
    row = "1 1 1 0 8 3" + " 0" * 7
    document = parse_published(with_zeros([8] * 10, {9: row}), "t.txt", "t", signature)
    validate(document)
    found = document.cc[9]
    assert (found.type, found.read_version, found.write_visibility) == ("type_1", "DIRTY", "PUBLIC")
    assert found.early_validation
    assert [found.wait[f"type_{number}"] for number in range(4)] == [
        "NO_WAIT",
        "COMMIT",
        18,
        "NO_WAIT",
    ]


def test_workloads_without_published_tables_are_refused(signature: Signature) -> None:
    if signature.workload in LAYOUTS:
        return
    with pytest.raises(PolicyFileError, match=f"no published tables for {signature.workload}"):
        parse_published("\n".join(published()), "t.txt", "t", signature)


def test_a_workload_with_other_accesses_is_refused() -> None:
    micro = workload_signature("micro")
    signature = replace(micro, types=micro.types[:4])
    with pytest.raises(PolicyFileError, match=r"type_9 8 accesses, not type_0 8.*leave out"):
        parse_published(with_zeros([8] * 4, {}), "t.txt", "t", signature)


def test_a_file_gives_the_policy_its_name(tmp_path: Path, tpcc: Signature) -> None:
    path = tmp_path / "48th-1wh.txt"
    path.write_text("\n".join(published()))
    assert import_published(str(path), tpcc).name == "48th-1wh"
    with pytest.raises(PolicyFileError, match="no such file"):
        import_published(str(tmp_path / "no.txt"), tpcc)
