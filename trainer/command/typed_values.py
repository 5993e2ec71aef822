"""Converts values from the command line into Hydra's grammar: paths, names, lists by commas.

Hydra's grammar allows few characters outside quotes, and needs its own quotes within those of a
shell. The conversion depends on the type of the setting.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from trainer.command.errors import UsageError
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
    ScheduleConfig,
    ServeConfig,
    SwitchConfig,
    TimelineConfig,
    TrainConfig,
    VarianceConfig,
    VirtualConfig,
)
from trainer.search.registry import SEARCHES

ONE_PATH = frozenset(
    {
        "output",
        "picture",
        "state",
        "history",
        "replay",
        "resume",
        "runs_dir",
        "mlflow.uri",
        "schedule.classifier",
    }
)
"""Settings that hold one path, in which a comma is part of the path."""

TRACE = "workload.trace"
"""Holds a path, or several of a sweep; a name of digits is a path, not a number."""

MAPPINGS = frozenset({"objective.limits"})
"""Settings that map names of the user to values."""

NAMES = ONE_PATH | {TRACE}
"""Settings whose values are names, in all workloads and commands."""

COMMANDS = MappingProxyType(
    {
        "calibrate": CalibrateConfig,
        "check": CheckConfig,
        "classify": ClassifyConfig,
        "contest": ContestConfig,
        "evaluate": EvaluateConfig,
        "fidelity": FidelityConfig,
        "nightly": NightlyConfig,
        "report": ReportConfig,
        "serve": ServeConfig,
        "switch": SwitchConfig,
        "trace_record": RecordConfig,
        "timeline": TimelineConfig,
        "train": TrainConfig,
        "variance": VarianceConfig,
    }
)
"""The settings of each primary configuration."""

NULL = "null"
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<text>.*)(?P=quote)""", re.DOTALL)
_INTERPOLATION = re.compile(r"(?<!\\)\$\{")
_TEXT, _WORDS, _NUMBERS = "text", "words", "numbers"
_QUOTED_KEY = re.compile(
    r"""(?P<before>[{,]\s*)(?P<quote>['"])(?P<key>[^'"]*)(?P=quote)(?P<after>\s*:)"""
)


def as_hydra_reads(overrides: Sequence[str], command: str | None = None) -> list[str]:
    """Return the overrides in Hydra's grammar; overrides in that grammar are not changed.

    Args:
        overrides: `key=value`, from the command line.
        command: the primary configuration; None: unknown, so that a setting with a list in one
            command and a text in another may have several values.

    Raises:
        UsageError: a name or a path contains the beginning of an interpolation.
    """
    kinds = _kinds(command)
    return [_as_hydra_reads(text, kinds) for text in overrides]


def list_text(value: str) -> str:
    """Return names separated by commas as a list of texts in Hydra's grammar.

    Args:
        value: `a,b`, `[a,b]`, or the path of a file with commas in its name; a quoted name is not
            changed.
    """
    return f"[{','.join(quoted(name) for name in split_names(value))}]"


def split_names(value: str) -> list[str]:
    """Return the names in a list of `list_text`, without quotes."""
    if _is_odd_path(value):
        return [value]
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    return [name for name in map(unquoted, _parts(value)) if name]


def quoted(text: str) -> str:
    """Return a text in Hydra's quotes, for any characters."""
    return QuotedString(text, Quote.single).with_quotes()


def unquoted(text: str) -> str:
    """Return a text without the quotes around it, if there are any."""
    text = text.strip()
    if _QUOTED.fullmatch(text) and isinstance(read := _value_of(text), str):
        return read
    return text


def _as_hydra_reads(text: str, kinds: dict[str, str]) -> str:
    typed, equals, value = text.partition("=")
    key = typed.lstrip("+")
    kind = kinds.get(key)
    if not equals or typed.startswith("~") or value == NULL or "\0" in value:
        return text
    if (kind in (_TEXT, _WORDS) or key in NAMES) and _INTERPOLATION.search(value):
        raise UsageError(
            f"{text}: a name or path can't contain '${{', which begins a reference to a setting; "
            "use another name, or a symbolic link"
        )
    if key in MAPPINGS:
        # Hydra adds keys to a mapping only with `++`.
        return f"++{key}={_QUOTED_KEY.sub(_unquoted_key, value)}"
    if kind in (_WORDS, _NUMBERS):
        return f"{typed}={_listed(value, kind)}"
    if key in ONE_PATH:
        return text if _is_quoted(value) or not value else f"{typed}={quoted(value)}"
    if kind == _TEXT or key.startswith("workload."):
        return f"{typed}={_texts(value, declared=kind == _TEXT or key == TRACE)}"
    return text


def _unquoted_key(found: re.Match[str]) -> str:
    """Return a key without quotes, which Hydra's grammar does not allow around keys."""
    return f"{found['before']}{found['key']}{found['after']}"


def _listed(value: str, kind: str) -> str:
    if kind == _WORDS and _is_odd_path(value):
        return list_text(value)
    parsed = _parsed(value)
    is_list = value.startswith("[") and value.endswith("]")
    if parsed is not None and ("[" in value[1:] or "(" in value or is_list):
        return value
    return list_text(value) if kind == _WORDS else value if is_list else f"[{value}]"


def _texts(value: str, *, declared: bool) -> str:
    """Return a text, or several separated by commas, in Hydra's grammar.

    Args:
        value: from the command line.
        declared: whether the setting holds a text, so that a number is quoted.
    """
    if _is_odd_path(value):
        return quoted(value)
    parsed = _parsed(value)
    if parsed is not None:
        if declared and not parsed.is_sweep_override():
            read = parsed.value()
            return value if isinstance(read, str | list | dict) else quoted(value)
        return value
    return ",".join(quoted(unquoted(part)) for part in _parts(value))


def _parts(value: str) -> Iterator[str]:
    """Yield the parts between commas that are not within quotes.

    An apostrophe within a word is not a quote.
    """
    quote, begun = "", 0
    for at, sign in enumerate(value):
        if quote:
            ends = at + 1 == len(value) or value[at + 1 :].lstrip().startswith(",")
            if sign == quote and ends:
                quote = ""
        elif sign in "'\"" and not value[begun:at].strip():
            quote = sign
        elif sign == ",":
            yield value[begun:at]
            begun = at + 1
    yield value[begun:]


def _is_quoted(value: str) -> bool:
    return _QUOTED.fullmatch(value) is not None and _value_of(value) is not None


def _value_of(value: str) -> Any:
    parsed = _parsed(value)
    return None if parsed is None or parsed.is_sweep_override() else parsed.value()


def _parsed(value: str) -> Override | None:
    try:
        return _parser().parse_override(f"key={value}")
    except HydraException:
        return None


@functools.cache
def _parser() -> OverridesParser:
    return OverridesParser.create()


def _is_odd_path(value: str) -> bool:
    """Return whether it is an existing path that Hydra would strip or read as a list."""
    return (value != value.strip() or any(sign in value for sign in ",[{")) and _is_there(value)


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a path, or not a path
        return False


@functools.cache
def _kinds(command: str | None) -> dict[str, str]:
    """Return the types of settings by key: `_TEXT`, `_WORDS` or `_NUMBERS`; others are unknown."""
    found: dict[str, str] = {}
    for search in SEARCHES.values():
        found |= _fields(search.config, "search.")
    found |= _fields(VirtualConfig, "machine.") | _fields(ScheduleConfig, "schedule.")
    if command is not None:
        return found | _fields(COMMANDS[command], "")
    for config in COMMANDS.values():
        for key, kind in _fields(config, "").items():
            found[key] = kind if found.get(key, kind) == kind else _TEXT
    return found


def _fields(config: type, prefix: str) -> dict[str, str]:
    hints = get_type_hints(config)
    found: dict[str, str] = {}
    for field in fields(config):
        kind = _without_none(hints[field.name])
        key = f"{prefix}{field.name}"
        if is_dataclass(kind) and isinstance(kind, type):
            found |= _fields(kind, f"{key}.")
        elif kind is str:
            found[key] = _TEXT
        elif kind == list[str]:
            found[key] = _WORDS
        elif get_origin(kind) is list and get_args(kind)[0] in (int, float):
            found[key] = _NUMBERS
    return found


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    (kind, *others) = [part for part in get_args(hint) if part is not NoneType]
    return hint if others else kind
