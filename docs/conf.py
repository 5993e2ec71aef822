"""Settings of the documentation site, which `make docs` builds with Sphinx.

The pages are the Markdown files of docs/ as they are. `docs/site/` has what Sphinx lacks: the order
of the pages, links to source files, and one page of API reference for each module below.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

_project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
project = "Heddle"
author = _project["authors"][0]["name"]
project_copyright = author
release = _project["version"]

extensions = [
    "myst_nb",  # Markdown and notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "heddle_site",
]
root_doc = "docs/index"
suppress_warnings = [
    # Code blocks may mix a language with the output of a program.
    "misc.highlighting_failure",
    # Several classes have an attribute of the same name, and docstrings name it without the class.
    "ref.python",
]

# Links to source files: to a copy in the site, or to this address followed by the path. A build may
# set it: make docs ARGS="-D source_base=https://host/project/blob/main/"
source_base = _project.get("urls", {}).get("Source", "")

# Markdown
nb_execution_mode = "off"  # tests/notebooks runs the notebooks
myst_heading_anchors = 4  # the anchors that a Git host gives to headings
highlight_language = "text"  # of code blocks without a language
smartquotes_action = "D"  # dashes only

# API reference: one page each, in this order. `docs/api.md` describes them.
api_modules = [
    "engine",
    "heddle_client",
    "heddle_client.server.status",
    "policies",
    "policies.in_words",
    "envs",
    "envs.policy_env",
    "envs.vector_policy_env",
    "envs.timeline",
    "envs.recorded_events",
    "envs.history",
    "traces.importing",
    "traces.reader",
    "traces.writer",
    "traces.manifest",
    "traces.trace_files",
    "traces.keys",
    "traces.errors",
    "traces.importers.base",
    "trainer.in_python",
    "trainer.search.base",
    "trainer.search.registry",
    "trainer.search.space",
    "trainer.search.known",
    "trainer.search.limits",
    "trainer.search.random_state",
    "trainer.search.warm_start",
    "trainer.search.guided",
    "trainer.search.evolution",
    "trainer.search.reduction",
    "trainer.search.policy_gradient",
    "trainer.search.random",
]
autodoc_default_options = {"members": True}
napoleon_use_ivar = True  # attributes as a list, not a heading each
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
toc_object_entries = False  # they would triple the time of a build
default_role = "code"  # docstrings put names between single backticks

# Layout
html_theme = "furo"
html_title = f"Heddle {release}"
html_static_path = ["site/static"]
html_css_files = ["heddle.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
