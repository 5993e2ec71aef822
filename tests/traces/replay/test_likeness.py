from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.traces.replay.some_programs import CANCEL, ORDER, day, made, shop
from tests.traces.some_transactions import NOON, row
from traces.reader import open_trace
from traces.replay.likeness import Likeness, recorded, replayed
from traces.replay.make import make_program
from traces.replay.part import choose_part
from traces.replay.program import read_program

WINDOW = timedelta(minutes=5)


def both(folder: Path, hours: str | None = None) -> tuple[Likeness, Likeness]:
    trace = open_trace(folder)
    part = choose_part(trace, None, hours)
    program = folder.with_suffix(".program")
    make_program(trace, part, program)
    return recorded(trace, part), replayed(read_program(program), part)


def some_rows(seed: int, transactions: int = 120) -> list[dict[str, Any]]:
    """Draw orders of few goods and sessions over four windows, one of which is empty."""
    draw = random.Random(seed)
    seconds = sorted(draw.choice([0, 300, 900]) + draw.randrange(300) for _ in range(transactions))
    rows = []
    for number, second in enumerate(seconds):
        goods = draw.randrange(40)
        type_, accesses = draw.choice(
            [
                (ORDER, made(ORDER, (0, goods))),
                (ORDER, made(ORDER, (0, goods), (1, goods), (2, 1000 + number))),
                (CANCEL, made(CANCEL, (2, goods))),
            ]
        )
        told = {"session": draw.randrange(6), "type": type_.name, "accesses": accesses}
        rows.append(row(number, NOON + timedelta(seconds=second), **told))
    return rows


def conflict_rate(rows: list[dict[str, Any]]) -> float:
    """Return the conflict rate by comparing all pairs of transactions."""
    windows: dict[int, list[dict[str, Any]]] = {}
    for one in rows:
        windows.setdefault((one["begin"] - NOON) // WINDOW, []).append(one)

    def in_conflict(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return one["session"] != other["session"] and any(
            (a["table"], a["key"]) == (b["table"], b["key"]) and "update" in (a["kind"], b["kind"])
            for a in one["accesses"]
            for b in other["accesses"]
        )

    rates = [
        sum(any(in_conflict(one, other) for other in of) for one in of) / len(of)
        for of in windows.values()
    ]
    return sum(rates) / (max(windows) - min(windows) + 1)


@pytest.mark.parametrize(
    ("seed", "hours"), [(0, "12"), (1, "12"), (2, "11-13"), (3, "11:55-12:30"), (4, None)]
)
def test_conflict_rates_match_the_comparison_of_all_pairs(
    seed: int, hours: str | None, tmp_path: Path
) -> None:
    """Windows before the first transaction do not count."""
    rows = some_rows(seed)
    trace, replay = both(shop(tmp_path / "shop", *rows), hours)
    expected = conflict_rate(rows)
    assert 0 < expected < 1
    assert trace.conflict_rate == pytest.approx(expected)
    assert replay.conflict_rate == pytest.approx(expected)


def test_transactions_left_out_do_not_conflict(tmp_path: Path) -> None:
    chats = [row(5000 + n, NOON + timedelta(seconds=n), type="chat") for n in range(100)]
    alone = both(shop(tmp_path / "alone", *day()), "12")
    mixed = both(shop(tmp_path / "mixed", *day(), *chats), "12")
    assert mixed[1] == alone[1]
    assert mixed[0].conflict_rate < alone[0].conflict_rate
