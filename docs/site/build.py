"""Build the documentation site (`make docs`).

Sphinx reads one folder. This script copies docs/, notebooks/ and the pages at the root to it, with
the same relative paths, so that links between pages work in the repository and in the site.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("*.md", "docs/*.md", "docs/pictures/*", "notebooks/*.ipynb")
FIRST = "docs/index.html"


def build(output: Path, arguments: Sequence[str] = ()) -> int:
    """Build the site into a folder and return the exit status.

    Args:
        output: the folder.
        arguments: further arguments of sphinx-build.
    """
    pages = output.with_name(output.name + "-pages")
    shutil.rmtree(pages, ignore_errors=True)
    for page in (page for pattern in PAGES for page in ROOT.glob(pattern)):
        copy = pages / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(page, copy)  # with its time, so that Sphinx reads only changed files
    kept = output.with_name(output.name + "-doctrees")
    options = ["--fail-on-warning", "--quiet", "-j", "auto", "-d", str(kept)]
    status = build_main([*options, "-c", str(ROOT / "docs"), *arguments, str(pages), str(output)])
    if status == 0:
        (output / "index.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>Heddle</title>'
            f'<meta http-equiv="refresh" content="0; url={FIRST}"><a href="{FIRST}">Heddle</a>\n',
            encoding="utf-8",
        )
    return status


def main() -> int:
    """Build the site, print its path and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs")
    known, arguments = parser.parse_known_args()
    status = build(known.output.absolute(), arguments)
    if status == 0:
        print(f"the documentation is in {known.output / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
