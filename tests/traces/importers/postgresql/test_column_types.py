"""Values are compared in the canonical form of their type, as the server compares them."""

from __future__ import annotations

import pytest

from tests.traces.importers.postgresql.server import Server
from traces.importers.postgresql.column_types import form_of, unknown_type
from traces.importers.postgresql.literals import quoted

EQUAL = {
    "uuid": [
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
        "a0eebc99-9c0b-4ef8-bb6d6bb9-bd380a11",
    ],
    "integer": ["7", "007", "+7", " 7 "],
    "bigint": ["-9007199254740993", "-0009007199254740993"],
    "numeric": ["7", "7.00", "+07", "7e0", "0.7e1", "70e-1"],
    "numeric(10,2)": ["-0.50", "-.5", "-5e-1"],
    "double precision": ["0.1", "0.10", "1e-1", "0.1000000000000000001"],
    "real": ["0.1", "0.10000000149"],
    "boolean": ["t", "TRUE", "yes", "on", "1", "tr"],
    "bytea": [r"\x00FF41", r"\x00ff41", r"\x00 ff 41", r"\000\377A"],
    "character(8)": ["ab", "ab      "],
    "date": ["1970-01-01", "19700101", "1970-01-01 09:00:00", "1970-01-01 09:00 PM", "epoch"],
    "time": ["21:00", "21:00:00.000", "9:00:00 PM", "09:00pm"],
    "time with time zone": ["09:00+01", "09:00:00.0+01:00"],
    "time without time zone": ["00:30", "12:30 AM", "00:30 am"],
    "timestamp without time zone": ["1970-01-01 00:00", "epoch", "1970-01-01 12:00 AM AD"],
    "timestamp": [
        "2026-11-26 09:00",
        "2026-11-26 09:00 AM",
        "2026-11-26T09:00:00.000000",
        "2026-11-26 09:00:00+05",
    ],
    "timestamp with time zone": [
        "2026-11-26 09:00:00+00",
        "2026-11-26T10:00:00+01:00",
        "2026-11-26 04:00:00.000-0500",
        "2026-11-26 09:00Z",
        "2026-11-26 10:00:00 Europe/Berlin",
        "2026-11-26 10:00 am Europe/Berlin",
    ],
    "inet": ["10.0.0.1", "10.0.0.1/32"],
    "cidr": ["2001:DB8::/32", "2001:db8:0:0:0:0:0:0/32"],
    "macaddr8": ["08:00:2b:01:02:03", "08002bfffe010203", "08:00:2b:ff:fe:01:02:03"],
    "name": ["a" * 63, "a" * 64],
    '"char"': ["a", "ab"],
    "macaddr": ["08:00:2B:01:02:03", "08002b-010203", "0800.2b01.0203"],
}
"""By type, several notations of one value."""

UNEQUAL = {
    "text": ["7", "007", "7 ", "NULL"],
    "numeric": ["7.1", "7.01"],
    "date": ["2026-11-26", "2026-11-27", "2026-11-26 BC"],
    "time": ["09:00 AM", "09:00 PM", "12:00 PM", "12:00 AM"],
    "timestamp without time zone": ["0044-03-15 00:00:00 BC", "0044-03-15 00:00:00"],
    "time with time zone": ["09:00+00", "10:00+01"],
    "timestamp": ["2026-11-26 09:00:00.000001", "2026-11-26 09:00"],
    "timestamp with time zone": ["2026-10-25 02:30:00+02", "2026-10-25 02:30:00+01"],
    "macaddr8": ["08:00:2b:01:02:03", "08:00:2b:00:00:01:02:03"],
    "inet": ["10.0.0.1/24", "10.0.0.1"],
    "bytea": [r"\x00", r"\x0000", ""],
}
"""By type, notations of different values."""

SAME_INSTANTS = [
    ("2026-10-25 02:30 Europe/Berlin", "2026-10-25 01:30+00"),
    ("2026-03-29 02:30 Europe/Berlin", "2026-03-29 01:30+00"),
    ("2026-04-05 02:30 Australia/Sydney", "2026-04-04 16:30+00"),
]
"""Local times that a zone has twice or not at all, and the instants that PostgreSQL uses."""

STORED = {
    "numeric(10,2)": ["7.004", "7.005", "-7.005", "6.999"],
    "numeric(3)": ["7.5", "8.4"],
    "timestamp(0)": ["2026-11-26 09:00:00.5", "2026-11-26 09:00:01"],
    "timestamp(3) with time zone": ["2026-11-26 09:00:00.0005+00", "2026-11-26 09:00:00.001+00"],
    "time(0)": ["23:59:59.6", "24:00:00"],
}
"""By type, values that are truncated when they are stored."""


def form(kind: str, text: str, *, stored: bool = False) -> str:
    by_type = form_of(_as_parsed(kind), {}, stored=stored)
    return by_type(text) if by_type is not None else text


def _as_parsed(kind: str) -> str:
    """Return a type as the parser of definitions writes it."""
    kind = kind.removesuffix(" without time zone")
    zoned = kind.removesuffix(" with time zone")
    name, bracket, size = zoned.partition("(")
    return f"{name}tz{bracket}{size}" if zoned != kind else kind


@pytest.mark.parametrize("kind", EQUAL)
def test_one_value_has_one_form(kind: str) -> None:
    assert len({form(kind, text) for text in EQUAL[kind]}) == 1


@pytest.mark.parametrize("kind", UNEQUAL)
def test_different_values_have_different_forms(kind: str) -> None:
    assert len({form(kind, text) for text in UNEQUAL[kind]}) == len(UNEQUAL[kind])


@pytest.mark.parametrize(("local", "instant"), SAME_INSTANTS)
def test_local_times_when_clocks_change(local: str, instant: str) -> None:
    assert form("timestamptz", local) == form("timestamptz", instant)


def test_equal_forms_match_the_server(postgresql: Server) -> None:
    asked, expected = [], []
    for values, stored in ((EQUAL, False), (UNEQUAL, False), (STORED, True)):
        for kind, texts in values.items():
            for one in texts:
                for other in texts:
                    left, right = (f"CAST({quoted(text)} AS {kind})" for text in (one, other))
                    asked.append(f"SELECT {left} = {right};")
                    forms = {form(kind, text, stored=stored) for text in (one, other)}
                    expected.append(f"{kind}: {one!r}, {other!r}: {'tf'[len(forms) - 1]}")
    for local, instant in SAME_INSTANTS:
        asked.append(f"SELECT timestamptz '{local}' = timestamptz '{instant}';")
        expected.append(f"{local}: t")
    with postgresql.running():
        answers = postgresql.psql("SET TIME ZONE 'UTC';\n" + "\n".join(asked)).split()
    said = [text.rpartition(": ")[0] for text in expected]
    assert [f"{what}: {is_}" for what, is_ in zip(said, answers, strict=True)] == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "seven"),
        ("numeric", "1e999999999"),
        ("real", "1e60"),
        ("uuid", "a0eebc99"),
        ("uuid", "-" * 36),
        ("boolean", "maybe"),
        ("bytea", r"\xabc"),
        ("bytea", "\\9"),
        ("date", "26/11/2026"),
        ("date", "2026-13-01"),
        ("date", "tomorrow"),
        ("timestamp", "26 Nov 2026 09:00"),
        ("timestamp", "2026-02-30 09:00"),
        ("timestamp with time zone", "2026-11-26 09:00:00"),
        ("timestamp with time zone", "2026-11-26 09:00:00 CST"),
        ("timestamp with time zone", "9999-12-31 23:00:00-12"),
        ("time with time zone", "09:00 Europe/Berlin"),
        ("time", "13:00 PM"),
        ("timestamp with time zone", "0044-03-15 00:00:00+00 BC"),
        ("name", "é" * 32),
        ('"char"', "é"),
        ("macaddr", "08:00:2b:ff:fe:01:02:03"),
        ("inet", "10.0.0"),
        ("macaddr", "08:00"),
        ("interval", "1 day"),
        ("integer[]", "{1}"),
    ],
)
def test_values_of_unknown_forms_are_reported(kind: str, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        form(kind, text)


def test_user_defined_types() -> None:
    named = {"email": "shop.address", "shop.address": "CITEXT", "mood": "enum", "a": "b", "b": "a"}
    by_type = form_of("public.email", named, stored=False)
    assert by_type is not None
    assert by_type("Ann@X") == by_type("ann@x")
    assert form_of("public.citext", {}, stored=False) is by_type
    assert form_of("mood", named, stored=False) is None
    assert form_of("shop.other", named, stored=False) is unknown_type
    assert form_of("a", named, stored=False) is unknown_type
