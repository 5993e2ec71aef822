"""Names of any characters in a page."""

from __future__ import annotations

from jinja2 import Environment

from trainer.report.page import _without_controls


def test_names_are_not_interpreted_in_a_page() -> None:
    environment = Environment(autoescape=True, finalize=_without_controls)
    page = environment.from_string("{{ name }}|{{ drawn | safe }}|{{ number }}").render(
        name="<b>&\x1b[2J\x00\nnext", drawn="<svg>\n</svg>", number=3
    )
    assert page == "&lt;b&gt;&amp;\\x1b[2J\\x00\nnext|<svg>\n</svg>|3"
