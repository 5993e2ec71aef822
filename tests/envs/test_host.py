"""The description of the machine, and the warnings about doubtful figures."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from envs.host import (
    Host,
    LoadMeter,
    disturbance_warning,
    local_machine,
    machine_warnings,
    this_host,
)
from envs.result import Machine, Result
from envs.table import machine_words

GOOD = Host(cores=2, cores_online=2, clock="tsc")


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine("threads", 24, 2), "24 workers on 2 real cores"),
        (Machine("threads", 2, 1), "2 workers on 1 real core"),
        (Machine("threads", 2, 2), "2 real cores"),
        (Machine("threads", 1, 64), "1 real core"),
        (Machine("threads", 8), "8 real cores"),
        (Machine("virtual", 48), "48 virtual cores"),
    ],
)
def test_workers_are_not_reported_as_cores(machine: Machine, words: str) -> None:
    assert machine_words(machine) == words
    assert Machine.from_dict(machine.as_dict()) == machine


@pytest.mark.parametrize(
    ("machine", "host", "told"),
    [
        (Machine("threads", 24, 2), GOOD, "24 workers share 2 cores"),
        (
            Machine("threads", 2, 2),
            replace(GOOD, quota=0.5),
            "limits this process to 0.5 processors (cpu.max)",
        ),
        (Machine("threads", 2, 2), replace(GOOD, clock="hpet"), "clock source is hpet"),
    ],
)
def test_doubts_are_reported(
    machine: Machine, host: Host, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (doubt,) = machine_warnings(machine, host)
    assert told in doubt


@pytest.mark.parametrize(
    ("machine", "host"),
    [
        (Machine("threads", 2, 2), GOOD),
        (Machine("threads", 1, 2), replace(GOOD, quota=1.0)),
        (Machine("threads", 2, 2), Host()),
        (Machine("virtual", 48), replace(GOOD, quota=0.5, clock="hpet")),
    ],
)
def test_reliable_measurements_have_no_warning(machine: Machine, host: Host) -> None:
    assert machine_warnings(machine, host) == []


def test_workers_of_external_stores_may_outnumber_the_cores() -> None:
    assert machine_warnings(Machine("threads", 24, 2), GOOD, takes_turns=False) == []


def test_this_host_is_described() -> None:
    host = this_host()
    assert host.cores >= 1
    assert host.memory_bytes > 1 << 20
    assert host.kernel.startswith("Linux ")
    assert host.compiler != "unknown"
    assert Host.from_dict(host.as_dict()) == host
    assert local_machine("threads", 3) == Machine("threads", 3, host.cores)
    assert local_machine("virtual", 3) == Machine("virtual", 3)


class Times(tuple):
    """Return one core's times in psutil's form."""

    idle = iowait = guest = guest_nice = 0.0


def test_the_load_of_others_excludes_this_process_and_its_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy, now = [0.0, 0.0], [100.0]
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: [Times((one,)) for one in busy])
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    server = SimpleNamespace(cpu_times=lambda: (0.25 * busy[0], 0.0, 0.0, 0.0, 9.0))
    this = SimpleNamespace(
        cpu_times=lambda: (0.75 * busy[0], 0.0, 0.0, 0.0, 0.0), children=lambda recursive: [server]
    )
    monkeypatch.setattr(psutil, "Process", lambda: this)
    meter = LoadMeter()
    assert meter.others() is None  # too short to measure
    busy[:], now[0] = [1.0, 0.75], 101.0
    assert meter.others() == pytest.approx(0.75)
    told = disturbance_warning(meter.others(), Machine("threads", 2, 2))
    assert told is not None
    assert "used 0.8 of 2 cores" in told
    assert disturbance_warning(0.1, Machine("threads", 2, 2)) is None
    assert disturbance_warning(None, Machine("threads", 2, 2)) is None


def test_a_result_keeps_the_host_load() -> None:
    raw = {
        "machine": {"kind": "threads", "cores": 24, "real_cores": 2},
        "others": 0.5,
        "memory": {"grown_bytes": 7, "short": True},
    }
    result = Result.from_dict(raw)
    again = Result.from_dict(result.as_dict())
    assert again.machine.crowded
    assert (again.others, again.grown_bytes, again.short_of_memory) == (0.5, 7, True)
    assert "others" not in Result.from_dict({}).as_dict()
