"""The search path of a session: given by an option, and set by statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from traces.errors import TraceError
from traces.importers.postgresql.catalog import Catalog
from traces.importers.postgresql.constants import UnknownValueError, literal_text
from traces.importers.postgresql.names import DEFAULT_PATH, path_of
from traces.importers.postgresql.shapes import Shape

SearchPath = tuple[str, ...]
"""Schemas in the order in which a name is looked up in them."""

_SET = re.compile(r"set (?P<scope>session |local )?search_path (?:to|=) (?P<items>.+)")
_SET_SCHEMA = re.compile(r"set (?P<scope>session |local )?schema (?P<items>'\d+')")
_RESET = re.compile(r"reset (?:search_path|all)|discard all")
_SET_CONFIG = re.compile(
    r"\bset_config \( '?(?P<name>\d+)'? , '?(?P<value>\d+)'? , (?P<local>\w+) \)"
)
_LISTED = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s,"]+))\s*(?:,|$)')


class SearchPaths:
    """The search paths that sessions begin with.

    Args:
        given: each `schema, …` of all roles, or `role=schema, …` of one, where the database or
            the role has a setting of its own, which is not in the log.
        catalog: tells which schemas there are.

    Raises:
        TraceError: one of them is no list of schemas.
    """

    def __init__(self, given: Sequence[str], catalog: Catalog) -> None:
        self.catalog = catalog
        self._of_all: SearchPath = DEFAULT_PATH
        self._of_role: dict[str, SearchPath] = {}
        for text in given:
            role, equals, schemas = text.rpartition("=")
            path = listed(schemas)
            if not path or (equals and not role.strip()):
                raise TraceError(
                    f"--search-path {text}: must be schemas such as 'app, public', or of one role "
                    "such as 'web=app, public'"
                )
            if equals:
                self._of_role[role.strip()] = path
            else:
                self._of_all = path

    def of_role(self, role: str) -> SearchPath:
        """Of a session of a role."""
        return path_of(self._of_role.get(role, self._of_all), role, self.catalog)


@dataclass(frozen=True, slots=True)
class PathSetting:
    """A statement that sets the search path.

    Attributes:
        items: the schemas; a number is that of the slot which has one. None: what the session
            began with.
        local: whether it is for the transaction alone.
        name: the slot that says what `set_config` sets; None: it is the search path.
        slots: the shape's.
    """

    items: tuple[str | int, ...] | None
    local: bool
    name: int | None
    slots: tuple[tuple[int, ...], ...]

    def schemas(self, parts: Sequence[str], parameters: Sequence[str] | None) -> SearchPath | None:
        """What the search path becomes; None: what the session began with.

        Raises:
            LookupError: another setting is meant, or the value is not in the log.
        """
        if self.items is None:
            return None
        if self.name is not None:
            if self._text(self.name, parts, parameters).lower() != "search_path":
                raise LookupError
            (value,) = self.items
            return listed(self._text(int(value), parts, parameters))
        return tuple(
            item if isinstance(item, str) else self._text(item, parts, parameters)
            for item in self.items
        )

    def _text(self, slot: int, parts: Sequence[str], parameters: Sequence[str] | None) -> str:
        text = literal_text(self.slots[slot][0], parts, parameters)
        if text is None:
            raise UnknownValueError
        return text


def path_setting(shape: Shape) -> PathSetting | None:
    """How a statement sets the search path, if it does."""
    sql = shape.sql
    if "search_path" not in sql and "set" not in sql and "discard" not in sql:
        return None
    if _RESET.fullmatch(sql):
        return PathSetting(None, False, None, shape.slots)
    found = _SET.fullmatch(sql) or _SET_SCHEMA.fullmatch(sql)
    if found is not None:
        local = (found["scope"] or "").startswith("local")
        items = tuple(_item(item) for item in found["items"].split(" , "))
        return PathSetting(None if items == ("default",) else items, local, None, shape.slots)
    config = _SET_CONFIG.search(sql)
    if config is None:
        return None
    value = int(config["value"])
    return PathSetting((value,), config["local"] == "true", int(config["name"]), shape.slots)


def listed(text: str) -> SearchPath:
    """The schemas of a list, in which names are quoted as in SQL."""
    found = _LISTED.finditer(text)
    return tuple(
        one[1].replace('""', '"') if one[1] is not None else one[2].lower() for one in found
    )


def _item(text: str) -> str | int:
    if text[0] == "'":
        return int(text[1:-1])
    return text[1:-1] if text[0] == '"' else text
