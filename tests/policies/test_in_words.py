from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from policies import SEEDS, BackoffRow, PolicyDocument, PolicyFileError, Signature, build_seed
from policies.in_words import (
    EVERY_TYPE,
    access_words,
    by_nearness,
    explain,
    schedule_words,
    type_words,
)
from policies.signature import Access, TransactionType


def changed(document: PolicyDocument, rows: Mapping[int, Mapping[str, Any]]) -> PolicyDocument:
    """Return a policy with other cells in some rows; `wait` has the changed waits by type."""
    cc = list(document.cc)
    for state, cells in rows.items():
        fields = dict(cells)
        if "wait" in fields:
            fields["wait"] = {**cc[state].wait, **fields["wait"]}
        cc[state] = replace(cc[state], **fields)
    return replace(document, name="learned", cc=tuple(cc))


def sentences_of(base: PolicyDocument, rows: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Return the sentences."""
    return [one.text for one in explain(base, changed(base, rows)).sentences]


@pytest.fixture(scope="module")
def ic3(tpcc: Signature) -> PolicyDocument:
    return build_seed("ic3", tpcc)


@pytest.fixture(scope="module")
def occ(tpcc: Signature) -> PolicyDocument:
    return build_seed("occ", tpcc)


# States of TPC-C: NewOrder 0 to 10 (5 updates STOCK, 10 reads CUSTOMER), Payment 11 to 17 (15 reads
# and 16 updates CUSTOMER), Delivery 18 to 25.
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            {15: {"wait": {"new_order": 5}}},
            "Payment's CUSTOMER read waits for NewOrder to finish all iterations of its STOCK "
            "update, not its CUSTOMER read.",
        ),
        (
            {15: {"wait": {"new_order": "COMMIT"}}},
            "Payment's CUSTOMER read waits for NewOrder to end, not just to finish its CUSTOMER "
            "read.",
        ),
        (
            {15: {"wait": {"new_order": "NO_WAIT"}}},
            "Payment's CUSTOMER read does not wait for NewOrder; IC3 waits for NewOrder to finish "
            "its CUSTOMER read.",
        ),
        (
            {16: {"wait": {"new_order": 10}}},
            "Payment's CUSTOMER update waits for NewOrder to finish its CUSTOMER read; IC3 does "
            "not wait.",
        ),
        (
            {16: {"wait": {"new_order": "COMMIT", "payment": "COMMIT"}}},
            "Payment's CUSTOMER update waits for NewOrder and another Payment to end; IC3 does not "
            "wait.",
        ),
        (
            {15: {"read_version": "CLEAN"}},
            "Payment's CUSTOMER read takes only committed versions; IC3 also reads published, "
            "uncommitted ones.",
        ),
        (
            {16: {"write_visibility": "PRIVATE"}},
            "Payment's CUSTOMER update stays private until its HISTORY insert is published; IC3 "
            "publishes at once.",
        ),
        (
            {17: {"write_visibility": "PRIVATE"}},
            "Payment's HISTORY insert stays private until the commit; IC3 publishes at once.",
        ),
    ],
)
def test_differences_from_ic3(
    ic3: PolicyDocument, rows: Mapping[int, Mapping[str, Any]], sentence: str
) -> None:
    assert sentences_of(ic3, rows) == [sentence]


def test_from_an_end_to_an_access(tpcc: Signature) -> None:
    star = build_seed("two_phase_locking_star", tpcc)
    assert sentences_of(star, {16: {"wait": {"new_order": 5}}}) == [
        "Payment's CUSTOMER update waits for NewOrder to finish all iterations of its STOCK "
        "update, not to end."
    ]


def test_differences_from_occ(occ: PolicyDocument) -> None:
    assert sentences_of(
        occ, {8: {"write_visibility": "PUBLIC"}, 13: {"early_validation": True}}
    ) == [
        "NewOrder's OORDER_C_ID_IDX insert is validated and published at once, with all earlier "
        "writes of NewOrder; OCC keeps it private until the commit.",
        "Payment validates early, after its DISTRICT read; OCC does not.",
    ]


def test_accesses_with_the_same_change_share_a_sentence(ic3: PolicyDocument) -> None:
    rows = {state: {"read_version": "CLEAN"} for state in (0, 1, 4)}
    (sentence,) = sentences_of(ic3, rows)
    assert sentence.startswith(
        "NewOrder's WAREHOUSE read, DISTRICT read and STOCK read take only committed versions;"
    )


def test_a_range_of_accesses_is_named_by_its_ends(tpcc: Signature) -> None:
    star = build_seed("two_phase_locking_star", tpcc)
    rows = {state: {"wait": {"delivery": "NO_WAIT"}} for state in range(13, 17)}
    assert sentences_of(star, rows) == [
        "Payment's DISTRICT read to CUSTOMER update do not wait for Delivery; 2PL* waits for "
        "Delivery to end."
    ]


def test_a_table_without_waits_is_described(tpcc: Signature) -> None:
    star = build_seed("two_phase_locking_star", tpcc)
    rows = {state: {"wait": {"delivery": "NO_WAIT"}} for state in range(18, 26)}
    assert sentences_of(star, rows) == [
        "None of Delivery's accesses waits for another Delivery; 2PL* waits for another Delivery "
        "to end."
    ]


def test_cells_without_effect_are_counted_but_not_described(occ: PolicyDocument) -> None:
    other = changed(
        occ,
        {
            15: {"wait": {"new_order": 5}, "read_version": "DIRTY"},
            5: {"wait": {"payment": "COMMIT", "delivery": "COMMIT"}},
        },
    )
    found = explain(occ, other)
    assert found.sentences == []
    assert (found.cells, found.without_effect) == (0, 4)


def test_early_validation_of_a_published_write_has_no_effect(occ: PolicyDocument) -> None:
    public = changed(occ, {16: {"write_visibility": "PUBLIC"}})
    both = changed(public, {16: {"early_validation": True}})
    assert (explain(public, both).cells, explain(public, both).without_effect) == (0, 1)


def test_backoff_is_described(occ: PolicyDocument) -> None:
    rows = {
        "new_order": BackoffRow(128.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        "payment": BackoffRow(1.0, (1.0, 1.0, 4.0), (0.0, 0.0, 0.0)),
    }
    other = replace(occ, backoff={**occ.backoff, **rows})
    usual = "OCC starts at 1 µs, doubles on an abort and halves on a commit."
    assert [one.text for one in explain(occ, other).sentences] == [
        f"NewOrder backs off a constant 128 µs; {usual}",
        "Payment backs off from 1 µs on, multiplied by 2, 2, 5 (after 0, 1, 2 or more aborted "
        f"attempts) on an abort and unchanged on a commit; {usual}",
    ]
    assert [one.cells for one in explain(occ, other).sentences] == [7, 4]


def test_types_with_the_same_backoff_share_a_sentence(occ: PolicyDocument) -> None:
    constant = BackoffRow(128.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    found = explain(occ, replace(occ, backoff=dict.fromkeys(occ.backoff, constant)))
    assert [(one.type, one.text, one.cells) for one in found.sentences] == [
        (
            EVERY_TYPE,
            "Every type backs off a constant 128 µs; OCC starts at 1 µs, doubles on an abort and "
            "halves on a commit.",
            7 * len(occ.backoff),
        )
    ]


def test_writes_on_both_sides_of_a_publication_become_visible_separately(
    ic3: PolicyDocument,
) -> None:
    """Payment writes in 12, 14, 16 and 17, and the write of 12 is published with that of 14."""
    private = {"write_visibility": "PRIVATE"}
    assert [
        text for text in sentences_of(ic3, {12: private, 16: private}) if "private" in text
    ] == [
        "Payment's WAREHOUSE update stays private until its DISTRICT update is published; IC3 "
        "publishes at once.",
        "Payment's CUSTOMER update stays private until its HISTORY insert is published; IC3 "
        "publishes at once.",
    ]


def test_early_validation_in_place_of_a_publication(occ: PolicyDocument) -> None:
    public = changed(occ, {16: {"write_visibility": "PUBLIC"}})
    public = replace(public, name="base")
    early = changed(public, {16: {"write_visibility": "PRIVATE", "early_validation": True}})
    found = explain(public, early)
    assert [one.text for one in found.sentences] == [
        "Payment's CUSTOMER update stays private until the commit; base publishes at once.",
        "Payment validates early, after its CUSTOMER update, without publishing; base validates "
        "there and publishes.",
    ]
    assert (found.cells, found.without_effect) == (2, 0)


def test_the_sentence_on_publishing_names_its_validation(occ: PolicyDocument) -> None:
    both = changed(occ, {16: {"write_visibility": "PUBLIC", "early_validation": True}})
    found = explain(occ, both)
    assert len(found.sentences) == 1
    assert (found.cells, found.without_effect) == (1, 1)


def test_no_seed_differs_from_itself_and_each_is_its_own_nearest(signature: Signature) -> None:
    for name in SEEDS:
        seed = build_seed(name, signature)
        assert explain(seed, seed).sentences == []
        assert by_nearness(seed)[0][1].cells == 0


def test_any_two_tables_can_be_described(signature: Signature) -> None:
    tables = [build_seed(name, signature) for name in ("occ", "ic3", "random:1", "random:2")]
    for base in tables:
        for other in tables:
            found = explain(base, other)
            assert found.cells == sum(one.cells for one in found.sentences)
            assert all(one.text.endswith(".") for one in found.sentences)


SMF: dict[str, Any] = {"policy": "smf", "window": 16, "k": 5, "unscheduled": ["new_order"]}


def test_a_schedule_is_described(occ: PolicyDocument) -> None:
    found = explain(occ, replace(occ, schedule=SMF))
    assert [(one.type, one.text) for one in found.sentences] == [
        (
            EVERY_TYPE,
            "Transactions start in the order of their schedule (smf, window 16, k 5, except "
            "NewOrder); in OCC as they are drawn.",
        )
    ]
    assert found.cells == 3  # the policy, the window, the type; k has its default
    back = explain(replace(occ, schedule=SMF), occ)
    assert back.sentences[0].text.startswith("Transactions start as they are drawn; in OCC in ")
    assert back.cells == 3


def test_a_schedule_without_effect_is_not_described(occ: PolicyDocument) -> None:
    assert explain(occ, replace(occ, schedule={"policy": "fifo", "window": 4})).sentences == []


def test_the_size_of_a_classifier_is_described() -> None:
    types = [
        {"type": "new_order", "rows": [[1, 2], [3, 4]], "labels": [0, 0], "clusters": [[]]},
        {"type": "payment", "rows": [[1, 2]], "labels": [0], "clusters": [[]]},
    ]
    classifier = {"neighbours": 1, "hot_keys": {}, "types": types}
    words = schedule_words({"policy": "tsdefer", "defer": 0.4, "classifier": classifier})
    assert words == "tsdefer, defer 0.4, hot keys predicted by a classifier of 3 rows"


def test_names() -> None:
    assert type_words("new_order") == "NewOrder"
    assert type_words("GET /cart") == "GET /cart"
    accesses = tuple(Access(n, f"read_{n}", "T", "read") for n in range(2))
    twice = Signature("w", (TransactionType("t", accesses),))
    assert access_words(twice, 1) == "T read (read_1)"


def test_other_workloads_are_refused(occ: PolicyDocument) -> None:
    other = build_seed(
        "occ", Signature("w", (TransactionType("t", (Access(0, "r", "T", "read"),)),))
    )
    with pytest.raises(PolicyFileError, match="different workloads"):
        explain(occ, other)
