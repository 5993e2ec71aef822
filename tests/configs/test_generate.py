"""Generated settings files, pages and policies match the engine's declarations."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from configs import generate
from envs.option_specs import OptionSpec

COUNT = OptionSpec("accounts", "integer", "accounts of the bank", 100, 2, 1000)
WORD = OptionSpec("skew", "choice", "how unequal", "flat", choices=("flat", "steep"))


@pytest.mark.parametrize(
    ("path", "text"),
    generate.generated(),
    ids=[str(path.relative_to(generate.ROOT)) for path, _ in generate.generated()],
)
def test_every_file_is_up_to_date(path: Path, text: str) -> None:
    current = path.read_text(encoding="utf-8")
    assert current == text, "the engine declares something else: run python -m configs.generate"


def test_settings_pages_and_policies_are_generated() -> None:
    names = {str(path.relative_to(generate.ROOT)) for path, _ in generate.generated()}
    assert {"configs/workload/ycsb.yaml", "configs/machine/costs/paper.yaml"} <= names
    assert {"docs/admission.md", "docs/options.md", "policies/declared.py"} <= names


def test_a_new_workload_needs_only_its_name(tmp_path: Path) -> None:
    path = tmp_path / "bank.yaml"
    path.write_text("# A bank.\nname: bank\n")
    _, text = generate.settings_file(path, [COUNT, WORD])
    assert text.startswith("# A bank.\nname: bank\n\n")
    assert yaml.safe_load(text) == {"name": "bank", "accounts": 100, "skew": "flat"}
    assert "accounts: 100  # accounts of the bank (2 to 1000)\n" in text
    path.write_text(text)
    assert generate.settings_file(path, [COUNT, WORD]) == (path, text)


@pytest.mark.parametrize(
    ("default", "written"),
    [(None, "null"), (3, "3"), (2.0, "2.0"), ("word", "word"), ([], "[]"), (["a", "b"], "[a, b]")],
)
def test_a_default_is_written_as_yaml_reads_it(
    tmp_path: Path, default: object, written: str
) -> None:
    path = tmp_path / "one.yaml"
    path.write_text("name: one\n")
    _, text = generate.settings_file(path, [OptionSpec("key", "text", "a key", default)])
    assert f"key: {written}  # a key" in text
    assert yaml.safe_load(text)["key"] == default


def test_a_stale_file_is_named_and_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.md"
    path.write_text("old")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "generated", lambda: [(path, "new")])
    assert generate.main(["--check"]) == 1
    assert path.read_text() == "old"
    assert "page.md: not what the engine declares; run python -m" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert path.read_text() == "new"
    assert generate.main(["--check"]) == 0
