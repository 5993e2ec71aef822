"""Templates: what statements of one shape do, found out once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from traces.importers.postgresql import literals
from traces.importers.postgresql.accesses import Access, Accesses
from traces.importers.postgresql.key_values import Step
from traces.importers.postgresql.reading import accesses_of
from traces.importers.postgresql.shapes import Shape, shapes_of
from traces.importers.postgresql.statement_kinds import (
    UNREAD,
    Control,
    Query,
    control_of,
    query_of,
)
from traces.importers.postgresql.table_keys import TableKeys

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
    """

    text: str
    control: Control = Control.NONE
    sql: str = ""
    accesses: Accesses = field(default_factory=Accesses)
    codes: tuple[int, ...] = ()
    ends: bool = False


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


@dataclass
class Templates:
    """All templates of a log.

    Attributes:
        keys: of the tables.
        coded: the accesses of all templates, by code.
    """

    keys: TableKeys
    coded: list[CodedAccess] = field(default_factory=list)
    _by_text: dict[str, Template] = field(default_factory=dict)
    _plans: dict[str, tuple[Planned, ...]] = field(default_factory=dict)
    """By the gaps of a text."""
    _of_text: dict[str, tuple[list[str], tuple[Planned, ...]]] = field(default_factory=dict)
    """By whole texts: those that come again as they are, for they have no values."""
    _guessing: list[Template] = field(default_factory=list)
    _cached_characters: int = 0

    def statements(self, text: str) -> tuple[list[str], tuple[Planned, ...]]:
        """The statements of a text, which may be several between semicolons.

        Returns:
            The text's parts, see `traces.importers.postgresql.literals.split`, and its statements.
        """
        found = self._of_text.get(text)
        if found is not None:
            return found
        parts = literals.split(text)
        gaps = "\0".join(parts[::2])
        plans = self._plans.get(gaps)
        if plans is None:
            plans = tuple(self._plan(shape) for shape in shapes_of(parts))
            self._plans[gaps] = plans
            self._remember(gaps)
        if all(literal[0] == "$" for literal in parts[1::2]):
            self._of_text[text] = parts, plans
            self._remember(text)
        return parts, plans

    def _remember(self, text: str) -> None:
        """Something is remembered by this text; when there is too much, all is forgotten."""
        self._cached_characters += len(text)
        if self._cached_characters > CACHED_CHARACTERS_MAX:
            self._forget()

    def _forget(self) -> None:
        self._plans.clear()
        self._of_text.clear()
        self._cached_characters = 0

    def _plan(self, shape: Shape) -> Planned:
        control = control_of(shape.text)
        if control is not Control.NONE:
            return Planned(Template(shape.text, control, ends=control in _ENDING))
        query = query_of(shape)
        if not isinstance(query, Query):
            faults = (UNREAD[query],) if query is not None else ()
            return Planned(Template(shape.text, accesses=Accesses(faults=faults)))
        template = self._by_text.get(query.text)
        if template is None:
            if len(self._by_text) >= TEMPLATES_MAX:
                return Planned(Template(shape.text, accesses=Accesses(faults=(TOO_MANY,))))
            template = self._by_text[query.text] = self._read(query)
        made = zip(template.codes, template.accesses.made, strict=True)
        return Planned(template, tuple(_step(code, access, shape) for code, access in made))

    def _read(self, query: Query) -> Template:
        """Find out what a template touches, and what is now known better of earlier ones."""
        template = Template(query.text, sql=query.sql)
        template.accesses = accesses_of(query.sql, self.keys)
        first = len(self.coded)
        template.codes = tuple(range(first, first + len(template.accesses.made)))
        self.coded += [
            CodedAccess(template, place, access)
            for place, access in enumerate(template.accesses.made)
        ]
        self._guess_again(template)
        return template

    def _guess_again(self, newest: Template) -> None:
        """Give the inserts into a table the key that others now turn out to ask by."""
        if newest.accesses.guessed:
            self._guessing.append(newest)
        for earlier in self._guessing:
            if all(self.keys.asked_by(table) is None for table in earlier.accesses.guessed):
                continue
            earlier.accesses = accesses_of(earlier.sql, self.keys)
            for code, access in zip(earlier.codes, earlier.accesses.made, strict=True):
                self.coded[code] = replace(self.coded[code], access=access)
            self._forget()
        self._guessing = [one for one in self._guessing if one.accesses.guessed]


def _step(code: int, access: Access, shape: Shape) -> Step:
    place = _only_place(access, shape)
    form = access.key[0].form if place and access.key else None
    return Step(code, place, access, shape.slots, form)


def _only_place(access: Access, shape: Shape) -> int:
    if access.key is None or len(access.key) != 1 or access.besides is not None:
        return 0
    part = access.key[0]
    if part.slot is None or part.is_array or len(shape.slots[part.slot]) != 1:
        return 0
    return shape.slots[part.slot][0]
