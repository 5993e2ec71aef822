"""A Sphinx extension for the documentation site, so that the pages stay plain Markdown.

- The lists of docs/index.md become the navigation, in their order.
- Each module of `api_modules` gets a page, which autodoc fills from its docstrings.
- A link to a file that is not a page becomes a link to the API page of the module, to a copy of the
  file in the site, or, if `source_base` is set, to the file below that address.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^## (.+)$")
ITEM = re.compile(r"^- \[([^]]+)\]\(([\w./-]+)\.md\)")


def toctree(pages: list[str], caption: str = "") -> str:
    """Return a hidden list of pages, which only the navigation shows."""
    title = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n" + title + "\n" + "\n".join(pages) + "\n```\n"


def navigation(index: str) -> str:
    """Return the navigation, which has the pages linked below each heading of the index."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    seen = set()
    for line in index.splitlines():
        if heading := HEADING.match(line):
            sections.append((heading[1], []))
        elif (item := ITEM.match(line)) and item[2] not in seen:
            seen.add(item[2])
            sections[-1][1].append(f"{item[1]} <{item[2]}>")
    return "".join(toctree(pages, caption) for caption, pages in sections if pages)


def add_navigation(app: Sphinx, page: str, text: list[str]) -> None:
    """Append the navigation to the pages that have subpages."""
    if page == "docs/index":
        text[0] += navigation(text[0])
    elif page == "docs/notebooks":
        notebooks = re.findall(r"\]\((\.\./notebooks/[\w-]+)\.ipynb\)", text[0])
        text[0] += toctree(list(dict.fromkeys(notebooks)))
    elif page == "docs/api":
        text[0] += toctree([f"../api/{module}" for module in app.config.api_modules])


def write_api_pages(app: Sphinx) -> None:
    """Write a page for each module, with a heading and a directive that autodoc fills."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for module in app.config.api_modules:
        text = f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n"
        (folder / f"{module}.rst").write_text(text, encoding="utf-8")


def keep_first_line(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Keep Napoleon from reading the first line of an attribute as `type: description`."""
    if what in ("attribute", "data", "property") and lines:
        lines[:0] = ["..", ""]  # an empty comment


def link_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Replace links to files of the repository that are not pages."""
    page = app.env.current_document.docname
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("reftype") != "myst" or node.get("refdomain"):
            continue
        target = (ROOT / page).parent / node["reftarget"].partition("#")[0]
        path = target.resolve()
        if not path.is_relative_to(ROOT) or not path.exists() or path == ROOT:
            continue
        name = path.relative_to(ROOT).as_posix()
        link = nodes.reference("", "", *node.children, refuri=address(app, page, name))
        node.replace_self(link)


def address(app: Sphinx, page: str, name: str) -> str:
    """Return the address of a file of the repository, relative to a page."""
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if name.endswith(".py") and module in app.config.api_modules:
        return app.builder.get_relative_uri(page, f"api/{module}")
    if app.config.source_base:
        return app.config.source_base + name
    metadata = app.env.metadata[page]
    metadata["sources"] = [*metadata.get("sources", []), name]
    return app.builder.get_relative_uri(page, f"source/{name}")


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file that a page links to."""
    named = {name for kept in app.env.metadata.values() for name in kept.get("sources", [])}
    for name in sorted(named):
        path = ROOT / name
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        body = f"<h1>{html.escape(name)}</h1>"
        for file in files:
            if len(files) > 1:
                body += f"<h2>{html.escape(file.name)}</h2>"
            language = {".h": "cpp", ".yaml": "yaml", ".json": "json", ".py": "python"}
            body += app.builder.highlighter.highlight_block(
                file.read_text(encoding="utf-8"), language.get(file.suffix, "text")
            )
        yield f"source/{name}", {"title": name, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("source_base", "", "env")
    app.add_config_value("api_modules", [], "env")
    app.connect("builder-inited", write_api_pages)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", keep_first_line, priority=400)  # before Napoleon
    app.connect("doctree-read", link_sources)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
