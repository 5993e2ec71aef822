"""Composes checked settings from overrides (`key=value …`), with errors that name the cure."""

from __future__ import annotations

import copy
import difflib
import functools
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hydra import compose, initialize_config_module
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trainer.command.costs import KEY, with_costs_files
from trainer.command.declared import declared_settings, with_sentences
from trainer.command.errors import UsageError
from trainer.command.groups import CONFIGS, choices_with, group_choices
from trainer.command.ranges import check_ranges
from trainer.command.typed_values import MAPPINGS, as_hydra_reads, quoted
from trainer.config import (
    CalibrateConfig,
    CheckConfig,
    ClassifyConfig,
    ContestConfig,
    EvaluateConfig,
    FidelityConfig,
    NightlyConfig,
    RecordConfig,
    ReportConfig,
    ServeConfig,
    SwitchConfig,
    TimelineConfig,
    TrainConfig,
    VarianceConfig,
    register_schemas,
)
from trainer.renamed import RENAMED
from trainer.repeats import leave_out_repeats
from trainer.scenario import GROUPS
from trainer.search import register_searches

Settings = TypeVar(
    "Settings",
    TrainConfig,
    EvaluateConfig,
    CalibrateConfig,
    CheckConfig,
    ClassifyConfig,
    ContestConfig,
    FidelityConfig,
    TimelineConfig,
    VarianceConfig,
    NightlyConfig,
    ServeConfig,
    SwitchConfig,
    RecordConfig,
    ReportConfig,
)

HYDRA = "hydra"
NO_NUMBER = (ValueError, OverflowError)
"""Python's errors for a text that is not a number, and for a number that is too long."""
LONGEST = 200
"""Characters of an override that a message repeats."""
SWEPT_MAX = 10_000
"""The most values of one setting in a sweep: each is a run."""
OPTIONAL = ("experiment", "case")
"""The groups that may be left empty, with `null`."""
FIXED = {
    "nightly": ("workload",),  # that of a trace
    "serve": ("machine",),
    "trace_record": ("machine",),
    "calibrate": ("machine",),
    "fidelity": ("machine",),
}
"""Groups of which a command does not take every choice, by its configuration."""
SEVERAL = re.compile(r"\+*(?P<key>[\w./]+)=\[?(?P<values>[^][(){},]+(,[^][(){},]+)+)\]?")
"""An override with several values."""


def compose_settings(name: str, overrides: Sequence[str], kind: type[Settings]) -> Settings:
    """Compose a configuration and check it.

    Args:
        name: of the primary configuration, such as `train`.
        overrides: a list of `key=value`.
        kind: its dataclass.

    Raises:
        UsageError: a key is unknown, a value has the wrong type, a choice does not exist.
    """
    return to_settings(compose_config(name, overrides), kind)


def to_settings(config: DictConfig, kind: type[Settings]) -> Settings:
    """Return a composed configuration as its dataclass, with ranges checked.

    Raises:
        UsageError: a value is missing or can't be resolved.
    """
    try:
        settings = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:
        raise UsageError(_first_line(error)) from error
    assert isinstance(settings, kind)
    check_ranges(settings)
    leave_out_repeats(settings)
    return settings


def settings_text(name: str, overrides: Sequence[str]) -> str:
    """Return all settings as YAML; those that the engine declares have comments."""
    config = compose_config(name, overrides)
    return with_sentences(OmegaConf.to_yaml(config), declared_settings(config))


def compose_config(name: str, overrides: Sequence[str]) -> DictConfig:
    """Return the composed configuration, read-only, without converting it to a dataclass.

    See `compose_settings`.
    """
    return _config_of(name, tuple(with_costs_files(overrides)), tuple(overrides))


@functools.lru_cache(maxsize=64)  # a resumed or compared run is composed several times
def _config_of(name: str, texts: tuple[str, ...], overrides: tuple[str, ...]) -> DictConfig:
    """Return the configuration composed of `texts`, which stand for the typed overrides."""
    register()
    parsed = _chosen(parse_overrides(texts, name))
    for override in parsed:
        if override.is_sweep_override():
            cure = "; add -m for one run per value" if name == "train" else ""
            typed = str(override.input_line)
            raise UsageError(f"{typed}: takes one value{cure}{_one_table(name, typed)}")
    with _hydra():
        groups = group_choices()
        _check_groups(name, parsed, groups)
        defaults = _compose(name, [str(o.input_line) for o in parsed if o.key_or_group in groups])
        _check_keys(name, parsed, defaults, groups)
        if any(_is_of_hydra(override) for override in parsed):
            config = _compose(name, [str(o.input_line) for o in parsed])
        else:
            values = [override for override in parsed if override.key_or_group not in groups]
            config = _with_values(name, defaults, values)
    try:
        _check_free_types(name, defaults, config)
    except OmegaConfBaseException as error:  # such as ${...} of an unknown setting
        raise UsageError(_explain(name, error, overrides)) from error
    return config


@functools.cache
def register() -> None:
    """Register all settings' types with Hydra, for the life of the process."""
    register_schemas()
    register_searches()


def _chosen(parsed: Sequence[Override]) -> list[Override]:
    """Return the overrides without empty groups: Hydra refuses null, even if it is the default."""
    return [
        override
        for override in parsed
        if override.key_or_group not in OPTIONAL
        or override.is_delete()
        or override.is_sweep_override()
        or override.value() is not None
    ]


def first_of_sweep(overrides: Sequence[str]) -> list[str]:
    """Return the overrides of a sweep's first run: the first value of each setting.

    Raises:
        UsageError: the values of a setting are not listed.
    """
    first = []
    for override in parse_overrides(overrides):
        if not override.is_sweep_override():
            first.append(str(override.input_line))
            continue
        if not override.is_discrete_sweep():
            raise UsageError(f"{override.input_line}: list the values, such as seed=1,2,3")
        values = swept_values(override, SWEPT_MAX)
        if not values:
            raise UsageError(f"{override.input_line}: has no value")
        first.append(f"{override.key_or_group}={values[0]}")
    return first


def swept_values(override: Override, most: int) -> list[str]:
    """Return the distinct values of a swept setting as texts, in order.

    Args:
        override: an override with several values.
        most: the most values allowed.

    Raises:
        UsageError: there are more, or the values can't be listed.
    """
    try:
        found = list(itertools.islice(override.sweep_string_iterator(), most + 1))
    except (HydraException, *NO_NUMBER) as error:  # such as a range whose step is 0
        raise UsageError(f"{override.input_line}: {_first_line(error)}") from error
    if len(found) > most:
        raise UsageError(f"{override.input_line}: has more than {most} values; leave some out")
    return list(dict.fromkeys(found))


def swept_by_config(name: str, overrides: Sequence[str]) -> dict[str, str]:
    """Return the settings that the configuration sweeps, such as by an experiment, with values.

    Args:
        name: of the primary configuration.
        overrides: a list of `key=value`, with one value each.

    Raises:
        UsageError: they can't be composed.
    """
    compose_config(name, overrides)  # raises the better error if they are wrong
    with _hydra():
        try:
            chosen = _chosen(parse_overrides(with_costs_files(overrides), name))
            typed = [str(override.input_line) for override in chosen]
            config = compose(name, typed, return_hydra_config=True)
        except (ConfigCompositionException, OmegaConfBaseException, *NO_NUMBER) as error:
            raise UsageError(_explain(name, error, overrides)) from error
    params = config.hydra.sweeper.params or {}
    return {str(key): str(value).strip() for key, value in params.items()}


def merge_overrides(earlier: Sequence[str], later: Sequence[str]) -> list[str]:
    """Return all overrides, in which a later value of a key replaces an earlier one."""
    merged: dict[str, str] = {}
    for override in parse_overrides([*earlier, *later]):
        merged[override.get_key_element().lstrip("+")] = str(override.input_line)
    return list(merged.values())


def value_of(overrides: Sequence[str], key: str) -> str | None:
    """Return the last value of a key as text; None if no override has it."""
    values = [o for o in parse_overrides(overrides) if o.key_or_group == key]
    if values and values[-1].is_sweep_override():
        raise UsageError(f"{values[-1].input_line}: takes one value")
    if not values:
        return None
    value = values[-1].value()
    return value if isinstance(value, str) else values[-1].get_value_element_as_str()


def parse_overrides(overrides: Sequence[str], name: str | None = None) -> list[Override]:
    """Parse overrides.

    Args:
        overrides: a list of `key=value`.
        name: of the primary configuration, if it is known.

    Raises:
        UsageError: a text is not `key=value`.
    """
    parser = OverridesParser.create()
    parsed = []
    for text in as_hydra_reads(overrides, name):
        if "=" not in text and not text.startswith("~"):
            raise UsageError(f"{text}: is not a setting; write key=value, such as seed=2")
        try:
            parsed.append(parser.parse_override(text))
        except HydraException as error:
            raise UsageError(
                f"{text}: can't be read: {_first_line(error)}; quote the value, also for the "
                f"shell: {shlex.quote(_with_quotes(text))}"
            ) from error
    return parsed


def _with_quotes(text: str) -> str:
    key, _, value = text.partition("=")
    return f"{key}={quoted(value)}"


def leaves(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting of a configuration as (dotted key, value), in order."""
    for key in config:
        value = None if OmegaConf.is_missing(config, key) else config[key]
        if isinstance(value, DictConfig) and f"{prefix}{key}" not in MAPPINGS:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


class _hydra:  # noqa: N801  (a context manager used as a function)
    """A context in which Hydra's global state is set up for composing; restores it afterwards."""

    def __enter__(self) -> None:
        self._before = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        self._context = initialize_config_module(CONFIGS, version_base="1.3")
        self._context.__enter__()

    def __exit__(self, *error: object) -> None:
        GlobalHydra.instance().clear()
        GlobalHydra.instance().hydra = self._before


def _check_groups(
    name: str, parsed: Sequence[Override], groups: Mapping[str, Sequence[str]]
) -> None:
    for override in parsed:
        choices = groups.get(override.key_or_group)
        if choices is None or override.is_delete() or override.is_sweep_override():
            continue
        value = override.value()
        if value not in choices:
            raise UsageError(
                f"{override.input_line}: there is no such {override.key_or_group}"
                f"{_did_you_mean(str(value), choices)}; there are {', '.join(sorted(choices))}"
                f"{_one_table(name, str(override.input_line))}"
            )


def _check_keys(
    name: str, parsed: Sequence[Override], defaults: DictConfig, groups: Mapping[str, Sequence[str]]
) -> None:
    known = dict(leaves(defaults))
    chosen = {
        override.key_or_group: override.value()
        for override in parsed
        if override.key_or_group in groups
    }
    for override in parsed:
        key = override.key_or_group
        if _is_of_hydra(override):
            continue
        if key == "machine.kind":
            raise UsageError(
                f"{override.input_line}: can't be set; choose the machine with machine=, such as "
                "machine=virtual"
            )
        if override.is_delete():
            raise UsageError(f"{override.input_line}: settings can't be removed; try {key}=null")
        if key in known or key in groups:
            continue
        if RENAMED.get(key) in known:
            raise UsageError(
                f"{override.input_line}: {key} was renamed to {RENAMED[key]}; set {RENAMED[key]}=…"
            )
        if any(name.startswith(f"{key}.") for name in known):
            inner = [name for name in known if name.startswith(f"{key}.")]
            raise UsageError(
                f"{override.input_line}: {key} is a group of settings; set one of "
                f"{', '.join(inner)}"
            )
        raise UsageError(
            f"{override.input_line}: there is no setting {key}"
            f"{_of_another(name, key, known, chosen) or _did_you_mean(key, [*known, *groups])}\n"
            f"{_list_settings(known, groups)}"
        )


def _of_another(name: str, key: str, known: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """Return, in words, which other choices of the key's group have the setting.

    Args:
        name: of the primary configuration.
        key: the setting.
        known: the settings of the present choices.
        chosen: the choices of the overrides, by group.
    """
    group, _, setting = key.partition(".")
    takes = bool(setting) and any(other.startswith(f"{group}.") for other in known)
    having = choices_with(group, setting) if takes and group not in FIXED.get(name, ()) else []
    if not having:
        return ""
    here = chosen.get(group, known.get(f"{group}.name", known.get(f"{group}.kind")))
    *others, last = having
    words = f"{', '.join(others)} or {last}" if others else last
    return f"{f' with {group}={here}' if here else ''}; it is available with {group}={words}"


def _check_free_types(name: str, defaults: DictConfig, config: DictConfig) -> None:
    """Refuse a workload option whose type differs from that of its default."""
    after = dict(leaves(config))
    for key, before in leaves(defaults):
        value = after.get(key)
        if not key.startswith("workload.") or before is None:
            continue
        if value is None and key in after:
            continue
        whole_for_real = isinstance(before, float) and type(value) is int
        if type(value) is not type(before) and not whole_for_real:
            shown = value if key in after else "{...}"
            fitting = f"[{shown}]" if isinstance(before, ListConfig) else before
            raise UsageError(
                f"{key}={shown}: must be {_type_words(before)}, such as {key}={fitting}"
                f"{_one_table(name, f'{key}={shown}')}"
            )


def _compose(name: str, overrides: Sequence[str]) -> DictConfig:
    try:
        return _composed(name, tuple(overrides))
    except (ConfigCompositionException, OmegaConfBaseException, *NO_NUMBER) as error:
        raise UsageError(_explain(name, error, overrides)) from error


def _with_values(name: str, defaults: DictConfig, values: Sequence[Override]) -> DictConfig:
    """Return a copy of a configuration with values set, read-only.

    Hydra composes the chosen groups again for each value, which takes ten times as long.

    Args:
        name: of the primary configuration.
        defaults: composed of the overrides that choose groups.
        values: the other overrides.
    """
    config = copy.deepcopy(defaults)
    OmegaConf.set_readonly(config, None)
    try:
        ConfigLoaderImpl._apply_overrides_to_config(list(values), config)
    except (ConfigCompositionException, OmegaConfBaseException, *NO_NUMBER) as error:
        typed = [str(override.input_line) for override in values]
        raise UsageError(_explain(name, error, typed)) from error
    OmegaConf.set_readonly(config, True)
    return config


def _is_of_hydra(override: Override) -> bool:
    """Return whether an override sets Hydra's own settings, which a composed one lacks."""
    return bool(re.split("[./]", str(override.key_or_group))[0] == HYDRA)


@functools.lru_cache(maxsize=64)  # most requests choose the same groups as an earlier one
def _composed(name: str, overrides: tuple[str, ...]) -> DictConfig:
    """Return the configuration that Hydra composes, read-only."""
    config = compose(config_name=name, overrides=list(overrides))
    OmegaConf.set_readonly(config, True)
    return config


def _explain(name: str, error: BaseException, overrides: Sequence[str]) -> str:
    """Return a message from Hydra's error, which names the override, and its cause."""
    costs = next((o for o in overrides if o.lstrip("+").startswith(f"{KEY}=")), None)
    if costs is not None and f"'{KEY}'" in str(error):
        return f"{costs}: only virtual cores have costs; add machine=virtual"
    if missing := re.search(r"Could not override '(\S+)'", str(error)):
        typed = next((o for o in overrides if o.startswith(f"{missing[1]}=")), missing[1])
        experiment = next((o for o in overrides if o.startswith("experiment=")), None)
        if typed == missing[1] and experiment is not None:
            return (
                f"{experiment[:LONGEST]}: sets {missing[1]}, which this command has not; it is an "
                "experiment of another command"
            )
        return f"{typed[:LONGEST]}: this command has no {missing[1]}; --settings lists its settings"
    cause = error.__cause__ or error
    found = re.search(r"full_key: (\S+)", str(cause))  # also in an error of Python's own
    key = getattr(cause, "full_key", None) or (found[1] if found else None)
    text = next((o for o in overrides if key and o.lstrip("+").startswith(f"{key}=")), key)
    if text == key and (merging := re.search(r"merging override (\S+)", str(error))):
        text = merging[1]  # the key of a list's element is only its number
    reason = _first_line(cause)
    return f"{text[:LONGEST]}: {reason}{_one_table(name, text)}" if text else reason


def _one_table(name: str, typed: str) -> str:
    """Return a hint how to train one table for several values of a setting; empty if none fits.

    Args:
        name: of the primary configuration; only `train` has hints.
        typed: the override, such as `key=value,value` or `key=[value,value]`.
    """
    found = SEVERAL.fullmatch(typed[:LONGEST].replace(" ", ""))
    if name != "train" or found is None or re.split("[./]", found["key"])[0] not in GROUPS:
        return ""
    key, values = found["key"], found["values"]
    if key == "machine":  # a training uses one kind of machine
        return ""
    words = "for one table for all of them"
    if key == "workload":  # no table fits two workloads
        key, values, words = "workload.warehouses", "1,4", "for one table for settings of one"
    return f"; {words}: 'robust.scenarios=[{{{key}:[{values}]}}]'"


def _list_settings(known: dict[str, Any], groups: Mapping[str, Sequence[str]]) -> str:
    lines = ["Groups:"]
    lines += [f"  {group}={'|'.join(sorted(choices))}" for group, choices in groups.items()]
    lines.append("Settings and their present values:")
    lines += [f"  {key}={'null' if value is None else value}" for key, value in known.items()]
    return "\n".join(lines)


def _did_you_mean(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    if not close:
        last = name.rpartition(".")[2]
        close = [other for other in names if other.rpartition(".")[2] == last][:1]
    return f"; did you mean {close[0]}?" if close else ""


def _type_words(value: Any) -> str:
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a word",
        ListConfig: "a list",
    }
    return words.get(type(value), type(value).__name__)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
