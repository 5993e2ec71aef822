"""The search path of a session, from an option and from statements."""

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
"""The schemas in which a name is looked up, in order."""

_SET = re.compile(r"set (?P<scope>session |local )?search_path (?:to|=) (?P<items>.+)")
_SET_SCHEMA = re.compile(r"set (?P<scope>session |local )?schema (?P<items>'\d+')")
_RESET = re.compile(r"reset (?:search_path|all)|discard all")
_SET_CONFIG = re.compile(
    r"\bset_config \( '?(?P<name>\d+)'? , '?(?P<value>\d+)'? , (?P<local>\w+) \)"
)
_LISTED = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s,"]+))\s*(?:,|$)')


class SearchPaths:
    """The initial search paths of sessions.

    Args:
        given: settings of the database, `schema, …`, or of a role, `role=schema, …`, which the log
            does not contain.
        catalog: the known schemas.

    Raises:
        TraceError: a setting is not a list of schemas.
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
                    f"--search-path {text}: must be schemas such as 'app, public', or those of a "
                    "role such as 'web=app, public'"
                )
            if equals:
                self._of_role[role.strip()] = path
            else:
                self._of_all = path

    def of_role(self, role: str) -> SearchPath:
        """Return the initial search path of a role's session."""
        return path_of(self._of_role.get(role, self._of_all), role, self.catalog)


@dataclass(frozen=True, slots=True)
class PathSetting:
    """A statement that sets the search path.

    Attributes:
        items: the schemas, or the numbers of the slots that hold them. None: the initial path.
        local: whether it applies only to the transaction.
        name: the slot with the setting's name in `set_config`; None: it is the search path.
        slots: the slots of the shape.
    """

    items: tuple[str | int, ...] | None
    local: bool
    name: int | None
    slots: tuple[tuple[int, ...], ...]

    def schemas(self, parts: Sequence[str], parameters: Sequence[str] | None) -> SearchPath | None:
        """Return the new search path; None: the initial path of the session.

        Raises:
            LookupError: the statement sets another setting, or the value is not in the log.
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
    """Return how a statement sets the search path, or None."""
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
    """Return the schemas of a list, in which names are quoted as in SQL."""
    found = _LISTED.finditer(text)
    return tuple(
        item[1].replace('""', '"') if item[1] is not None else item[2].lower() for item in found
    )


def _item(text: str) -> str | int:
    if text[0] == "'":
        return int(text[1:-1])
    return text[1:-1] if text[0] == '"' else text
