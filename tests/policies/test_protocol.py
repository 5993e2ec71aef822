"""Policies under another protocol than the table's: their cells, their files and their words."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from envs import of_policy
from envs.option_specs import engine_specs
from policies import (
    Encoding,
    PolicyDocument,
    PolicyFileError,
    Signature,
    build_seed,
    from_json,
    to_json,
    validate,
)
from policies.explain import differences, render
from policies.in_words import explain
from policies.policy_digest import policy_digest
from policies.protocol import (
    EXTERNAL,
    LOCKING,
    PROTOCOLS,
    RANK,
    SEARCHED,
    TABLE,
    UNSEARCHED,
    UNSET,
    parse_typed,
    protocol_words,
    typed,
)

OTHERS = tuple(name for name in PROTOCOLS if name != TABLE)
BLDSF = {"conflict": "detect", "grant": "bldsf", "delay": "one", RANK: "201"}


def under(signature: Signature, name: str, **options: str) -> PolicyDocument:
    section = {"name": name, "options": options}
    return replace(build_seed("occ", signature), protocol=section)


@pytest.mark.parametrize("name", [LOCKING, EXTERNAL])
def test_the_options_are_those_of_the_engine(name: str) -> None:
    declared = {spec.name: spec for spec in engine_specs("protocol", name)}
    searched = [option.name for option in SEARCHED[name]]
    ranks = [RANK] if name == LOCKING else []
    assert {*declared} == {*searched, *ranks, *UNSEARCHED[name]}
    for option in SEARCHED[name]:
        known = declared[option.name]
        default = known.default
        number = isinstance(default, int | float)
        shown = f"{default:g}" if number else UNSET if default is None else default
        assert option.choices[0] == shown
        assert {*option.choices} <= {*known.choices} or not known.choices
        assert name == EXTERNAL or option.choices == tuple(known.choices)
        for choice in option.choices[1:]:
            # The engine that runs this may lack a store.
            if option.stores and not option.stores <= {*declared["store"].choices}:
                continue
            needed = {other: next(iter(values)) for other, values in option.needs.items()}
            store = {"store": next(iter(option.stores))} if option.stores else {}
            engine.check_protocol(name, {**store, **needed, option.name: choice})


@pytest.mark.parametrize(
    "text",
    [
        "mvto",
        "two_phase_locking:conflict=detect:grant=vats",
        "external:store=postgresql:folder=/var/tmp/a-b.c:dsn=host=a dbname=b:c",
    ],
)
def test_a_protocol_as_typed_is_read_and_written(text: str) -> None:
    parsed = parse_typed(text)
    assert parsed is not None
    assert typed(*parsed) == text
    assert parse_typed(f"{text[:3]} {text[3:]}") is None or "dsn" in text


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("two_phase_locking:conflict=detect:conflict=no_wait", "conflict"),
        ("external:store=sqlite:begin=deferred:store=sqlite:dsn=a", "store"),
    ],
)
def test_an_option_that_occurs_twice_is_refused(text: str, option: str) -> None:
    name = text.partition(":")[0]
    with pytest.raises(ValueError, match=f"^{name}: the option {option} occurs twice; keep one"):
        parse_typed(text)


@given(data=st.data())
def test_any_vector_is_a_valid_policy_that_survives_its_file(
    signature: Signature, data: st.DataObject
) -> None:
    encoding = Encoding(signature, data.draw(st.booleans()), protocols=OTHERS)
    draw = Random(data.draw(st.integers(0, 2**64 - 1)))
    vector = encoding.canonical([draw.randrange(choices) for choices in encoding.nvec])
    document = from_json(to_json(encoding.decode(vector, "any")), "any", signature)
    assert tuple(encoding.encode(document)) == vector
    assert encoding.is_table(vector) == (document.protocol is None)
    assert Encoding.of(document).encode(document)


def test_a_table_has_no_section(tpcc: Signature) -> None:
    seed = build_seed("occ", tpcc)
    assert "protocol" not in json.loads(to_json(seed))
    encoding = Encoding(tpcc, protocols=OTHERS)
    assert encoding.decode(encoding.encode(seed), "occ") == replace(seed, provenance={})
    assert encoding.encode(seed)[: Encoding(tpcc).size] == Encoding(tpcc).encode(seed)


def test_parts_without_effect_have_their_defaults(tpcc: Signature) -> None:
    encoding = Encoding(tpcc, protocols=OTHERS)
    vector = encoding.encode(replace(build_seed("ic3", tpcc), protocol=None))
    vector[encoding.protocol_cells.start] = 1 + OTHERS.index("mvto")
    plain = encoding.canonical(vector)
    occ = encoding.encode(build_seed("occ", tpcc))
    assert plain[: encoding.cc_cells.stop] == tuple(occ[: encoding.cc_cells.stop])
    # Of the ranks only the order counts, and without detection nothing is granted by rank.
    for options, ranks in (
        ({"conflict": "detect", RANK: "200"}, "100"),
        ({"conflict": "detect", RANK: "111"}, None),
        ({"conflict": "detect", RANK: "012"}, "012"),
    ):
        settled = encoding.decode(encoding.encode(under(tpcc, LOCKING, **options)), "x").protocol
        assert settled is not None
        assert settled["options"].get(RANK) == ranks


def test_a_policy_runs_under_its_protocol(tpcc: Signature) -> None:
    subject = of_policy("x", to_json(under(tpcc, LOCKING, **BLDSF)))
    assert (subject.protocol, subject.options, subject.backoff) == (LOCKING, BLDSF, "policy")
    table = of_policy("x", to_json(build_seed("occ", tpcc)))
    assert (table.protocol, table.options) == (TABLE, {})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("silence", {}, "silence"),
        (TABLE, {}, "omit the field"),
        ("mvto", {"grant": "vats"}, "grant"),
        (LOCKING, {"grant": "vats"}, "conflict=detect"),
        (LOCKING, {"conflict": "detect", "rank": "10"}, "3 transaction types"),
        (LOCKING, {"conflict": "detect", "rank": "1x0"}, "a digit for each"),
    ],
)
def test_a_bad_section_is_refused(
    name: str, options: dict[str, str], message: str, tpcc: Signature
) -> None:
    with pytest.raises(PolicyFileError, match=message):
        validate(under(tpcc, name, **options))


def test_a_section_of_another_form_is_refused(tpcc: Signature) -> None:
    document = json.loads(to_json(under(tpcc, "mvto")))
    for section, message in (
        ("mvto", "object"),
        ({"name": "mvto"}, "options"),
        ({"name": LOCKING, "options": {"conflict": 1}}, "string"),
    ):
        with pytest.raises(PolicyFileError, match=message):
            from_json(json.dumps(document | {"protocol": section}), "x", tpcc)


def test_a_protocol_is_not_lost(tpcc: Signature) -> None:
    with pytest.raises(PolicyFileError, match=r"mvto.*search\.protocols"):
        Encoding(tpcc).encode(under(tpcc, "mvto"))


def test_it_is_shown_compared_and_described(tpcc: Signature) -> None:
    locking, occ = under(tpcc, LOCKING, **BLDSF), build_seed("occ", tpcc)
    words = protocol_words(locking.protocol, tpcc.type_names)
    assert words == (
        "two_phase_locking; conflict detect; grant bldsf; delay one; "
        "rank new_order 2, payment 0, delivery 1"
    )
    (difference,) = differences(occ, locking)
    assert (difference.before, difference.after) == ("the table", words)
    explained = explain(occ, locking)
    assert words in explained.sentences[0].text
    assert explained.cells == 1 + 3 + 2
    assert policy_digest(occ) != policy_digest(locking)
    assert render(locking)


def in_store(signature: Signature, **options: str) -> PolicyDocument:
    return under(signature, EXTERNAL, **options)


def test_a_policy_in_a_store_has_the_backoff_of_its_options(tpcc: Signature) -> None:
    options = {"locks": "hints", "backoff_first_us": "2000"}
    subject = of_policy("x", to_json(in_store(tpcc, **options)))
    assert (subject.protocol, subject.options) == (EXTERNAL, options)
    assert (subject.policy, subject.backoff) == (None, "exponential")


def test_fixed_options_have_no_cell(tpcc: Signature) -> None:
    free = Encoding(tpcc, protocols=("external:store=postgresql",))
    fixed = Encoding(tpcc, protocols=("external:store=postgresql:locks=off:merge=4",))
    names = {name.removeprefix("protocol.") for name in free.names[free.protocol_cells.start :]}
    assert {"locks", "isolation", "merge", "concurrency"} <= names
    assert "begin" not in names  # SQLite's
    left = names - {name.removeprefix("protocol.") for name in fixed.names}
    assert left == {"locks", "isolation", "merge"}  # isolation needs locks


def test_groups_have_no_schedule(tpcc: Signature) -> None:
    encoding = Encoding(tpcc, scheduled=True, protocols=("external",))
    document = replace(in_store(tpcc, merge="8"), schedule={"policy": "smf"})
    settled = encoding.decode(encoding.canonical(encoding.encode(document)), "x")
    assert settled.protocol == {"name": EXTERNAL, "options": {"merge": "8"}}
    assert settled.schedule is None
    alone = replace(in_store(tpcc, locks="hints"), schedule={"policy": "smf"})
    assert encoding.decode(encoding.canonical(encoding.encode(alone)), "x").schedule is not None


def test_the_rows_and_the_backoff_have_no_effect_in_a_store(tpcc: Signature) -> None:
    encoding = Encoding(tpcc, protocols=("external",))
    vector = encoding.encode(replace(build_seed("ic3", tpcc), protocol=None))
    vector[encoding.protocol_cells.start] = 1
    vector[encoding.backoff_cells.start] += 1
    plain = encoding.encode(in_store(tpcc))
    assert encoding.canonical(vector) == tuple(plain)


@pytest.mark.parametrize(
    ("options", "accepted"),
    [
        ({"store": "postgresql", "folder": "/var/tmp"}, True),
        ({"store": "postgresql", "folder": "/var/tmp", "merge": "8"}, True),
        ({"store": "postgresql"}, False),
        ({"folder": "/var/tmp"}, False),
    ],
)
def test_a_policy_of_another_store_is_refused(
    options: dict[str, str], accepted: bool, tpcc: Signature
) -> None:
    encoding = Encoding(tpcc, protocols=("external:store=postgresql:folder=/var/tmp",))
    document = in_store(tpcc, **options)
    if accepted:
        assert encoding.decode(encoding.encode(document), "x").protocol == document.protocol
    else:
        with pytest.raises(PolicyFileError, match="in another store"):
            encoding.encode(document)


def test_the_default_store_need_not_be_named(tpcc: Signature) -> None:
    encoding = Encoding(tpcc, protocols=("external",))
    assert encoding.encode(in_store(tpcc, store="sqlite")) == encoding.encode(in_store(tpcc))


def test_any_policy_of_a_store_has_an_encoding(tpcc: Signature) -> None:
    document = in_store(tpcc, concurrency="7", merge="8", folder="/tmp")
    encoding = Encoding.of(document)
    assert encoding.decode(encoding.encode(document), "x").protocol == {
        "name": EXTERNAL,
        "options": {"concurrency": "7", "folder": "/tmp", "merge": "8"},
    }
