"""Templates: what statements of one shape do, found out once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import Access, Accesses
from traces.importers.postgresql.catalog import PUBLIC
from traces.importers.postgresql.constants import Unsure
from traces.importers.postgresql.key_values import Step, holds
from traces.importers.postgresql.names import Names
from traces.importers.postgresql.reading import accesses_of
from traces.importers.postgresql.search_path import (
    PathSetting,
    SearchPath,
    SearchPaths,
    path_setting,
)
from traces.importers.postgresql.shapes import Shape, shapes_of
from traces.importers.postgresql.statement_kinds import (
    UNREAD,
    Control,
    Query,
    control_of,
    query_of,
    with_options_as_words,
)
from traces.importers.postgresql.table_keys import TableKeys
from traces.importers.postgresql.temporary_tables import dropped, made_temporary

TEMPLATES_MAX = 100_000
"""So many templates are told apart."""

TOO_MANY = f"statement of a template beyond the first {TEMPLATES_MAX}"

CACHED_CHARACTERS_MAX = 1 << 25
"""What is remembered by texts: beyond so many characters of them, all of it is forgotten."""


_ENDING = frozenset(
    {
        *(Control.COMMIT, Control.COMMIT_AND_CHAIN),
        *(Control.ROLLBACK, Control.ROLLBACK_AND_CHAIN),
    }
)


@dataclass(eq=False)
class Template:
    """What statements of one shape do.

    Attributes:
        text: the shape.
        control: what it does to its transaction.
        sql: for the parser; empty if it touches no row.
        accesses: what it touches.
        codes: of its accesses, numbers that no access of another template has.
        ends: whether it ends its transaction.
        temporary: the temporary table that it makes.
        dropped: the tables that it drops; None: all that are temporary.
    """

    text: str
    control: Control = Control.NONE
    sql: str = ""
    accesses: Accesses = field(default_factory=Accesses)
    codes: tuple[int, ...] = ()
    ends: bool = False
    temporary: str | None = None
    dropped: frozenset[str] | None = frozenset()


@dataclass(frozen=True, slots=True)
class CodedAccess:
    """An access, and where it is from: the n-th of a template."""

    template: Template
    place: int
    access: Access


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement's template, and how to make its keys of its literals."""

    template: Template
    steps: tuple[Step, ...] = ()
    path: PathSetting | None = None

    def steps_of(
        self, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
    ) -> tuple[Step, ...]:
        """The accesses whose conditions can be fulfilled; the arguments are those of `keys_of`."""
        if not any(step.is_tested for step in self.steps):
            return self.steps
        return tuple(
            step
            for step in self.steps
            if not step.is_tested or holds(step, parts, parameters, unsure)
        )

    def reasons(self, made: Sequence[Step]) -> Iterator[str]:
        """What is left out or guessed, where these of its accesses are made."""
        accesses = self.template.accesses
        none = len(self.steps) > len(made) == 0
        for reason in (*accesses.faults, *accesses.guesses):
            if not (none and reason in accesses.of_rows):
                yield reason


@dataclass
class _Along:
    """What texts do along one search path.

    Attributes:
        names: what tables are called.
        by_text: templates, by their texts.
        plans: by the gaps of a text.
        of_text: by whole texts: those that come again as they are, for they have no values.
    """

    names: Names
    by_text: dict[str, Template] = field(default_factory=dict)
    plans: dict[str, tuple[Planned, ...]] = field(default_factory=dict)
    of_text: dict[str, tuple[list[str], tuple[Planned, ...]]] = field(default_factory=dict)


@dataclass
class Templates:
    """All templates of a log.

    Attributes:
        keys: of the tables.
        search_path: what sessions of a role begin with is given by options: `--search-path`.
        coded: the accesses of all templates, by code.
    """

    keys: TableKeys
    search_path: Sequence[str] = ()
    coded: list[CodedAccess] = field(default_factory=list)
    _along: dict[SearchPath, _Along] = field(default_factory=dict)
    _templates: dict[tuple[str, Accesses], Template] = field(default_factory=dict)
    """Of all search paths: where these make no difference, a template is one."""
    _guessing: list[tuple[Template, Names]] = field(default_factory=list)
    _cached_characters: int = 0

    def __post_init__(self) -> None:
        """Read the search paths that are given."""
        self.paths = SearchPaths(self.search_path, self.keys.catalog)

    def statements(
        self, text: str, path: SearchPath = (PUBLIC,)
    ) -> tuple[list[str], tuple[Planned, ...]]:
        """The statements of a text, which may be several between semicolons.

        Args:
            text: of one or more statements.
            path: the search path of the session.

        Returns:
            The text's parts, see `traces.importers.postgresql.literals.split`, and its statements.
        """
        along = self._along.get(path)
        if along is None:
            along = self._along.setdefault(path, _Along(Names(self.keys.catalog, path)))
        found = along.of_text.get(text)
        if found is not None:
            return found
        parts = literals.split(with_options_as_words(text))
        gaps = "\0".join(parts[::2])
        plans = along.plans.get(gaps)
        if plans is None:
            plans = tuple(self._plan(shape, along) for shape in shapes_of(parts))
            along.plans[gaps] = plans
            self._remember(gaps)
        if all(literal[0] == "$" for literal in parts[1::2]):
            along.of_text[text] = parts, plans
            self._remember(text)
        return parts, plans

    def _remember(self, text: str) -> None:
        """Something is remembered by this text; when there is too much, all is forgotten."""
        self._cached_characters += len(text)
        if self._cached_characters > CACHED_CHARACTERS_MAX:
            self._forget()

    def _forget(self) -> None:
        self._along.clear()
        self._cached_characters = 0

    def _plan(self, shape: Shape, along: _Along) -> Planned:
        control = control_of(shape.text)
        if control is not Control.NONE:
            return Planned(Template(shape.text, control, ends=control in _ENDING))
        path = path_setting(shape)
        query = query_of(shape)
        made, gone = made_temporary(shape.text), dropped(shape.text)
        if not isinstance(query, Query):
            faults = Accesses(faults=(UNREAD[query],) if query is not None else ())
            unread = Template(shape.text, accesses=faults, temporary=made, dropped=gone)
            return Planned(unread, path=path)
        known = along.by_text.get(query.text)
        if known is None:
            if len(self._templates) >= TEMPLATES_MAX:
                return Planned(Template(shape.text, accesses=Accesses(faults=(TOO_MANY,))))
            known = along.by_text[query.text] = self._read(query, along.names)
            self._remember(query.text)
        if made is not None:
            known.temporary = made
        accesses = zip(known.codes, known.accesses.made, strict=True)
        return Planned(known, tuple(_step(*coded, shape) for coded in accesses), path)

    def _read(self, query: Query, names: Names) -> Template:
        """Find out what a template touches, and what is now known better of earlier ones."""
        accesses = accesses_of(query.sql, self.keys, names)
        same = self._templates.get((query.text, accesses))
        if same is not None:
            return same
        template = Template(query.text, sql=query.sql, accesses=accesses)
        self._templates[query.text, accesses] = template
        first = len(self.coded)
        template.codes = tuple(range(first, first + len(template.accesses.made)))
        self.coded += [
            CodedAccess(template, place, access)
            for place, access in enumerate(template.accesses.made)
        ]
        self._guess_again(template, names)
        return template

    def _guess_again(self, newest: Template, names: Names) -> None:
        """Give the inserts into a table the key that others now turn out to ask by."""
        if newest.accesses.guessed:
            self._guessing.append((newest, names))
        for earlier, along in self._guessing:
            if all(self.keys.asked_by(table) is None for table in earlier.accesses.guessed):
                continue
            self._templates.pop((earlier.text, earlier.accesses), None)
            earlier.accesses = accesses_of(earlier.sql, self.keys, along)
            self._templates[earlier.text, earlier.accesses] = earlier
            for code, access in zip(earlier.codes, earlier.accesses.made, strict=True):
                self.coded[code] = replace(self.coded[code], access=access)
            self._forget()
        self._guessing = [one for one in self._guessing if one[0].accesses.guessed]


def _step(code: int, access: Access, shape: Shape) -> Step:
    is_tested = bool(access.not_null or access.tests)
    return Step(code, _only_place(access, shape), access, shape.slots, is_tested)


def _only_place(access: Access, shape: Shape) -> int:
    if access.key is None or len(access.key) != 1 or access.kind == "scan":
        return 0
    if access.only or access.filters or access.limits:
        return 0
    part = access.key[0]
    if part.slot is None or part.is_array or part.casts or len(shape.slots[part.slot]) != 1:
        return 0
    if part.column is not None and part.column.family == "real":
        return 0
    return shape.slots[part.slot][0]
