"""Writes the engine's declarations into settings and documentation: `python -m configs.generate`.

The engine's code declares each option once: its name, default, range and sentence
(engine/model/options.h). The generator writes the defaults in this folder's files, the tables in
`docs/` and the numbers that policies share with the engine. `--check` writes nothing, and fails if
one of these files is not up to date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import engine
from envs.option_specs import OptionSpec, engine_specs, shown_number
from envs.workload import workload_specs
from trainer.command.declared import commented

ROOT = Path(__file__).resolve().parent.parent
NOTE = "# What follows is made from the declarations: python -m configs.generate"
TABLE = re.compile(
    r"<!-- options of (?P<group>\S+?)(?:=(?P<name>\w+))? -->\n.*?<!-- end of options -->",
    re.DOTALL,
)
"""The place of a table in a page: a group, and the name of a workload or a machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or check them.

    Returns:
        The exit code: 1 if `--check` finds a file that is not current.
    """
    parser = argparse.ArgumentParser(prog="python -m configs.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say which files would change")
    check = parser.parse_args(arguments).check
    stale = {path: text for path, text in generated() if path.read_text("utf-8") != text}
    for path, text in stale.items():
        name = path.relative_to(ROOT)
        if check:
            print(f"{name}: not what the engine declares; run python -m configs.generate")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and stale else 0


def generated() -> list[tuple[Path, str]]:
    """Return every file with declarations of the engine, and its up-to-date content."""
    return [*_settings_files(), *_pages(), (ROOT / "policies" / "declared.py", _policy_numbers())]


def _settings_files() -> Iterable[tuple[Path, str]]:
    folder = ROOT / "configs"
    for workload in engine.workloads():
        yield settings_file(folder / "workload" / f"{workload}.yaml", workload_specs(workload))
    for machine in engine.machines():
        yield settings_file(
            folder / "machine" / f"{machine}.yaml", engine_specs("machine", machine)
        )
    yield settings_file(folder / "machine" / "costs" / "paper.yaml", engine_specs("machine/costs"))
    yield settings_file(folder / "schedule" / "fifo.yaml", engine_specs("schedule"))


def settings_file(path: Path, specs: Sequence[OptionSpec]) -> tuple[Path, str]:
    """Return a file of settings: its own beginning, then the declared settings with defaults."""
    beginning = path.read_text(encoding="utf-8").partition(NOTE)[0].rstrip()
    assignments = [f"{spec.name}: {_yaml(spec.default)}" for spec in specs]
    width = max(map(len, assignments), default=0)
    lines = [
        line
        for assignment, spec in zip(assignments, specs, strict=True)
        for line in commented(assignment, spec.words, width)
    ]
    return path, "\n".join([beginning, "", NOTE, *lines]) + "\n"


def _yaml(value: Any) -> str:
    """Return a default as YAML."""
    if value is None:
        return "null"
    return "[" + ", ".join(value) + "]" if isinstance(value, list) else str(value)


def _pages() -> Iterable[tuple[Path, str]]:
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if TABLE.search(text):
            yield path, TABLE.sub(_table, text)


def _table(found: re.Match[str]) -> str:
    """Return a table of options, between its marks."""
    group, name = found["group"], found["name"] or ""
    specs = workload_specs(name) if group == "workload" else engine_specs(group, name)
    prefix = group.replace("/", ".")
    rows = [_row(f"{prefix}.{spec.name}", spec) for spec in specs]
    mark = found[0].partition("\n")[0]
    head = "| Setting | Default | Values | What it is |\n|---|---|---|---|"
    return "\n".join([mark, head, *rows, "<!-- end of options -->"])


def _row(key: str, spec: OptionSpec) -> str:
    default = _yaml(spec.default)
    if isinstance(spec.default, int | float):
        default = shown_number(spec.default)
    values = ", ".join(f"`{choice}`" for choice in spec.choices) or spec.allowed
    return f"| `{key}` | `{default}` | {values} | {spec.sentence} |"


def _policy_numbers() -> str:
    """Return the module of the numbers that policies share with the engine."""
    defaults = {
        spec.name: spec.default
        for spec in engine_specs("schedule")
        if spec.default is not None and not isinstance(spec.default, list)
    }
    return f'''"""The values and defaults of policies that the engine declares.

`python -m configs.generate` writes this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ALPHAS: tuple[float, ...] = (
{_items(engine.backoff_alphas)}
)

INITIAL_US: tuple[float, ...] = (
{_items(engine.backoff_initials_us)}
)

SCHEDULE_DEFAULTS: Mapping[str, str | int | float] = MappingProxyType(
    {{
{_entries(defaults)}
    }}
)
"""The engine's defaults of the fields of a schedule."""
'''


def _items(values: Iterable[float]) -> str:
    return "\n".join(f"    {value!r}," for value in values)


def _entries(values: dict[str, Any]) -> str:
    return "\n".join(
        f"        {json.dumps(key)}: {json.dumps(value)}," for key, value in values.items()
    )


if __name__ == "__main__":
    sys.exit(main())
