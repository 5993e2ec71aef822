"""The whole project: modules import, the command runs, links of pages resolve."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["configs", "engine", "envs", "heddle_client", "policies", "traces", "trainer"]
LARGEST_FILE_BYTES = 1 << 20
# `[text](target)`, not an image of another site and not code.
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def module_names() -> list[str]:
    """Return the modules of all packages."""
    names = []
    for package in PACKAGES:
        names.append(package)
        found = pkgutil.walk_packages([str(ROOT / package)], prefix=f"{package}.")
        names += [module.name for module in found]
    return sorted(set(names))


def pages() -> list[Path]:
    """Return the Markdown pages of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def tracked_files() -> list[Path]:
    """Return tracked files and new files that git does not ignore; none outside a git checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    names = [name for name in listing.stdout.decode().split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", module_names())
def test_every_module_imports(name: str) -> None:
    importlib.import_module(name)


def test_importing_the_packages_loads_no_slow_library() -> None:
    """Slow libraries are imported where they are used, so that `heddle --help` is quick."""
    heavy = ("mlflow", "ray", "torch", "matplotlib")
    code = (
        f"import sys, {', '.join(PACKAGES)}, trainer.command.main; "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["", "train", "evaluate", "policy", "trace"])
def test_the_command_explains_itself(command: str) -> None:
    heddle = Path(sys.executable).with_name("heddle")
    done = subprocess.run(
        [heddle, *command.split(), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: heddle" in done.stdout


def test_no_file_is_large() -> None:
    large = {
        str(path.relative_to(ROOT)): path.stat().st_size
        for path in tracked_files()
        if path.stat().st_size > LARGEST_FILE_BYTES
    }
    assert large == {}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue  # a link to another site
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if not linked.exists() or (
            anchor and linked.suffix == ".md" and anchor not in anchors(linked)
        ):
            broken.append(target)
    assert broken == []


def test_the_changelog_has_an_unreleased_section() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## [Unreleased]\n" in changelog


def test_constraints_contain_only_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[a-z0-9._-]+==[a-zA-Z0-9.+]+", pin)] == []
