"""Policies under another protocol than the table's: their cells, their files and their words."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    LOCKING,
    OPTIONS,
    PROTOCOLS,
    RANK,
    TABLE,
    UNSEARCHED,
    protocol_words,
)

OTHERS = tuple(name for name in PROTOCOLS if name != TABLE)
BLDSF = {"conflict": "detect", "grant": "bldsf", "delay": "one", RANK: "201"}


def under(signature: Signature, name: str, **options: str) -> PolicyDocument:
    section = {"name": name, "options": options}
    return replace(build_seed("occ", signature), protocol=section)


def test_the_options_are_those_of_the_engine() -> None:
    declared = {spec.name: spec for spec in engine_specs("protocol", LOCKING)}
    assert [*declared] == [*(option.name for option in OPTIONS), RANK, *UNSEARCHED]
    for option in OPTIONS:
        assert option.choices == tuple(declared[option.name].choices)
        assert option.choices[0] == declared[option.name].default


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
