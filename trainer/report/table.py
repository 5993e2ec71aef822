"""A policy table prepared for a page: the effect of each cell, and its value in the other table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policies import PolicyDocument
from policies.effects import Effects, RowEffect
from policies.explain import KIND_MARKS
from policies.in_words import access_words, policy_words, type_words


@dataclass(frozen=True)
class CellView:
    """One cell.

    Attributes:
        mark: its style: `wait`, `end`, `dirty`, `public`, `early`, or "" without an action.
        text: its value.
        moot: whether it is set but cannot have an effect.
        before: its value in the other table if that differs; else "".
        words: its effect, in words.
    """

    mark: str
    text: str
    moot: bool = False
    before: str = ""
    words: str = ""


@dataclass(frozen=True)
class RowView:
    """One access.

    Attributes:
        state: its number.
        access: its name.
        on: the kind of access and the table.
        loop: whether it is executed repeatedly.
        cells: a wait per type, then read, write and validation.
        waited: share of all waiting that came before this access, 0 to 1; None if unknown.
        aborted: share of all aborts at this access, 0 to 1; None if unknown.
    """

    state: int
    access: str
    on: str
    loop: bool
    cells: list[CellView]
    waited: float | None = None
    aborted: float | None = None


@dataclass(frozen=True)
class TableView:
    """A policy table.

    Attributes:
        name: the policy's display name.
        waits: the types waited for, one column each.
        types: the rows of each type, by its display name.
    """

    name: str
    waits: list[str]
    types: list[tuple[str, list[RowView]]]


def table_view(
    document: PolicyDocument,
    name: str,
    other: PolicyDocument | None = None,
    waited: Sequence[float] = (),
    aborted: Sequence[float] = (),
) -> TableView:
    """Return the view of a policy's CC table.

    Args:
        document: the policy.
        name: its name.
        other: the table to compare with; a cell that differs shows both values.
        waited: share of all waiting before each state's access; empty if unknown.
        aborted: share of all aborts at each state; empty if unknown.
    """
    signature = document.signature
    painter = _Painter(document, other)
    types = []
    for kind in signature.types:
        rows = [
            RowView(
                access.state,
                access.name,
                f"{KIND_MARKS[access.kind]} {access.table}",
                access.loop,
                list(painter.cells(access.state)),
                waited[access.state] if access.state < len(waited) else None,
                aborted[access.state] if access.state < len(aborted) else None,
            )
            for access in kind.accesses
        ]
        types.append((type_words(kind.name), rows))
    waits = [type_words(kind) for kind in signature.type_names]
    return TableView(policy_words(name), waits, types)


class _Painter:
    def __init__(self, document: PolicyDocument, other: PolicyDocument | None) -> None:
        self._document = document
        self._signature = document.signature
        self._effects = Effects(document)
        self._other = other

    def cells(self, state: int) -> Iterator[CellView]:
        row, effect = self._document.cc[state], self._effects.rows[state]
        old = self._other.cc[state] if self._other is not None else row
        for name in self._signature.type_names:
            yield self._wait(state, name, effect, old.wait[name])
        yield self._read(effect, row.read_version, old.read_version)
        public = row.write_visibility == "PUBLIC"
        before = old.write_visibility
        yield CellView(
            "public" if public else "",
            (row.write_visibility or "").lower(),
            before=(before or "").lower() if before != row.write_visibility else "",
            words="publishes, after validating" if public else "",
        )
        # A published write is validated in any case.
        moot = row.early_validation and public
        yield CellView(
            "early" if row.early_validation and not moot else "",
            "early" if row.early_validation else "–",
            moot,
            _changed(old.early_validation, row.early_validation, "early", "–"),
            "a published write is validated in any case" if moot else "",
        )

    def _wait(self, state: int, name: str, effect: RowEffect, old: int | str) -> CellView:
        wait = self._document.cc[state].wait[name]
        before = self._short(old) if old != wait else ""
        if wait == "NO_WAIT":
            return CellView("", "–", before=before)
        whom = type_words(name)
        words = (
            f"waits for {whom} to end"
            if wait == "COMMIT"
            else f"waits for {whom} to finish its {access_words(self._signature, int(wait))}"
        )
        if effect.wait[name] == "NO_WAIT":
            kind = type_words(self._signature.type_of(state).name)
            words = f"no effect: at this point {kind} depends on no {whom}"
            return CellView("", self._short(wait), True, before, words)
        mark = "end" if wait == "COMMIT" else "wait"
        return CellView(mark, self._short(wait), False, before, words)

    def _short(self, wait: int | str) -> str:
        if isinstance(wait, int):
            access = self._signature.accesses[wait]
            return f"{wait} {KIND_MARKS[access.kind]} {access.table}"
        return {"NO_WAIT": "–", "COMMIT": "to its end"}[wait]

    def _read(self, effect: RowEffect, now: str | None, old: str | None) -> CellView:
        before = (old or "").lower() if old != now else ""
        if now != "DIRTY":
            return CellView("", (now or "").lower(), before=before)
        if effect.dirty:
            return CellView("dirty", "dirty", before=before, words="reads published versions, too")
        return CellView("", "dirty", True, before, "no effect: no type publishes to this table")


def _changed(before: bool, after: bool, yes: str, no: str) -> str:
    return "" if before == after else yes if before else no
