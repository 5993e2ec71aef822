"""Comments behind settings that the engine declares: what each does, and its range."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from omegaconf import DictConfig

from envs.option_specs import OptionSpec, engine_specs
from envs.workload import workload_specs

WIDTH = 100
"""Characters of a line; a longer comment continues on the next lines."""

NARROWEST = 40
"""The least width of a comment, in characters."""

ASSIGNMENT = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<value>.*)")


def declared_settings(config: DictConfig) -> dict[str, OptionSpec]:
    """Return the declarations of a configuration's settings, by dotted key.

    Raises:
        ImportError: the engine is not built.
        ValueError: the engine has no such workload or machine.
    """
    found: dict[str, OptionSpec] = {}
    if workload := config.get("workload"):
        found |= _keyed("workload", workload_specs(workload["name"]))
    if machine := config.get("machine"):
        found |= _keyed("machine", engine_specs("machine", machine["kind"]))
        if "costs" in machine:
            found |= _keyed("machine.costs", engine_specs("machine/costs"))
    if "schedule" in config:
        found |= _keyed("schedule", engine_specs("schedule"))
    return found


def with_sentences(text: str, declared: Mapping[str, OptionSpec]) -> str:
    """Return settings as YAML, with a comment behind each declared one.

    Args:
        text: the settings, nested by two spaces.
        declared: by dotted key.
    """
    lines, path = text.splitlines(), list[str]()
    written: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        spec = None
        if found := ASSIGNMENT.fullmatch(line):
            path = [*path[: len(found["indent"]) // 2], found["key"]]
            spec = declared.get(".".join(path))
        # A value of several lines can't have a comment behind its first line.
        continues = _indent(following) > _indent(line)
        if spec is None:
            written.append(line)
        elif continues:
            written += [*_comment(spec.words, _indent(line)), line]
        else:
            written += commented(line, spec.words)
    return "".join(f"{line}\n" for line in written)


def commented(line: str, comment: str, width: int = 0) -> list[str]:
    """Return a line of YAML with a comment behind it, on several lines if it is long.

    Args:
        line: an assignment.
        comment: its comment.
        width: of the widest line of the file, behind which the comments begin.
    """
    column = max(width, len(line)) + 2
    first, *others = _comment(comment, column)
    return [f"{line:<{column}}{first.lstrip()}", *others]


def _comment(comment: str, column: int) -> list[str]:
    """Return the lines of a comment that begins at a column."""
    wrapped = textwrap.wrap(comment, max(WIDTH - column - 2, NARROWEST))
    return [f"{' ' * column}# {part}" for part in wrapped]


def _keyed(prefix: str, specs: Iterable[OptionSpec]) -> dict[str, Any]:
    return {f"{prefix}.{spec.name}": spec for spec in specs}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
