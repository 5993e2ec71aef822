from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import Encoding, PolicyFileError, Signature, build_seed, from_json, to_json, validate
from policies.schedule import NamedClassifier, schedule_options

SMF = {
    "policy": "smf",
    "window": 16,
    "k": 3,
    "barrier": 64,
    "hot": 0.03,
    "rules": "occ",
    "probe_us": 0,
}


@given(data=st.data())
def test_any_scheduled_vector_is_a_valid_policy_and_survives_decoding(
    signature: Signature, data: st.DataObject
) -> None:
    encoding = Encoding(signature, scheduled=True)
    draw = Random(data.draw(st.integers(0, 2**64 - 1)))
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    document = encoding.decode(vector, "any")
    validate(document)
    again = encoding.encode(from_json(to_json(document)))
    assert encoding.decode(again, "any") == document
    assert again[: encoding.schedule_cells.start] == vector[: encoding.schedule_cells.start]


def test_its_cells_follow_the_tables(tpcc: Signature) -> None:
    plain, scheduled = Encoding(tpcc), Encoding(tpcc, scheduled=True)
    assert scheduled.cells[: plain.size] == plain.cells
    assert not plain.schedule_cells
    assert [scheduled.names[cell] for cell in scheduled.schedule_cells] == [
        *("schedule.policy", "schedule.window", "schedule.k", "schedule.barrier"),
        *("schedule.hot", "schedule.defer", "schedule.rules", "schedule.probe_us"),
        *(f"schedule.unscheduled.{name}" for name in tpcc.type_names),
    ]
    assert scheduled.decode([cell.default for cell in scheduled.cells], "occ").schedule is None


def test_only_parameters_used_by_the_admission_policy_are_written(tpcc: Signature) -> None:
    encoding = Encoding(tpcc, scheduled=True)
    document = replace(build_seed("ic3", tpcc), schedule={**SMF, "unscheduled": ["payment"]})
    found = encoding.decode(encoding.encode(document), "ic3")
    assert found.schedule == {**SMF, "unscheduled": ["payment"]}
    assert "defer" not in found.schedule, "that is tsdefer's"


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({**SMF, "window": 12}, r"schedule\.window is 12; a search allows one of 2, 4, 8"),
        (
            {"policy": "partition"},
            r"schedule\.policy is 'partition'; a search allows one of fifo, smf",
        ),
    ],
)
def test_schedules_outside_the_search_space_are_refused(
    tpcc: Signature, schedule: dict[str, Any], message: str
) -> None:
    document = replace(build_seed("occ", tpcc), schedule=schedule)
    validate(document)  # the engine accepts it
    with pytest.raises(PolicyFileError, match=message):
        Encoding(tpcc, scheduled=True).encode(document)


def test_dropping_a_schedule_is_an_error(tpcc: Signature) -> None:
    document = replace(build_seed("occ", tpcc), name="mine", schedule=SMF)
    with pytest.raises(PolicyFileError, match=r"'mine' has a schedule.*null.*search\.actions"):
        Encoding(tpcc).encode(document)
    assert Encoding.of(document) == Encoding(tpcc, scheduled=True)
    assert Encoding.of(build_seed("occ", tpcc)) == Encoding(tpcc)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"window": 8}, "policy"),
        ({"policy": "lifo"}, "lifo.*fifo.*smf"),
        ({"policy": "smf", "window": 1000}, "window.*1000.*64"),
        ({"policy": "smf", "unscheduled": ["refund"]}, "refund.*new_order"),
        ({"policy": "smf", "speed": 3}, "speed.*window"),
    ],
)
def test_an_invalid_schedule_is_refused(
    tpcc: Signature, schedule: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyFileError, match=message):
        validate(replace(build_seed("occ", tpcc), schedule=schedule))


def test_the_engine_gets_all_parameters_as_texts() -> None:
    given = {"policy": "smf", "window": 8, "hot": 0.03, "unscheduled": ["payment", "delivery"]}
    options = schedule_options(given)
    assert options == {
        "policy": "smf",
        "window": "8",
        "k": "5",
        "barrier": "32",
        "hot": "0.03",
        "defer": "0.6",
        "rules": "auto",
        "until": "auto",
        "probe_us": "1000",
        "unscheduled": "payment,delivery",
    }
    import engine

    engine.check_schedule(options)
    assert schedule_options(None) == {}
    assert schedule_options({"policy": "fifo", "window": 3}) == {"policy": "fifo"}


@given(data=st.data())
def test_a_canonical_vector_is_unchanged_by_decoding(
    signature: Signature, data: st.DataObject
) -> None:
    encoding = Encoding(signature, scheduled=True)
    draw = Random(data.draw(st.integers(0, 2**64 - 1)))
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    settled = encoding.canonical(vector)
    document = encoding.decode(vector, "any")
    assert encoding.decode(settled, "any") == document
    assert tuple(encoding.encode(document)) == settled
    assert encoding.canonical(settled) == settled
    assert Encoding.of_vector(signature, settled) == encoding
    plain = Encoding(signature)
    assert plain.canonical(vector[: plain.size]) == tuple(vector[: plain.size])
    assert Encoding.of_vector(signature, vector[: plain.size]) == plain


CLASSIFIERS = tuple(
    NamedClassifier.of(name, {"neighbours": neighbours, "hot_keys": {}, "types": []})
    for name, neighbours in (("first", 1), ("second", 3))
)


@given(data=st.data())
def test_a_classifier_adds_a_cell(signature: Signature, data: st.DataObject) -> None:
    encoding = Encoding(signature, scheduled=True, classifiers=CLASSIFIERS)
    assert encoding.size == Encoding(signature, scheduled=True).size + 1
    assert [str(choice) for choice in encoding.cells[-1].choices] == ["none", "first", "second"]
    draw = Random(data.draw(st.integers(0, 2**64 - 1)))
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    settled = encoding.canonical(vector)
    document = encoding.decode(vector, "any")
    assert tuple(encoding.encode(document)) == settled
    assert encoding.decode(settled, "any") == document
    if document.schedule is None:
        assert settled[-1] == 0
        return
    chosen = encoding.cells[-1].choices[vector[-1]]
    assert isinstance(chosen, NamedClassifier)
    assert ("hot" in document.schedule) == (not chosen.text)
    assert json.dumps(document.schedule.get("classifier")) == (chosen.text or "null")
    again = from_json(to_json(document))
    assert tuple(encoding.encode(again)) == settled


def test_an_unknown_classifier_is_an_error(tpcc: Signature) -> None:
    classifier = json.loads(CLASSIFIERS[0].text)
    document = replace(
        build_seed("occ", tpcc), schedule={"policy": "smf", "classifier": classifier}
    )
    own = Encoding.of(document)
    assert own.decode(own.encode(document), document.name).schedule is not None
    with pytest.raises(PolicyFileError, match=r"search\.classifiers"):
        Encoding(tpcc, scheduled=True).encode(document)
    with pytest.raises(PolicyFileError, match="a search allows one of none, second"):
        Encoding(tpcc, scheduled=True, classifiers=CLASSIFIERS[1:]).encode(document)
