"""Hashes of keys that several processes share."""

from __future__ import annotations

import datetime
import subprocess
import sys
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from heddle_client.stable_hash import stable_hash

ROOT = Path(__file__).resolve().parents[2]
EAST = datetime.timezone(datetime.timedelta(hours=1))
NOON = datetime.datetime(2026, 3, 1, 12)


class OwnText(str):
    """As those of other libraries, it equals a text."""

    __slots__ = ()


class OwnTime(datetime.datetime):
    pass


KEYS = [
    *("a", "", b"a", None, 0, 1, -5, 2**70, 0.5, (), ("a",), ("a", 1), (("a",), 1), ("a", (1,))),
    *(NOON, NOON.date(), NOON.time(), NOON - NOON, uuid.UUID(int=1), NOON.replace(tzinfo=EAST)),
    *(NOON.time().replace(tzinfo=EAST), datetime.timedelta(1), "1", b"1", "None", ("", "")),
]


def test_different_keys_have_different_hashes() -> None:
    assert len({stable_hash(key) for key in KEYS}) == len(KEYS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (1, Decimal(1)),
        (0.5, Fraction(1, 2)),
        (7, np.int64(7)),
        (0.5, np.float32(0.5)),
        ("a", OwnText("a")),
        ("a", np.str_("a")),
        (("a", 1), (OwnText("a"), True)),
        (NOON, OwnTime(2026, 3, 1, 12)),
        (NOON, NOON.replace(fold=1)),
        (NOON.replace(tzinfo=EAST), NOON.replace(hour=11, tzinfo=datetime.UTC)),
        (NOON.time().replace(tzinfo=EAST), datetime.time(11, tzinfo=datetime.UTC)),
    ],
)
def test_equal_keys_have_one_hash(one: object, other: object) -> None:
    assert one == other
    assert stable_hash(one) == stable_hash(other)


def test_the_ends_of_time() -> None:
    for end in (datetime.datetime.max, datetime.datetime.min):
        stable_hash(end.replace(tzinfo=EAST))


def test_processes_agree() -> None:
    program = (
        "import datetime; from heddle_client.stable_hash import stable_hash;"
        "print(stable_hash(('account', 7, datetime.date(2026, 3, 1), None)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == stable_hash(("account", 7, datetime.date(2026, 3, 1), None))


@pytest.mark.parametrize("key", [object(), frozenset([1]), ("a", object()), print])
def test_keys_without_a_stable_text_are_refused(key: object) -> None:
    with pytest.raises(TypeError, match="a key that several processes share"):
        stable_hash(key)
