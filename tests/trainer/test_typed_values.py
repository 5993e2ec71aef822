"""Values of the command line: paths with any characters, lists with commas."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from trainer.command.errors import UsageError
from trainer.command.evaluate import as_list
from trainer.command.settings import parse_overrides, value_of
from trainer.command.typed_values import as_hydra_reads, list_text, split_names, unquoted
from trainer.shell_words import heddle_command

PATHS = [
    "/home/jürgen/o.json",
    "a b.json",
    "a,b.json",
    "a#b.json",
    "a?b&c.json",
    "100%.json",
    "x=1.json",
    "(a)[b]{c}.json",
    "~me/o.json",
    "it's.json",
    'a"b".json',
    "a\\b.json",
    "a\\",
    "漢字.json",
    "007",
    "1e5",
    "true",
    "[1]",
    "a:b@c!d$e;f|g<h>i^j`k",
    " leading and trailing ",
    "a\nb",
]


@pytest.mark.parametrize("key", ["output", "resume"])
@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_taken_literally(key: str, path: str) -> None:
    (override,) = parse_overrides([f"{key}={path}"])
    assert override.value() == path
    assert value_of([f"{key}={path}"], key) == path


NO_NAMES = {"a,b.json", "[1]", " leading and trailing "}
"""Values that Hydra would read as a list, or without spaces, where a list of names is allowed."""


@pytest.mark.parametrize("name", sorted({*PATHS} - NO_NAMES))
def test_a_name_can_have_any_character_except_a_comma(name: str) -> None:
    (override,) = parse_overrides([f"mlflow.experiment={name}"])
    assert override.value() == name


@pytest.mark.parametrize("typed", ["output=o.json", "seed=1,2", "output=null", "search=random"])
def test_values_that_hydra_reads_are_unchanged(typed: str) -> None:
    (text,) = as_hydra_reads([typed])
    assert OverridesParser.create().parse_override(text).input_line.replace("'", "") == typed


@pytest.mark.parametrize("typed", ["output='a b'", "workload.trace='jü'", "baselines=['silo']"])
def test_quoted_values_are_unchanged(typed: str) -> None:
    assert as_hydra_reads(as_hydra_reads([typed])) == [typed]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("silo,occ", ["silo", "occ"]),
        ("[silo, occ]", ["silo", "occ"]),
        ("silo", ["silo"]),
        ('["silo","my,table.json"]', ["silo", "my,table.json"]),
        ("silo,'my,table.json'", ["silo", "my,table.json"]),
        ("it's.json", ["it's.json"]),
        ("silo,it's.json,occ", ["silo", "it's.json", "occ"]),
        ("'it\\'s.json',silo", ["it's.json", "silo"]),
        ("jürgen.json,#1 (b).json", ["jürgen.json", "#1 (b).json"]),
        ("silo,", ["silo"]),
    ],
)
def test_a_list_is_names_with_commas(typed: str, names: list[str]) -> None:
    assert split_names(typed) == names
    for text in (as_list(f"policy={typed}"), *as_hydra_reads([f"baselines={typed}"])):
        (override,) = parse_overrides([text])
        assert override.value() == names


def test_a_file_with_commas_needs_no_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert split_names("my,table.json") == ["my", "table.json"]
    Path("my,table.json").touch()
    assert list_text("my,table.json") == "['my,table.json']"
    assert as_hydra_reads(["workload.trace=my,table.json"]) == ["workload.trace='my,table.json'"]


@pytest.mark.parametrize(
    "typed",
    [
        "output=o-${seed}.json",
        "output=a${b.json",
        "runs_dir='${seed}'",
        "workload.trace=${seed}",
        "policy=silo,${nope}.json",
        "mlflow.experiment=${oc.env:HOME}",
    ],
)
def test_a_name_cannot_contain_the_name_of_a_setting(typed: str) -> None:
    with pytest.raises(UsageError, match=r"\$\{"):
        as_hydra_reads([typed])


def test_a_number_can_refer_to_another_setting() -> None:
    assert as_hydra_reads(["workload.warehouses=${machine.cores}"]) == [
        "workload.warehouses=${machine.cores}"
    ]


@pytest.mark.parametrize("name", ["[l]", "tab\t", " x", "{a}", "a[1](b)\t", "1e3", "true"])
def test_an_existing_folder_is_taken_literally(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    for typed in (f"workload.trace={name}", f"trace={name}"):
        (override,) = parse_overrides([typed])
        assert override.value() == name
    for text in (as_list(f"policy={name}"), *as_hydra_reads([f"baselines={name}"])):
        (override,) = parse_overrides([text])
        assert override.value() == [name]


def test_several_values_of_a_text_are_a_sweep() -> None:
    (override,) = parse_overrides(["workload.trace=jürgen,b"])
    assert [unquoted(one) for one in override.sweep_string_iterator()] == ["jürgen", "b"]


def test_numbers_can_be_listed_with_commas() -> None:
    assert as_hydra_reads(["draw_cores=0,1,2"], "timeline") == ["draw_cores=[0,1,2]"]


def test_a_sweep_over_lists_is_unchanged() -> None:
    assert as_hydra_reads(["baselines=[silo],[silo,occ]"], "train") == [
        "baselines=[silo],[silo,occ]"
    ]


def test_unreadable_values_show_how_to_quote_them() -> None:
    with pytest.raises(UsageError, match="quote the value, also for the shell") as raised:
        parse_overrides(["seed=a#b"])
    assert """'seed='"'"'a#b'"'"''""" in str(raised.value)


def test_commands_for_copying_are_quoted() -> None:
    assert heddle_command("train", "resume=/a b/it's") == (
        """heddle train 'resume=/a b/it'"'"'s'"""
    )


def test_a_path_in_a_command_is_not_an_option() -> None:
    assert heddle_command("report", Path("-r/run")) == "heddle report ./-r/run"
    assert heddle_command("train", "-m", "sweep=-r/s") == "heddle train -m sweep=-r/s"
