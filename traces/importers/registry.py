"""The formats that can be imported."""

from __future__ import annotations

import importlib

from traces.importers.base import Format

FORMATS = {
    "ecommerce": "traces.importers.ecommerce:ECOMMERCE",
    "access-log": "traces.importers.access_log:ACCESS_LOG",
    "complete-journey": "traces.importers.complete_journey:COMPLETE_JOURNEY",
    "postgresql": "traces.importers.postgresql.importer:POSTGRESQL",
}
"""The modules of the formats by name. To add a format, write it and name it here."""


def find_format(name: str) -> Format:
    """Import a format, one of `FORMATS`."""
    module, _, attribute = FORMATS[name].partition(":")
    found: Format = getattr(importlib.import_module(module), attribute)
    return found
