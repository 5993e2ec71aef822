"""The documentation site builds without a warning, and is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "docs" / "site" / "build.py"
LINK = re.compile(r'(?:href|src)="([^"#]*)(?:#([^"]*))?"')
ANCHOR = re.compile(r'\bid="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    done = subprocess.run(
        [sys.executable, BUILD, "--output", folder, "-j", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{folder}/index.html" in done.stdout
    return folder


def test_every_page_exists(site: Path) -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("notebooks/*.ipynb")]
    made = [site / page.relative_to(ROOT).with_suffix(".html") for page in pages]
    assert len(made) > 40
    assert [page for page in made if not page.is_file()] == []


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("engine", "engine.Session.run"),
        ("heddle_client", "heddle_client.Scheduler.transaction"),
        ("policies", "policies.Encoding"),
        ("envs", "envs.PolicyWatcher"),
        ("traces.importing", "traces.importing.import_log"),
        ("trainer.in_python", "trainer.in_python.train"),
        ("trainer.search.base", "trainer.search.base.Search.ask"),
    ],
)
def test_the_reference_has_an_entry(site: Path, page: str, name: str) -> None:
    assert f'id="{name}"' in (site / "api" / f"{page}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["engine", "policies", "envs"])
def test_a_colon_in_a_property_is_no_type(site: Path, page: str) -> None:
    text = (site / "api" / f"{page}.html").read_text(encoding="utf-8")
    assert re.findall(r"<dt[^>]*>Type", text) == []


def test_a_page_can_be_searched_for(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert "docs/start-postgresql" in index
    assert "api/trainer.search.base" in index
    assert (site / "search.html").is_file()


def test_consecutive_pages_link_to_each_other(site: Path) -> None:
    index = (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'<a class="next-page" href="start-postgresql.html"', index)
    page = (site / "docs" / "start-cpp.html").read_text(encoding="utf-8")
    assert re.search(r'<a class="prev-page" href="contention-in-postgresql.html"', page)
    assert re.search(r'<a class="next-page" href="start-research.html"', page)


def test_modules_link_to_their_reference(site: Path) -> None:
    page = (site / "docs" / "api.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="\.\./api/([\w.]+)\.html"', page))
    assert links >= {path.stem for path in (site / "api").glob("*.html")}
    assert "../source/" not in page


def test_sources_are_in_the_site(site: Path) -> None:
    page = (site / "docs" / "add-a-protocol.html").read_text(encoding="utf-8")
    assert 'href="../source/engine/protocol/silo.h.html"' in page
    assert "struct Silo" in re.sub(
        "<[^>]+>",
        "",
        (site / "source" / "engine" / "protocol" / "silo.h.html").read_text(encoding="utf-8"),
    )


def test_every_link_has_a_target(site: Path) -> None:
    """Links within the site, to pages, pictures and headings."""
    anchors: dict[Path, set[str]] = {}
    broken = []
    for page in sorted(site.rglob("*.html")):
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", target):
                continue
            path = (page.parent / unquote(target.partition("?")[0])).resolve() if target else page
            if path not in anchors:
                known = path.is_file() and path.suffix == ".html"
                text = path.read_text(encoding="utf-8") if known else ""
                anchors[path] = {"", *ANCHOR.findall(text)}
            if not path.is_file() or (path.suffix == ".html" and anchor not in anchors[path]):
                broken.append(f"{page.relative_to(site)}: {target}#{anchor}")
    assert broken == []
