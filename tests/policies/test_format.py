from __future__ import annotations

import errno
import json
import math
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from policies import (
    SEEDS,
    PolicyDocument,
    PolicyFileError,
    Signature,
    build_seed,
    from_json,
    load,
    save,
    to_json,
    validate,
)
from policies import format as policy_format

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def text(tpcc: Signature) -> str:
    return to_json(build_seed("ic3", tpcc))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def error_of(text: str, **arguments: Any) -> str:
    with pytest.raises(PolicyFileError) as caught:
        from_json(text, "p.json", **arguments)
    return str(caught.value)


def changed(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text with one value replaced and all other lines unchanged."""
    document = json.loads(text)
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize("name", [*SEEDS, "random:3", "tebaldi"])
def test_the_canonical_text_is_a_fixed_point(name: str, signature: Signature) -> None:
    document = build_seed(name, signature)
    written = to_json(document)
    assert from_json(written) == document
    assert to_json(from_json(written)) == written


@pytest.mark.parametrize("name", ["ic3", "random:3"])
def test_the_engine_reads_and_writes_the_same_document(name: str, signature: Signature) -> None:
    document = build_seed(name, signature)
    parsed = engine.Policy(to_json(document), signature.to_dict())
    assert from_json(parsed.json) == document


@given(provenance=st.dictionaries(st.text(max_size=9), JSON_VALUES), name=st.text(max_size=20))
@pytest.mark.slow
def test_names_and_provenance_survive(
    tpcc: Signature, provenance: dict[str, Any], name: str
) -> None:
    seed = build_seed("occ", tpcc)
    try:
        name.encode()
        json.dumps(provenance, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    document = replace(seed, name=name, provenance=provenance, schedule={"k": 5})
    assert from_json(to_json(document), check=False) == document


def test_the_text_has_a_line_for_each_row(text: str) -> None:
    lines = text.splitlines()
    rows = [line for line in lines if line.strip().startswith('{"state"')]
    assert [json.loads(row.rstrip(","))["state"] for row in rows] == list(range(26))
    assert text.endswith("}\n")
    assert '"payment": {"initial_us": 1, "abort": [1, 1, 1], "commit": [1, 1, 1]}' in text


def test_one_changed_cell_is_one_changed_line(tpcc: Signature, text: str) -> None:
    ic3 = build_seed("ic3", tpcc)
    row = replace(ic3.cc[9], early_validation=False)
    other = to_json(replace(ic3, cc=(*ic3.cc[:9], row, *ic3.cc[10:])))
    pairs = zip(text.splitlines(), other.splitlines(), strict=True)
    assert sum(a != b for a, b in pairs) == 1


# ---- faults of a file


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match=r"no\.json: there is no such file"):
        load(tmp_path / "no.json")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match=r"is a directory; name a policy's file in it"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary data"),
        (b'{\n"name": "caf\xe9"}', r"x\.json:2: byte 14 is not UTF-8; save the file as UTF-8"),
        ('{"name": 1}'.encode("utf-16"), "is not UTF-8"),
        (b"[1, 2]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'{"a": 1,\n "b": 2,\n}', r"x\.json:3: not JSON"),
        (b'{"a": 1,\n "b" 2}', r"x\.json:2: not JSON: Expecting ':'"),
        (b'{"kind": "heddle.policy"', "not JSON"),
        (b'{"a": 1,\n "b": {"c": 1,\n "c": 2}}', r'x\.json:3: the key "c" occurs twice'),
        (b'{"a": 1,\n "b": NaN}', r"x\.json:2: NaN is not a JSON number"),
        (b'{"a": 1,\n "b": -Infinity}', r"x\.json:2: -Infinity is not"),
        (b'{"a": 1,\n "b": 1e999}', r"x\.json:2: 1e999 is too large"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "number is too long"),
        (b'{"kind": "other"}', "not a policy file"),
        (b"{}", "not a policy file"),
    ],
)
def test_a_file_that_is_not_a_policy(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(PolicyFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PolicyFileError, match="larger than 16 MiB"):
        load(path)


def test_an_unreadable_file(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.json"
    path.write_text(text)

    def refuse(*_: object) -> None:  # the system would not refuse root
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PolicyFileError, match=r"secret\.json: can't be read: Permission denied"):
        load(path)


def test_a_byte_order_mark_is_allowed(tmp_path: Path, tpcc: Signature, text: str) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load(path) == build_seed("ic3", tpcc)


def test_a_newer_schema(text: str) -> None:
    message = error_of(changed(text, ("schema_version",), 2))
    assert "schema_version" in message
    assert "version of heddle that wrote the file" in message


# ---- faults of a document

ROW_FIELDS = [
    "state",
    "type",
    "access",
    "wait",
    "read_version",
    "write_visibility",
    "early_validation",
]
WRONG = st.sampled_from(
    [None, -1, 26, 1.5, "", "dirty", "NOWAIT", "WAIT", [], {}, {"a": 1}, [0], 10**30]
)


@given(state=st.integers(0, 25), field=st.sampled_from(ROW_FIELDS), value=WRONG)
def test_a_wrong_cell_names_its_row_and_field(
    text: str, state: int, field: str, value: Any
) -> None:
    if json.loads(text)["cc"][state][field] == value:
        return  # null is valid in a masked cell
    message = error_of(changed(text, ("cc", state, field), value))
    assert f"row {state}" in message
    assert field in message


@given(
    state=st.integers(0, 25),
    name=st.sampled_from(["new_order", "payment", "delivery"]),
    value=st.sampled_from([None, True, -1, 26, 1.5, "", "commit", "0", [], {}, 10**30]),
)
def test_a_wrong_wait_names_its_row_and_type(text: str, state: int, name: str, value: Any) -> None:
    message = error_of(changed(text, ("cc", state, "wait", name), value))
    assert f"row {state}" in message
    assert "wait" in message
    assert name in message


def test_a_wait_for_another_types_access(text: str) -> None:
    message = error_of(changed(text, ("cc", 2, "wait", "payment"), 10))
    assert "row 2" in message
    assert "payment" in message


@given(
    name=st.sampled_from(["new_order", "payment", "delivery"]),
    field=st.sampled_from(["initial_us", "abort", "commit"]),
    value=st.sampled_from([None, True, 0.3, "1", [1, 1], [1, 1, 3], [1, 1, "1"], -1, [True] * 3]),
)
def test_a_wrong_backoff_cell_names_its_row_and_field(
    text: str, name: str, field: str, value: Any
) -> None:
    message = error_of(changed(text, ("backoff", name, field), value))
    assert name in message
    assert field in message


@pytest.mark.parametrize("field", ROW_FIELDS)
def test_a_missing_field_names_its_row(text: str, field: str) -> None:
    document = json.loads(text)
    del document["cc"][7][field]
    message = error_of(json.dumps(document))
    assert "row 7" in message
    assert f"field {field} is missing" in message


@pytest.mark.parametrize("path", [("extra",), ("cc", 3, "extra"), ("backoff", "payment", "extra")])
def test_an_unknown_field_is_reported(text: str, path: tuple[Any, ...]) -> None:
    assert "extra is unknown; remove it" in error_of(changed(text, path, 1))


@pytest.mark.parametrize("check", [True, False])
def test_the_line_of_the_row_is_named(text: str, check: bool) -> None:
    lines = text.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if '"state": 5,' in line)
    if check:
        lines[number - 1] = lines[number - 1].replace('"PUBLIC"', '"PUBLISHED"')
    else:
        lines[number - 1] = lines[number - 1].replace('"PUBLIC"', "7")
    message = error_of("\n".join(lines), check=check)
    assert message.startswith(f"p.json:{number}: ")
    assert "row 5 (new_order" in message
    assert "field" in message
    assert "write_visibility" in message


@pytest.mark.parametrize("rows", [0, 25, 27])
def test_a_missing_or_extra_row(text: str, rows: int) -> None:
    document = json.loads(text)
    document["cc"] = (document["cc"] * 2)[:rows]
    assert "26" in error_of(json.dumps(document))


def test_a_missing_backoff_row(text: str) -> None:
    document = json.loads(text)
    del document["backoff"]["payment"]
    message = error_of(json.dumps(document))
    assert "backoff" in message


@pytest.mark.parametrize("check", [True, False])
def test_a_policy_for_another_workload_is_refused(tpcc: Signature, text: str, check: bool) -> None:
    renamed = replace(tpcc, workload="tpcd")
    assert "signature" in error_of(text, signature=renamed, check=check)


def test_validate_takes_documents(tpcc: Signature) -> None:
    ic3 = build_seed("ic3", tpcc)
    validate(ic3)
    row = replace(ic3.cc[1], write_visibility="PUBLIC")
    with pytest.raises(PolicyFileError, match="row 1"):
        validate(replace(ic3, cc=(ic3.cc[0], row, *ic3.cc[2:])))


# ---- saving


def test_a_saved_policy_is_loaded(tmp_path: Path, signature: Signature) -> None:
    document = build_seed("ic3", signature)
    save(document, tmp_path / "p.json")
    assert load(tmp_path / "p.json", signature) == document
    assert names(tmp_path) == ["p.json"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failing_save_keeps_the_old_file(
    tmp_path: Path, tpcc: Signature, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "p.json"
    old = build_seed("occ", tpcc)
    save(old, path)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(policy_format, "_write_durably", fail)
        elif step == "fsync":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(Path, "replace", fail)
        with pytest.raises(PolicyFileError, match=r"p\.json: can't be written: No space left"):
            save(build_seed("ic3", tpcc), path)
    assert load(path) == old
    assert names(tmp_path) == ["p.json"]


def test_an_interrupted_save_leaves_nothing_behind(
    tmp_path: Path, tpcc: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(build_seed("ic3", tpcc), tmp_path / "p.json")
    assert names(tmp_path) == []


def test_a_saved_file_has_the_umasks_mode_and_links_are_followed(
    tmp_path: Path, tpcc: Signature
) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "latest.json"
    link.symlink_to(tmp_path / "real" / "p.json")
    umask = os.umask(0o027)
    try:
        save(build_seed("occ", tpcc), link)
    finally:
        os.umask(umask)
    assert link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == 0o640


def test_saving_to_an_invalid_path(tmp_path: Path, tpcc: Signature) -> None:
    occ = build_seed("occ", tpcc)
    with pytest.raises(PolicyFileError, match="can't be written: is a directory; name a file"):
        save(occ, tmp_path)
    with pytest.raises(PolicyFileError, match="can't be written: No such file or directory"):
        save(occ, tmp_path / "no" / "p.json")
    (tmp_path / "file").touch()
    with pytest.raises(PolicyFileError, match="can't be written: Not a directory"):
        save(occ, tmp_path / "file" / "p.json")
    with pytest.raises(PolicyFileError, match="can't be written: embedded null byte"):
        save(occ, tmp_path / "nul\0.json")
    save(occ, tmp_path / ("p" * 250 + ".json"))


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, object()])
def test_values_without_a_json_form_are_refused_before_writing(
    tmp_path: Path, tpcc: Signature, value: Any
) -> None:
    odd: PolicyDocument = replace(build_seed("occ", tpcc), provenance={"scores": value})
    with pytest.raises(PolicyFileError, match="field scores can't be written"):
        save(odd, tmp_path / "p.json")
    assert names(tmp_path) == []
