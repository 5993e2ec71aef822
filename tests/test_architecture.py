"""The engine's folders include each other in one direction (docs/architecture.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ENGINE = Path(__file__).resolve().parent.parent / "engine"
# A folder may include itself and the folders of the groups before its own.
ORDER = [
    {"client"},
    {"machine"},
    {"storage"},
    {"model"},
    {"store"},
    {"protocol"},
    {"schedule", "workload"},
    {"observe"},
    {"driver"},
    {"check"},
    {"python"},
]
FREE = {"bench", "tests"}  # may include anything
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
SOURCES = ("*.h", "*.cc", "*.in")


def allowed(folder: str) -> set[str]:
    """Return the folders that a folder's files may include."""
    before: set[str] = set()
    for group in ORDER:
        if folder in group:
            return before | {folder}
        before |= group
    raise ValueError(f"engine/{folder} is not in ORDER")


def violations(engine: Path) -> list[str]:
    """Return a line for each forbidden include: file, line, include and rule."""
    found = []
    for path in sorted(path for kind in SOURCES for path in engine.rglob(kind)):
        folder = path.relative_to(engine).parts[0]
        if folder in FREE:
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            if match[1].split("/")[0] in allowed(folder):
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            found.append(
                f'engine/{path.relative_to(engine)}:{line} includes "{match[1]}", '
                f"but {folder} may include only {', '.join(sorted(allowed(folder)))}"
            )
    return found


def test_the_order_lists_every_folder() -> None:
    folders = {path.name for path in ENGINE.iterdir() if any(path.rglob("*.h"))}
    assert folders - FREE == set().union(*ORDER)


def test_includes_point_one_way() -> None:
    assert violations(ENGINE) == []


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("storage/table.h", "protocol/row.h"),
        ("schedule/batch.h", "workload/tpcc.h"),
        ("workload/tpcc.h", "schedule/batch.h"),
        ("driver/session_registry.cc.in", "check/trial.h"),
        ("driver/run.h", "neighbour.h"),
    ],
)
def test_a_forbidden_include_is_named(tmp_path: Path, file: str, include: str) -> None:
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text(f'#pragma once\n\n#include <vector>\n#include "{include}"\n', encoding="utf-8")
    (violation,) = violations(tmp_path)
    assert violation.startswith(f'engine/{file}:4 includes "{include}", but ')
    assert violation.endswith(", ".join(sorted(allowed(path.parent.name))))


def test_folders_of_earlier_groups_may_be_included(tmp_path: Path) -> None:
    path = tmp_path / "workload" / "mine.h"
    path.parent.mkdir()
    names = [
        "machine/shared.h",
        "storage/table.h",
        "model/hints.h",
        "protocol/row.h",
        "workload/x.h",
    ]
    path.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
    assert violations(tmp_path) == []
