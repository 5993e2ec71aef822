"""`heddle doctor` reports each problem with a remedy."""

from __future__ import annotations

import json
import resource
from collections import namedtuple
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from envs.host import Host
from trainer import installation
from trainer.command.main import heddle
from trainer.doctor import Finding, installed
from trainer.doctor.installed import examine_installation
from trainer.doctor.machine import examine_machine
from trainer.doctor.storage import examine_storage
from trainer.run_version import heddle_version

IDLE = Host("a processor", 8, 8, None, 64 << 30, None, "Linux 6", "tsc", "GCC 12", "abc", 0.1)


def named(findings: Iterable[Finding], name: str) -> Finding:
    (found,) = [finding for finding in findings if finding.name == name]
    return found


def of_machine(name: str, tmp_path: Path, mode: str = "always [madvise] never") -> Finding:
    pages = tmp_path / "enabled"
    pages.write_text(mode)
    return named(examine_machine(IDLE, pages), name)


def test_findings_without_a_problem_have_no_effect(tmp_path: Path) -> None:
    names = ("cores", "processor time", "clock source", "huge pages", "load")
    assert [of_machine(name, tmp_path).effect for name in names] == [None] * len(names)


@pytest.mark.parametrize(
    ("changed", "name", "effect", "cure"),
    [
        ({"cores": 1}, "cores", "no conflicts", "machine=virtual"),
        ({"quota": 2.5}, "processor time", "calibrate refuses", "machine.cores=2"),
        ({"quota": 0.5}, "processor time", "doubtful", "machine.cores=1"),
        ({"load": 5.0}, "load", "too low", "idle"),
    ],
)
def test_disturbances_of_real_cores_are_reported(
    changed: dict[str, float], name: str, effect: str, cure: str
) -> None:
    found = named(examine_machine(replace(IDLE, **changed)), name)
    assert effect in str(found.effect)
    assert cure in str(found.cure)
    assert not found.needed


def test_a_quota_of_all_cores_is_fine() -> None:
    assert named(examine_machine(replace(IDLE, quota=8.0)), "processor time").effect is None


@pytest.mark.parametrize(("processor", "reported"), [("x86_64", True), ("aarch64", False)])
def test_a_slow_clock_is_reported(
    processor: str, reported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: processor)
    found = named(examine_machine(replace(IDLE, clock="hpet")), "clock source")
    assert (found.effect is not None) == reported


def test_disabled_huge_pages_are_reported(tmp_path: Path) -> None:
    found = of_machine("huge pages", tmp_path, "always madvise [never]")
    assert found.found == "never"
    assert f"madvise > {tmp_path / 'enabled'}" in str(found.cure)
    assert named(examine_machine(IDLE, tmp_path / "gone"), "huge pages").effect is None


def test_short_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = namedtuple("memory", ["available"])
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory(1 << 30))
    found = named(examine_machine(replace(IDLE, memory_limit_bytes=2 << 30)), "memory")
    assert found.found == "1.0 GiB of 64.0 GiB available, limited to 2.0 GiB"
    assert "calibrate" in str(found.effect)


def test_missing_folders_are_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    found = list(examine_storage(gone, gone, gone))
    assert "in_process" in str(named(found, str(gone)).cure)
    assert "runs_dir=" in str(named(found, "folder").cure)
    assert "TMPDIR" in str(named(found, "temporary files").cure)
    assert not any(finding.needed for finding in found)


def test_a_long_temporary_folder_is_reported(tmp_path: Path) -> None:
    long = tmp_path / ("a" * 60)
    long.mkdir()
    assert "107" in str(named(examine_storage(tmp_path, tmp_path, long), "temporary files").effect)


def test_a_low_limit_of_open_files_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 256))
    found = named(examine_storage(tmp_path, tmp_path, tmp_path), "open files")
    assert found.cure == "ulimit -n 1024"


def test_an_engine_that_does_not_load_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing() -> ModuleType:
        raise ImportError("libboost_context.so: no such file\nand more")

    monkeypatch.setattr(installation, "load_engine", missing)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(heddle, ["doctor"])
    assert done.exit_code == 1
    assert "can't be loaded: libboost_context.so: no such file\n" in done.output
    assert "engine: nothing can be trained, measured or checked; make setup" in done.output
    assert CliRunner().invoke(heddle, ["--version"]).exit_code == 0


def test_an_engine_of_another_version_is_reported(
    fake_engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "version", "0.0.1", raising=False)
    assert "0.0.1" in str(named(examine_installation(), "engine").effect)
    monkeypatch.setattr(fake_engine, "version", heddle_version(), raising=False)
    assert named(examine_installation(), "engine").effect is None


def test_missing_libraries_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "library_version", lambda name: None)
    found = list(examine_installation())
    assert named(found, "libraries").needed
    assert "ray" in str(named(found, "libraries").effect)
    assert named(found, "torch").effect == "search=policy_gradient can't run"
    assert "EXTRAS=policy-gradient" in str(named(found, "torch").cure)


def test_a_missing_compiler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "apt-get install" in str(named(examine_installation(), "compiler").cure)


def test_json_has_every_finding(fake_engine: ModuleType) -> None:
    done = CliRunner().invoke(heddle, ["doctor", "--format", "json"])
    document = json.loads(done.output)
    names = [finding["name"] for finding in document["findings"]]
    assert {"engine", "libraries", "cores", "memory", "/dev/shm", "open files"} <= set(names)
    assert document["heddle_version"] == heddle_version()


def test_the_version_has_build_and_libraries() -> None:
    done = CliRunner().invoke(heddle, ["--version"])
    lines = done.output.splitlines()
    assert lines[0] == f"heddle {heddle_version()}"
    assert [line.split()[0] for line in lines[1:]] == ["commit", "engine", "Python", "libraries"]
    assert "ray " in lines[-1]
