from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies import Signature, build_seed, from_json, load, save, workload_signature
from trainer.command.policy import policy

PUBLISHED = [
    *("slots", "4", "decrease", *["2 2 2"] * 3, "increase", *["2 2 2"] * 3, "access"),
    *["0 1 1 3 0 0"] * 26,
]


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(policy, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fails(*arguments: str | Path) -> str:
    """Return the single message of a command that refuses its input."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def ic3(tmp_path: Path, tpcc: Signature) -> Path:
    path = tmp_path / "ic3.json"
    save(build_seed("ic3", tpcc), path)
    return path


def test_show_draws_files_and_seeds(ic3: Path) -> None:
    from_file, from_seed = run("show", ic3), run("show", "ic3")
    assert from_file.exit_code == from_seed.exit_code == 0
    assert from_file.stdout == from_seed.stdout
    assert "16 w CUSTOMER" in from_file.stdout
    assert "…" not in from_file.stdout.replace("for …", "")


def test_show_takes_a_workload() -> None:
    result = run("show", "random:4", "--workload", "micro")
    assert result.exit_code == 0
    assert "random:4" in result.stdout


def test_show_takes_the_workload_of_another_file(tmp_path: Path, tpcc: Signature) -> None:
    """A seed policy for a workload that the command cannot name, such as a trace."""
    signature = replace(tpcc, workload="mine", types=tpcc.types[:1])
    path = tmp_path / "mine.json"
    save(build_seed("occ", signature), path)
    shown = run("show", "ic3", "--like", path).stdout
    assert shown.startswith("ic3  for mine: 1 type, 11 states\n")
    assert "ic3.json" in fails("show", tmp_path / "ic3.json", "--like", path)
    assert "leave out --workload" in fails("show", "ic3", "--like", path, "--workload", "tpcc")


def test_show_json_is_the_file(ic3: Path) -> None:
    assert run("show", ic3, "--json").stdout == ic3.read_text()
    assert from_json(run("show", "occ", "--json", "-o", "warehouses=4").stdout).name == "occ"


def test_names_with_markup_are_shown_as_they_are(tmp_path: Path, tpcc: Signature) -> None:
    path = tmp_path / "p.json"
    save(replace(build_seed("occ", tpcc), name="[red]:boom:"), path)
    assert "[red]:boom:" in run("show", path).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("show", "ic4"),
            "neither a seed policy, nor a table of the library, nor a file; the seed policies are",
        ),
        (("show", "x" * 300), f"error: {'x' * 60}...: is too long for the name of a file"),
        (("show", "x" * 300 + ".json"), "File name too long"),
        (("show", "ic3", "--like", "x" * 300), "is too long for the name of a file"),
        (("show", "no.json"), "no.json: there is no such file"),
        (("show", "."), "is a directory"),
        (("show", "random:x"), "'x' is not a seed"),
        (("show", "ic3", "--workload", "tpcd"), "tpcd"),
        (("show", "ic3", "-o", "warehouses"), "write KEY=VALUE"),
        (("show", "ic3", "-o", "=1"), "write KEY=VALUE"),
        (("diff", "occ", "no.json"), "no.json: there is no such file"),
        (("convert", "no.txt", "out.json"), "no.txt: there is no such file"),
    ],
)
def test_bad_input_is_one_message(arguments: tuple[str, ...], message: str) -> None:
    stderr = fails(*arguments)
    assert message in stderr
    assert stderr.startswith("error: ")
    assert len(stderr.splitlines()) == 1


def test_validate_reports_valid_policies(ic3: Path, tpcc: Signature) -> None:
    result = run("validate", ic3, "two_phase_locking_star")
    assert result.exit_code == 0
    assert f"{ic3}: valid: ic3 for tpcc, 26 states" in result.stdout
    assert "two_phase_locking_star: valid" in result.stdout


def test_validate_continues_after_a_bad_policy(tmp_path: Path, ic3: Path) -> None:
    bad = tmp_path / "bad.json"
    document = json.loads(ic3.read_text())
    document["cc"][4]["wait"]["payment"] = 3
    bad.write_text(json.dumps(document))
    result = run("validate", bad, tmp_path / "none.json", ic3)
    assert result.exit_code == 2
    assert f"{ic3}: valid" in result.stdout
    messages = result.stderr.splitlines()
    assert len(messages) == 2
    assert "row 4" in messages[0]
    assert "payment" in messages[0]
    assert "none.json" in messages[1]


def test_validate_continues_after_an_overlong_name(ic3: Path) -> None:
    result = run("validate", "x" * 300, ic3)
    assert result.exit_code == 2
    assert "is too long" in result.stderr
    assert f"{ic3}: valid" in result.stdout


def test_ctrl_c_is_reported(ic3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("policies.command.open_policy", interrupted)
    result = run("show", ic3)
    assert result.exit_code == 130
    assert result.stderr == "interrupted\n"


def test_validate_against_another_workload(ic3: Path) -> None:
    assert run("validate", ic3, "--workload", "tpcc").exit_code == 0
    assert "ic3.json" in fails("validate", ic3, "--workload", "ycsb")


def test_diff_is_like_diff(tmp_path: Path, ic3: Path) -> None:
    assert run("diff", ic3, ic3).exit_code == 0
    assert run("diff", ic3, "ic3").stdout == ""
    result = run("diff", "occ", ic3)
    assert result.exit_code == 1
    assert "wait for payment" in result.stdout
    assert "16 w CUSTOMER" in result.stdout


def test_diff_builds_seeds_for_the_workload_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "micro.json"
    save(build_seed("ic3", workload_signature("micro")), path)
    assert run("diff", path, "ic3").exit_code == 0
    assert run("diff", "ic3", path).exit_code == 0
    assert run("diff", "occ", path).exit_code == 1


def test_diff_of_different_workloads_is_bad_input(tmp_path: Path, ic3: Path) -> None:
    path = tmp_path / "micro.json"
    save(build_seed("ic3", workload_signature("micro")), path)
    assert "different workloads" in fails("diff", ic3, path)


def test_convert_writes_a_policy_that_loads(tmp_path: Path) -> None:
    source, target = tmp_path / "table.txt", tmp_path / "table.json"
    source.write_text("\n".join(PUBLISHED))
    result = run("convert", source, target, "--workload", "tpcc")
    assert result.exit_code == 0
    document = load(target)
    assert document.name == "table"
    assert document.cc[5].wait["new_order"] == 2


def test_convert_leaves_the_target_unchanged_on_errors(tmp_path: Path) -> None:
    source, target = tmp_path / "table.txt", tmp_path / "table.json"
    source.write_text("\n".join(PUBLISHED[:-1]))
    target.write_text("mine")
    assert "table.txt:11" in fails("convert", source, target)
    assert target.read_text() == "mine"
    assert "no published tables for ycsb" in fails("convert", source, target, "--workload", "ycsb")


def test_a_full_disk_is_not_reported_as_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("policies.format._write_durably", full)
    source = tmp_path / "table.txt"
    source.write_text("\n".join(PUBLISHED))
    result = run("convert", source, tmp_path / "table.json")
    assert result.exit_code == 1
    assert "table.json: can't be written: No space left on device" in result.stderr


def test_help_has_examples() -> None:
    for command in ("show", "validate", "diff", "convert"):
        text = run(command, "--help").stdout
        assert f"  heddle policy {command} " in text
