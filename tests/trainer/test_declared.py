"""`--settings` describes each declared setting; ranges are the declared ones."""

from __future__ import annotations

import pytest
import yaml
from omegaconf import OmegaConf

from envs.option_specs import OptionSpec, engine_specs
from trainer.command.declared import WIDTH, commented, declared_settings, with_sentences
from trainer.command.errors import UsageError
from trainer.command.ranges import check_option
from trainer.command.settings import compose_config, settings_text

RANGED = [
    *((f"machine.{one.name}", one) for one in engine_specs("machine", "virtual")),
    *((f"machine.costs.{one.name}", one) for one in engine_specs("machine/costs")),
]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("train", []),
        ("train", ["machine=virtual", "experiment=quick"]),
        ("evaluate", ["workload=replay", "machine=virtual", "schedule=smf"]),
        ("evaluate", ["workload=ycsb", "schedule.unscheduled=[ycsb]"]),
        ("contest", []),
        ("report", []),
    ],
)
def test_comments_change_no_value(name: str, typed: list[str]) -> None:
    config = compose_config(name, typed)
    text = settings_text(name, typed)
    assert yaml.safe_load(text) == OmegaConf.to_container(config)
    assert max(map(len, text.splitlines())) <= WIDTH


def test_each_declared_setting_has_a_comment() -> None:
    typed = ["machine=virtual", "workload=ycsb"]
    text = " ".join(settings_text("evaluate", typed).replace("#", "").split())
    declared = declared_settings(compose_config("evaluate", typed))
    assert {"workload.theta", "machine.costs.memory_ns", "schedule.window"} <= declared.keys()
    for spec in declared.values():
        assert " ".join(spec.words.split()) in text


def test_a_value_of_several_lines_has_its_comment_above() -> None:
    config = {"workload": {"trace": "a folder " * 20, "day": None}}
    specs = [OptionSpec("trace", "text", "a folder"), OptionSpec("day", "text", "one of it")]
    text = with_sentences(OmegaConf.to_yaml(config), {f"workload.{one.name}": one for one in specs})
    assert yaml.safe_load(text)["workload"]["trace"] == config["workload"]["trace"]
    assert "\n  # a folder\n  trace: 'a folder" in text
    assert "  day: null  # one of it\n" in text


def test_a_list_has_its_comment_before_its_items() -> None:
    spec = OptionSpec("names", "names", "words")
    text = with_sentences("a:\n  names:\n  - one\n  - two\n", {"a.names": spec})
    assert text == "a:\n  names:  # words\n  - one\n  - two\n"


def test_a_long_comment_continues_on_the_next_line() -> None:
    first, second = commented("key: 1", "many words " * 12)
    assert first.startswith("key: 1  # many words")
    assert second.startswith("        # ")
    assert len(first) <= WIDTH


@pytest.mark.parametrize(("key", "spec"), RANGED, ids=[key for key, _ in RANGED])
def test_a_range_is_the_declared_one(key: str, spec: OptionSpec) -> None:
    if spec.least is None or spec.most is None:
        return
    check_option(key, spec.least, spec)
    check_option(key, spec.most, spec)
    with pytest.raises(UsageError, match=rf"^{key}=.*must (be at least|not be negative)"):
        check_option(key, spec.least - 1, spec)
    with pytest.raises(UsageError, match=rf"^{key}=.*must be at most"):
        check_option(key, spec.most * 2, spec)
    with pytest.raises(UsageError, match="must be a number"):
        check_option(key, float("nan"), spec)
