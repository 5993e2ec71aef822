"""Templates: the analysis of a shape, shared by all its statements."""

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
"""The maximum number of templates."""

TOO_MANY = f"statement of a template beyond the first {TEMPLATES_MAX}"

CACHED_CHARACTERS_MAX = 1 << 25
"""The size of the cache of texts in characters; a full cache is cleared."""


_ENDING = frozenset(
    {
        *(Control.COMMIT, Control.COMMIT_AND_CHAIN),
        *(Control.ROLLBACK, Control.ROLLBACK_AND_CHAIN),
    }
)


@dataclass(eq=False)
class Template:
    """The analysis of a shape.

    Attributes:
        text: the shape.
        control: its effect on the transaction.
        sql: the statement for the parser; empty if it accesses no row.
        accesses: its accesses.
        codes: numbers of its accesses, unique among all templates.
        ends: whether it ends its transaction.
        temporary: the temporary table that it creates.
        dropped: the tables that it drops; None: all temporary ones.
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
    """An access and its origin: the n-th of a template."""

    template: Template
    place: int
    access: Access


@dataclass(frozen=True, slots=True)
class Planned:
    """A statement's template, and how its keys are computed from its literals."""

    template: Template
    steps: tuple[Step, ...] = ()
    path: PathSetting | None = None

    def steps_of(
        self, parts: Sequence[str], parameters: Sequence[str] | None, unsure: Unsure
    ) -> tuple[Step, ...]:
        """Return the accesses whose conditions may hold; the arguments are those of `keys_of`."""
        if not any(step.is_tested for step in self.steps):
            return self.steps
        return tuple(
            step
            for step in self.steps
            if not step.is_tested or holds(step, parts, parameters, unsure)
        )

    def reasons(self, made: Sequence[Step]) -> Iterator[str]:
        """Yield the reasons of omissions and guesses if these of its accesses are made."""
        accesses = self.template.accesses
        none = len(self.steps) > len(made) == 0
        for reason in (*accesses.faults, *accesses.guesses):
            if not (none and reason in accesses.of_rows):
                yield reason


@dataclass
class _Along:
    """The analysis of texts along one search path.

    Attributes:
        names: resolves names of tables.
        by_text: templates, by their texts.
        plans: plans, by the gaps of a text.
        of_text: results by whole text, for texts without values, which recur.
    """

    names: Names
    by_text: dict[str, Template] = field(default_factory=dict)
    plans: dict[str, tuple[Planned, ...]] = field(default_factory=dict)
    of_text: dict[str, tuple[list[str], tuple[Planned, ...]]] = field(default_factory=dict)


@dataclass
class Templates:
    """All templates of a log.

    Attributes:
        keys: the keys of the tables.
        search_path: the settings of `--search-path` for initial search paths.
        coded: the accesses of all templates, by code.
    """

    keys: TableKeys
    search_path: Sequence[str] = ()
    coded: list[CodedAccess] = field(default_factory=list)
    _along: dict[SearchPath, _Along] = field(default_factory=dict)
    _templates: dict[tuple[str, Accesses], Template] = field(default_factory=dict)
    """The templates of all search paths; a template is shared if the path makes no difference."""
    _guessing: list[tuple[Template, Names]] = field(default_factory=list)
    _cached_characters: int = 0

    def __post_init__(self) -> None:
        """Parse the given search paths."""
        self.paths = SearchPaths(self.search_path, self.keys.catalog)

    def statements(
        self, text: str, path: SearchPath = (PUBLIC,)
    ) -> tuple[list[str], tuple[Planned, ...]]:
        """Return the statements of a text, which semicolons may separate.

        Args:
            text: one or more statements.
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
        """Account for a cached text, and clear the cache if it is full."""
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
        """Analyze a template, and update earlier ones with what is now known."""
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
        """Give insertions into a table the key that later statements look up."""
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
        self._guessing = [template for template in self._guessing if template[0].accesses.guessed]


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
