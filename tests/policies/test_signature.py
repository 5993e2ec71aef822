from __future__ import annotations

import copy
from typing import Any

import pytest

from policies import PolicyFileError, Signature, workload_signature


def test_the_dictionary_form_survives_a_round_trip(signature: Signature) -> None:
    assert Signature.from_dict(signature.to_dict()) == signature


def test_states_number_the_accesses_through_the_workload(tpcc: Signature) -> None:
    assert tpcc.state_count == 26
    assert [kind.states.start for kind in tpcc.types] == [0, 11, 18]
    assert [access.state for access in tpcc.accesses] == list(range(26))
    assert tpcc.type_of(17).name == "payment"
    with pytest.raises(IndexError, match=r"states 0\.\.25"):
        tpcc.type_of(26)


def test_only_plain_reads_choose_a_version_and_only_writes_a_visibility(tpcc: Signature) -> None:
    for access in tpcc.accesses:
        assert access.has_read_version == (access.kind == "read")
        assert access.writes == (access.kind not in ("read", "scan"))


def test_an_unknown_workload_is_the_engines_error() -> None:
    with pytest.raises(ValueError, match="tpcc"):
        workload_signature("tpcd")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("workload",), "", "field workload"),
        (("types",), [], "field types"),
        (("types", 1, "accesses", 2, "id"), 12, r"types\[1\]\.accesses\[2\].*must be 13"),
        (("types", 0, "accesses", 0, "id"), False, "field id is False"),
        (("types", 1, "accesses", 0, "kind"), "write", "read, update, insert, remove, scan"),
        (("types", 1, "accesses", 0, "loop"), 1, "field loop"),
        (("types", 1, "accesses", 0, "table"), None, "field table"),
        (("types", 1, "name"), "new_order", "twice"),
        (("types", 1, "accesses", 1, "name"), "read_warehouse", "twice"),
    ],
)
def test_a_malformed_signature_names_the_field(
    tpcc: Signature, path: tuple[Any, ...], value: Any, message: str
) -> None:
    data = copy.deepcopy(tpcc.to_dict())
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    with pytest.raises(PolicyFileError, match=message):
        Signature.from_dict(data)
