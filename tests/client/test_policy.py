"""Policy files as the client reads them, and the swap of one for another."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from heddle_client import Policy, PolicyError, Scheduler


def write(path: Path, **parts: object) -> Path:
    document = {"schema_version": 1, "kind": "heddle.policy", "cc": [], "schedule": None, **parts}
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    return temporary.replace(path)


def external(**options: object) -> dict[str, object]:
    return {"name": "external", "options": options}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "policy.json", protocol=external(concurrency="4"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Policy.read(path).concurrency == 4


@pytest.mark.parametrize(
    ("parts", "policy"),
    [
        ({"protocol": external()}, Policy("fifo")),
        ({"protocol": external(concurrency="8", store="sqlite")}, Policy("fifo", 8)),
        ({"schedule": {"policy": "smf", "window": 16}}, Policy("smf")),
        (
            {
                "protocol": external(concurrency=4),
                "schedule": {"policy": "smf", "barrier": 7, "unscheduled": ["report"]},
            },
            Policy("smf", 4, 7, frozenset(["report"])),
        ),
        ({"protocol": external(merge="16", reads="alone")}, Policy("fifo", merge=16)),
        (
            {"protocol": external(locks="hints"), "schedule": {"policy": "smf"}},
            Policy("locks"),
        ),
    ],
)
def test_a_file_is_read(tmp_path: Path, parts: dict, policy: Policy) -> None:
    assert Policy.read(write(tmp_path / "policy.json", **parts)) == policy


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "neither"),
        ({"kind": "other"}, "kind"),
        ({"schema_version": 2}, "schema_version is 2"),
        ({"protocol": {"name": "silo"}}, "protocol.name is 'silo'.*give 'external'"),
        ({"protocol": external(concurrency="0")}, "concurrency is 0: give an integer, 1 to 65536"),
        ({"protocol": external(concurrency=True)}, "concurrency is True"),
        ({"protocol": external(merge="1025")}, "options.merge is 1025: give an integer, 1 to 1024"),
        ({"protocol": external(locks="all")}, "locks is 'all': give 'off' or 'hints'"),
        ({"schedule": {"policy": "tsdefer"}}, "schedule.policy is 'tsdefer'"),
        ({"schedule": {"policy": "smf", "barrier": -1}}, "barrier is -1"),
        ({"schedule": {"policy": "smf", "unscheduled": "report"}}, "unscheduled is 'report'"),
        ({"schedule": []}, r"schedule is \[\]"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, parts: dict, message: str) -> None:
    path = write(tmp_path / "policy.json", **parts)
    with pytest.raises(PolicyError, match=message) as caught:
        Policy.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b"[]"])
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "policy.json"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=r"policy\.json"):
        Policy.read(path)


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "best"},
        {"concurrency": 0},
        {"barrier": 1.5},
        {"unscheduled": "report"},
        {"longest_wait": -1},
    ],
)
def test_wrong_arguments_are_refused(arguments: dict) -> None:
    with pytest.raises(PolicyError, match=next(iter(arguments))):
        Scheduler(**arguments)


def test_a_policy_and_its_arguments_are_refused_together() -> None:
    with pytest.raises(TypeError, match="give a policy, or concurrency, not both"):
        Scheduler(Policy(), concurrency=3)


def test_a_swap_starts_those_that_may_start_under_the_new_policy(tmp_path: Path) -> None:
    scheduler = Scheduler(mode="fifo", concurrency=1)
    core = scheduler._core
    core.submit([1], [], True)
    core.submit([1], [], True)
    core.submit([2], [], True)
    assert scheduler.load(write(tmp_path / "p.json", schedule={"policy": "smf"}))
    metrics = scheduler.metrics()
    assert (metrics.mode, metrics.running, metrics.waiting, metrics.swaps) == ("smf", 2, 1, 1)


def test_a_bad_file_leaves_the_policy(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scheduler = Scheduler(write(tmp_path / "p.json", protocol=external(concurrency="3")))
    with caplog.at_level(logging.WARNING, "heddle_client"):
        assert not scheduler.load(write(tmp_path / "p.json", protocol=external(concurrency="x")))
        assert not scheduler.load(tmp_path / "absent.json")
    assert scheduler.policy == Policy("fifo", 3)
    assert (scheduler.metrics().swaps, scheduler.metrics().refused_swaps) == (0, 2)
    assert "concurrency is 'x': give an integer" in caplog.text


def test_a_watched_file_is_put_in_force(tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", protocol=external(concurrency="3"))
    scheduler = Scheduler(path, watch=0.01)
    write(path, protocol=external(concurrency="44"))
    end = time.monotonic() + 10
    while scheduler.policy.concurrency != 44 and time.monotonic() < end:
        time.sleep(0.005)
    assert scheduler.policy.concurrency == 44
    scheduler.close()
    assert scheduler.metrics().swaps == 1
