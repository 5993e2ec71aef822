from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import (
    ACTION_GROUPS,
    BINARY_EXPONENTIAL,
    Encoding,
    PolicyFileError,
    Signature,
    action_group,
    build_seed,
    validate,
)


@given(data=st.data())
def test_any_vector_is_a_valid_policy_and_survives_decoding(
    signature: Signature, data: st.DataObject
):
    encoding = Encoding(signature)
    # Hypothesis cannot draw one number per cell for 80 states, but a seed reaches every vector.
    draw = Random(data.draw(st.integers(0, 2**64 - 1)))
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    document = encoding.decode(vector, "any", provenance={"seed": 1})
    validate(document)
    assert encoding.encode(document) == vector


def test_masked_cells_are_exactly_those_without_a_choice(signature: Signature) -> None:
    encoding = Encoding(signature)
    assert encoding.mask == tuple(choices > 1 for choices in encoding.nvec)
    reads = sum(access.has_read_version for access in signature.accesses)
    writes = sum(access.writes for access in signature.accesses)
    masked = 2 * signature.state_count - reads - writes
    assert encoding.size - sum(encoding.mask) == masked


def test_the_layout_is_row_by_row_then_the_backoff(tpcc: Signature) -> None:
    encoding = Encoding(tpcc)
    assert encoding.row_width == 6
    assert encoding.size == 26 * 6 + 3 * 7
    row = encoding.cells[15 * 6 : 16 * 6]
    assert [cell.state for cell in row] == [15] * 6
    assert [cell.name for cell in row] == [
        "payment.read_customer.wait.new_order",
        "payment.read_customer.wait.payment",
        "payment.read_customer.wait.delivery",
        "payment.read_customer.read_version",
        "payment.read_customer.write_visibility",
        "payment.read_customer.early_validation",
    ]
    assert [len(cell.choices) for cell in row] == [13, 9, 10, 2, 1, 2]
    assert row[1].choices == ("NO_WAIT", 11, 12, 13, 14, 15, 16, 17, "COMMIT")
    assert encoding.names[26 * 6 : 26 * 6 + 3] == (
        "backoff.new_order.initial_us",
        "backoff.new_order.abort[0]",
        "backoff.new_order.abort[1]",
    )
    assert len(set(encoding.names)) == encoding.size


def test_zero_is_occ_and_every_default_its_table(signature: Signature) -> None:
    encoding = Encoding(signature)
    defaults = [cell.default for cell in encoding.cells]
    assert encoding.encode(build_seed("occ", signature)) == defaults
    assert not any(defaults[: signature.state_count * encoding.row_width])


def test_another_signature_is_refused(tpcc: Signature) -> None:
    other = replace(tpcc, workload="tpcc_of_old")
    with pytest.raises(PolicyFileError, match="tpcc_of_old"):
        Encoding(tpcc).encode(build_seed("occ", other))


def test_a_value_out_of_range_names_the_cell(tpcc: Signature) -> None:
    encoding = Encoding(tpcc)
    vector = [cell.default for cell in encoding.cells]
    for position, value in ((3, 2), (4, 1), (0, 13), (1, -1)):
        wrong = [*vector]
        wrong[position] = value
        with pytest.raises(ValueError, match=encoding.names[position].replace("[", r"\[")):
            encoding.decode(wrong, "wrong")
    with pytest.raises(ValueError, match="177"):
        encoding.decode(vector[1:], "short")


def test_a_document_out_of_range_names_the_cell(tpcc: Signature) -> None:
    encoding = Encoding(tpcc)
    occ = build_seed("occ", tpcc)
    odd_wait = replace(occ.cc[4], wait={**occ.cc[4].wait, "payment": 3})
    with pytest.raises(PolicyFileError, match=r"read_stock\.wait\.payment is 3.*11, 12"):
        encoding.encode(replace(occ, cc=(*occ.cc[:4], odd_wait, *occ.cc[5:])))
    odd_backoff = {**occ.backoff, "payment": replace(BINARY_EXPONENTIAL, initial_us=3.0)}
    with pytest.raises(PolicyFileError, match=r"backoff\.payment\.initial_us is 3"):
        encoding.encode(replace(occ, backoff=odd_backoff))
    with pytest.raises(PolicyFileError, match="25 CC rows"):
        encoding.encode(replace(occ, cc=occ.cc[1:]))
    with pytest.raises(PolicyFileError, match="no backoff row for new_order, payment"):
        encoding.encode(replace(occ, backoff={"delivery": BINARY_EXPONENTIAL}))


def test_no_group_leaves_occ_and_all_groups_leave_everything(signature: Signature) -> None:
    encoding = Encoding(signature)
    assert encoding.allowed([]) == tuple((cell.default,) for cell in encoding.cells)
    everything = tuple(tuple(range(choices)) for choices in encoding.nvec)
    assert encoding.allowed(ACTION_GROUPS) == everything


def test_each_group_adds_its_values_and_no_others(tpcc: Signature) -> None:
    encoding = Encoding(tpcc)
    added = {
        group: sum(len(values) for values in encoding.allowed([group])) - encoding.size
        for group in ACTION_GROUPS
    }
    assert added == {
        "wait_coarse": 26 * 3,
        "wait_fine": 26 * 26,
        "dirty_read": 10,
        "public_write": 14,
        "early_validation": 26,
        "backoff": 3 * (12 + 6 * 4),
    }
    coarse = encoding.allowed(["wait_coarse"])
    assert coarse[1] == (0, 8)
    assert encoding.cells[1].choices[8] == "COMMIT"


def test_every_value_other_than_occs_belongs_to_a_group(signature: Signature) -> None:
    for cell in Encoding(signature).cells:
        for value in range(len(cell.choices)):
            group = action_group(cell, value)
            assert group in ACTION_GROUPS or (group is None and value == cell.default)


def test_an_unknown_group_lists_the_groups(tpcc: Signature) -> None:
    with pytest.raises(ValueError, match=r"'waits'.*wait_coarse"):
        Encoding(tpcc).allowed(["waits"])
