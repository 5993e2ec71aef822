"""The states of a policy file that another process replaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from envs.published_policy import Missing, PublishedFile, PublishedPolicy, Refused
from policies import Signature, build_seed, load, save, to_json, workload_signature


@pytest.fixture(scope="module")
def ycsb() -> Signature:
    return workload_signature("ycsb")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "policy.json"


@pytest.fixture
def file(path: Path, ycsb: Signature) -> PublishedFile:
    return PublishedFile(path, ycsb)


def publish(path: Path, signature: Signature, name: str) -> None:
    save(replace(build_seed("ic3", signature), name=name), path)


def named(found: object) -> str:
    assert isinstance(found, PublishedPolicy), found
    return found.name


def test_a_policy_is_found_once_and_again_when_it_is_replaced(
    file: PublishedFile, path: Path, ycsb: Signature
) -> None:
    publish(path, ycsb, "one")
    found = file.poll()
    assert named(found) == "one"
    assert isinstance(found, PublishedPolicy)
    assert found.text == to_json(load(path, ycsb))
    assert file.poll() is None
    publish(path, ycsb, "two")
    assert named(file.poll()) == "two"
    assert file.poll() is None


def test_a_missing_file_is_reported_once_and_found_when_it_returns(
    file: PublishedFile, path: Path, ycsb: Signature
) -> None:
    assert file.poll() == Missing(path)
    assert file.poll() is None
    publish(path, ycsb, "one")
    assert named(file.poll()) == "one"
    aside = path.with_suffix(".aside")
    path.rename(aside)
    assert file.poll() == Missing(path)
    assert file.poll() is None
    aside.rename(path)  # the same file
    assert named(file.poll()) == "one"


def bad_texts(good: str, other: str) -> dict[str, tuple[str, str]]:
    """Contents that are refused, and a part of the reason."""
    return {
        "empty": ("", "policy.json"),
        "cut off": (good[: len(good) // 2], "policy.json"),
        "another workload": (other, "workload"),
        "unknown version": (good.replace('"schema_version": 1', '"schema_version": 99'), "99"),
        "no object": ("[1, 2]", "object"),
        "nested without end": ("[" * 100_000, "policy.json"),
    }


@pytest.mark.parametrize(
    "kind",
    ["empty", "cut off", "another workload", "unknown version", "no object", "nested without end"],
)
def test_a_bad_file_is_refused_once_and_a_later_good_one_accepted(
    file: PublishedFile, path: Path, ycsb: Signature, kind: str
) -> None:
    good = to_json(build_seed("ic3", ycsb))
    other = to_json(build_seed("ic3", workload_signature("tpcc")))
    text, why = bad_texts(good, other)[kind]
    path.write_text(text)
    found = file.poll()
    assert isinstance(found, Refused)
    assert str(path) in found.reason
    assert why in found.reason
    assert file.poll() is None
    os.utime(path)  # another time but the same text
    assert file.poll() is None
    path.write_text(text + " ")  # another version, also bad
    assert isinstance(file.poll(), Refused)
    publish(path, ycsb, "good")
    assert named(file.poll()) == "good"


def test_a_path_that_is_not_a_file_is_refused(
    file: PublishedFile, path: Path, ycsb: Signature
) -> None:
    path.mkdir()
    found = file.poll()
    assert isinstance(found, Refused)
    assert "is a directory" in found.reason
    assert file.poll() is None
    path.rmdir()
    os.mkfifo(path)  # opening it to read would wait for a writer
    found = file.poll()
    assert isinstance(found, Refused)
    assert "not a regular file" in found.reason
    path.unlink()
    path.write_bytes(b"\0\1\2")
    found = file.poll()
    assert isinstance(found, Refused)
    assert "binary" in found.reason
    assert file.poll() is None
    path.unlink()
    path.symlink_to(path)  # not even root can read it
    found = file.poll()
    assert isinstance(found, Refused)
    assert "can't be read" in found.reason
    assert file.poll() is None
    path.unlink()
    publish(path, ycsb, "good")
    assert named(file.poll()) == "good"


UNPRIVILEGED_USER = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Drop the rights of root, who may read every file."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(UNPRIVILEGED_USER)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_without_read_permission_is_refused(
    file: PublishedFile, path: Path, ycsb: Signature
) -> None:
    publish(path, ycsb, "good")
    path.chmod(0)
    with unprivileged():
        assert isinstance(file.poll(), Refused)
        assert file.poll() is None
    path.chmod(0o644)
    assert named(file.poll()) == "good"


def test_a_file_rewritten_with_the_same_size_and_time_is_read_again(
    file: PublishedFile, path: Path, ycsb: Signature
) -> None:
    publish(path, ycsb, "one")
    before = path.stat()
    assert named(file.poll()) == "one"
    path.write_text(path.read_text().replace('"one"', '"two"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert named(file.poll()) == "two"


def test_an_old_file_is_not_read_at_every_poll(
    file: PublishedFile, path: Path, ycsb: Signature, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envs import published_policy

    monkeypatch.setattr(published_policy, "FRESH_NS", -(1 << 62))
    publish(path, ycsb, "one")
    assert named(file.poll()) == "one"

    def never(path: Path) -> str:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr(published_policy, "read_text", never)
    assert file.poll() is None
