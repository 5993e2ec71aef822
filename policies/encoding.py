"""A policy table as a flat vector of integers, the form that searches work on, and back.

Layout: for each state one wait cell per type (0 = `NO_WAIT`, 1..d = the type's d accesses in
order, d + 1 = `COMMIT`), then read version (1 = `DIRTY`), write visibility (1 = `PUBLIC`), early
validation (1 = yes); after all states, for each type the index into `INITIAL_US`, three indexes
into `ALPHAS` for abort and three for commit. A cell that its access has no use for (the read
version of a write, the visibility of a read) is *masked*: it holds 0 and has that one choice.

A *scheduled* encoding ends with the cells of the schedule (`policies.schedule`): the admission
policy, its parameters, and for each type whether it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

from policies.document import (
    ALPHAS,
    BINARY_EXPONENTIAL,
    INITIAL_US,
    PRIOR_ABORTS,
    BackoffRow,
    CcRow,
    PolicyDocument,
    WaitAction,
)
from policies.errors import PolicyFileError
from policies.schedule import (
    CLASSIFIER,
    FIFO,
    HOT,
    NO_CLASSIFIER,
    PARAMETERS,
    POLICY,
    UNSCHEDULED,
    NamedClassifier,
    schedule_of,
    schedule_values,
    schedules,
)
from policies.signature import Access, Signature

CellKind = Literal[
    "wait",
    "read_version",
    "write_visibility",
    "early_validation",
    "initial_us",
    "alpha",
    "admission",
    "unscheduled",
]
Choice = int | float | str | bool | None | NamedClassifier


@dataclass(frozen=True)
class Cell:
    """One cell of the table, as a position of the vector.

    Attributes:
        name: such as `payment.read_customer.wait.new_order` or `backoff.payment.abort[0]`.
        kind: which action the cell holds.
        choices: what each value stands for in the document; value v means `choices[v]`.
        default: the value of the OCC table with binary exponential backoff.
        state: the state number, or None for a backoff cell and those of the schedule.
        type: the type waited for (wait cells), backed off (backoff cells) or left out of the
            schedule, else None.
    """

    name: str
    kind: CellKind
    choices: tuple[Choice, ...]
    default: int = 0
    state: int | None = None
    type: str | None = None

    @property
    def mutable(self) -> bool:
        """Whether there is a choice at all; false where the cell is masked."""
        return len(self.choices) > 1

    @property
    def binary(self) -> bool:
        """Whether it is a yes/no action, which a mutation flips (paper §5.1)."""
        return self.kind in (
            "read_version",
            "write_visibility",
            "early_validation",
            "unscheduled",
        )


@dataclass(frozen=True)
class Encoding:
    """The vector form of every policy of one signature.

    Attributes:
        signature: the workload.
        scheduled: whether the schedule is in the vector; where it is not, a policy has none.
        classifiers: what may foretell the hot keys of a schedule, besides its hints; where there
            are any, the last cell says which does.
    """

    signature: Signature
    scheduled: bool = False
    classifiers: tuple[NamedClassifier, ...] = ()

    @classmethod
    def of(cls, document: PolicyDocument) -> Encoding:
        """The shortest that has all of a document."""
        own = (document.schedule or {}).get(CLASSIFIER)
        classifiers = () if own is None else (NamedClassifier.of("its own", own),)
        return cls(document.signature, schedules(document.schedule), classifiers)

    @classmethod
    def of_vector(cls, signature: Signature, vector: Sequence[int]) -> Encoding:
        """The one whose vectors are so long."""
        plain = cls(signature)
        return plain if len(vector) == plain.size else cls(signature, scheduled=True)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the vector's order."""
        waits = {name: _wait_choices(self.signature, name) for name in self.signature.type_names}
        cells: list[Cell] = []
        for kind, access in self.signature.rows():
            cells.extend(_row_cells(f"{kind.name}.{access.name}", access, waits))
        for name in self.signature.type_names:
            cells.extend(_backoff_cells(name))
        if self.scheduled:
            cells.extend(_schedule_cells(self.signature, self.classifiers))
        return tuple(cells)

    @property
    def size(self) -> int:
        """The length of the vector."""
        return len(self.cells)

    @cached_property
    def nvec(self) -> tuple[int, ...]:
        """How many values each cell has, masked ones 1; the form of Gymnasium's MultiDiscrete."""
        return tuple(len(cell.choices) for cell in self.cells)

    @cached_property
    def mask(self) -> tuple[bool, ...]:
        """Which cells may change."""
        return tuple(cell.mutable for cell in self.cells)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The cells' names."""
        return tuple(cell.name for cell in self.cells)

    @property
    def row_width(self) -> int:
        """Cells a state: the state `s` has the positions `s * row_width` up to its next."""
        return len(self.signature.types) + 3

    @property
    def backoff_width(self) -> int:
        """Cells of each type's backoff, which follow those of the states."""
        return 1 + 2 * PRIOR_ABORTS

    @property
    def schedule_cells(self) -> range:
        """The positions of the schedule's cells; empty where it is not in the vector."""
        types = len(self.signature.types)
        first = self.signature.state_count * self.row_width + types * self.backoff_width
        return range(first, self.size)

    @cached_property
    def _values(self) -> tuple[dict[Choice, int], ...]:
        # bool is an int in Python, so True and 1 would share a key; no cell mixes the two.
        return tuple({choice: v for v, choice in enumerate(cell.choices)} for cell in self.cells)

    def encode(self, document: PolicyDocument) -> list[int]:
        """The vector of a document.

        Raises:
            PolicyFileError: The document is for another signature, or a cell holds a value that
                the table does not allow; the message names the cell and what it may be.
        """
        if document.signature != self.signature:
            raise PolicyFileError(
                f"policy {document.name!r} is for a workload {document.signature.workload!r} with "
                f"other types or accesses than this {self.signature.workload!r}; "
                "encode it with the encoding of its own signature"
            )
        if schedules(document.schedule) and not self.scheduled:
            raise PolicyFileError(
                f"policy {document.name!r} carries a schedule, which would be lost here; take it "
                "out of the file (null), or have a search change schedules (search.actions)"
            )
        vector: list[int] = []
        for cell, values, choice in zip(
            self.cells, self._values, self._choices_of(document), strict=True
        ):
            if choice not in values or isinstance(choice, bool) != isinstance(
                cell.choices[0], bool
            ):
                allowed = ", ".join(map(str, cell.choices))
                raise PolicyFileError(
                    f"policy {document.name!r}: {cell.name} is {choice!r}; a search has one of "
                    f"{allowed}"
                )
            vector.append(values[choice])
        return vector

    def decode(
        self,
        vector: Sequence[int],
        name: str,
        provenance: Mapping[str, Any] | None = None,
        schedule: Mapping[str, Any] | None = None,
    ) -> PolicyDocument:
        """The document of a vector. Accepts any sequence of integers, NumPy's too.

        Args:
            vector: `size` values, each below its cell's entry of `nvec`.
            name: the document's name.
            provenance: where the policy came from.
            schedule: schedule parameters to carry along, where they are not in the vector.

        Raises:
            ValueError: The vector has another length, or a value is out of its cell's range; the
                message names the cell.
        """
        values = iter(self._look_up(vector))
        cc = []
        for kind, access in self.signature.rows():
            wait = {name: cast(WaitAction, next(values)) for name in self.signature.type_names}
            read, write, validate = next(values), next(values), next(values)
            cc.append(
                CcRow(access.state, kind.name, access.name, wait, read, write, validate)  # type: ignore[arg-type]
            )
        backoff = {}
        for kind in self.signature.types:
            initial, *alphas = (cast(float, next(values)) for _ in range(1 + 2 * PRIOR_ABORTS))
            abort, commit = tuple(alphas[:PRIOR_ABORTS]), tuple(alphas[PRIOR_ABORTS:])
            backoff[kind.name] = BackoffRow(initial, abort, commit)  # type: ignore[arg-type]
        if self.scheduled:
            rest = list(values)
            classifier = rest.pop() if self.classifiers else NO_CLASSIFIER
            schedule = schedule_of(rest, self.signature.type_names, classifier)  # type: ignore[arg-type]
        return PolicyDocument(
            name, self.signature, tuple(cc), backoff, schedule, dict(provenance or {})
        )

    def canonical(self, vector: Sequence[int]) -> tuple[int, ...]:
        """The same policy, as a vector that comes back from its file.

        What the admission policy of its schedule does not go by is no part of the policy: it has
        its default.
        """
        table = [int(value) for value in vector]
        if self.scheduled:
            first, *others = self.schedule_cells
            policy = POLICY.choices[table[first]]
            for cell, one in zip(others, PARAMETERS, strict=False):
                if policy not in one.users:
                    table[cell] = self.cells[cell].default
            if policy == FIFO:
                for cell in others[len(PARAMETERS) :]:
                    table[cell] = 0
            if self.classifiers and table[others[-1]]:
                hot = others[HOT_POSITION]
                table[hot] = self.cells[hot].default
        return tuple(table)

    def allowed(self, groups: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """Which values each cell may take when only these action groups are in the space.

        Without any group only the OCC table with binary exponential backoff is left; each group
        adds its values (the paper's factor analysis, §7.2 and figure 6, adds them one by one).

        Args:
            groups: names out of `ACTION_GROUPS`, and `schedule`.

        Raises:
            ValueError: A name is not an action group; the message lists them.
        """
        chosen = set(groups)
        there = [*ACTION_GROUPS, SCHEDULE]
        if unknown := sorted(chosen - set(there)):
            raise ValueError(
                f"no action group {', '.join(map(repr, unknown))}; there are {', '.join(there)}"
            )
        return tuple(
            tuple(
                value
                for value in range(len(cell.choices))
                if value == cell.default or action_group(cell, value) in chosen
            )
            for cell in self.cells
        )

    def _look_up(self, vector: Sequence[int]) -> list[Choice]:
        if len(vector) != self.size:
            raise ValueError(
                f"the vector has {len(vector)} values; a policy for {self.signature.workload} "
                f"has {self.size}"
            )
        choices: list[Choice] = []
        for cell, value in zip(self.cells, vector, strict=True):
            if not 0 <= value < len(cell.choices) or value != int(value):
                raise ValueError(
                    f"{cell.name} is {value}; it must be a whole number from 0 to "
                    f"{len(cell.choices) - 1}"
                )
            choices.append(cell.choices[int(value)])
        return choices

    def _choices_of(self, document: PolicyDocument) -> list[Choice]:
        if len(document.cc) != self.signature.state_count:
            raise PolicyFileError(
                f"policy {document.name!r} has {len(document.cc)} CC rows; "
                f"{self.signature.workload} has {self.signature.state_count} states"
            )
        if missing := set(self.signature.type_names) - set(document.backoff):
            raise PolicyFileError(
                f"policy {document.name!r} has no backoff row for {', '.join(sorted(missing))}"
            )
        choices: list[Choice] = []
        for row in document.cc:
            choices.extend(row.wait.get(name) for name in self.signature.type_names)
            choices += [row.read_version, row.write_visibility, row.early_validation]
        for name in self.signature.type_names:
            row_of_type = document.backoff[name]
            choices += [row_of_type.initial_us, *row_of_type.abort, *row_of_type.commit]
        if self.scheduled:
            *values, classifier = schedule_values(document.schedule, self.signature.type_names)
            choices.extend(values)
            if self.classifiers:
                choices.append(classifier)
            elif classifier != NO_CLASSIFIER:
                raise PolicyFileError(
                    f"policy {document.name!r} carries a classifier, which would be lost here; "
                    "have the search know it (search.classifiers), or take it out of the file"
                )
        return choices


ACTION_GROUPS: dict[str, str] = {
    "wait_coarse": "wait until dependencies committed or aborted",
    "wait_fine": "wait until dependencies finished a certain access",
    "dirty_read": "read the latest uncommitted version",
    "public_write": "publish writes before commit",
    "early_validation": "validate before commit",
    "backoff": "learn how long an aborted transaction waits",
}
"""The action groups of a table, by which a search can be narrowed, and what each adds."""

HOT_POSITION = next(place for place, one in enumerate(PARAMETERS) if one.name == HOT)
"""Where the threshold is among the parameters."""

SCHEDULE = "schedule"
"""The group of the schedule: which transaction starts next, beside how it is executed."""


def action_group(cell: Cell, value: int) -> str | None:
    """The group that owns this value of the cell, or None where it is OCC's own choice."""
    if cell.kind in ("initial_us", "alpha"):
        return "backoff"
    if cell.kind in ("admission", "unscheduled"):
        return SCHEDULE
    if value == 0:
        return None
    if cell.kind == "wait":
        return "wait_coarse" if value == len(cell.choices) - 1 else "wait_fine"
    groups = {"read_version": "dirty_read", "write_visibility": "public_write"}
    return groups.get(cell.kind, cell.kind)


def _wait_choices(signature: Signature, type_name: str) -> tuple[WaitAction, ...]:
    return ("NO_WAIT", *signature.type_named(type_name).states, "COMMIT")


def _row_cells(
    prefix: str, access: Access, waits: Mapping[str, tuple[WaitAction, ...]]
) -> list[Cell]:
    cells = [
        Cell(f"{prefix}.wait.{name}", "wait", choices, state=access.state, type=name)
        for name, choices in waits.items()
    ]
    read = ("CLEAN", "DIRTY") if access.has_read_version else (None,)
    write = ("PRIVATE", "PUBLIC") if access.writes else (None,)
    cells.append(Cell(f"{prefix}.read_version", "read_version", read, state=access.state))
    cells.append(Cell(f"{prefix}.write_visibility", "write_visibility", write, state=access.state))
    cells.append(
        Cell(f"{prefix}.early_validation", "early_validation", (False, True), state=access.state)
    )
    return cells


def _backoff_cells(type_name: str) -> list[Cell]:
    prefix, start = f"backoff.{type_name}", BINARY_EXPONENTIAL
    initial = INITIAL_US.index(start.initial_us)
    cells = [Cell(f"{prefix}.initial_us", "initial_us", INITIAL_US, initial, type=type_name)]
    for outcome, alphas in (("abort", start.abort), ("commit", start.commit)):
        for prior, alpha in enumerate(alphas):
            name = f"{prefix}.{outcome}[{prior}]"
            cells.append(Cell(name, "alpha", ALPHAS, ALPHAS.index(alpha), type=type_name))
    return cells


def _schedule_cells(signature: Signature, classifiers: Sequence[NamedClassifier]) -> list[Cell]:
    cells = [
        Cell(f"schedule.{one.name}", "admission", one.choices, one.choices.index(one.default))
        for one in (POLICY, *PARAMETERS)
    ]
    cells += [
        Cell(f"schedule.{UNSCHEDULED}.{name}", "unscheduled", (False, True), type=name)
        for name in signature.type_names
    ]
    if classifiers:
        cells.append(Cell(f"schedule.{CLASSIFIER}", "admission", (NO_CLASSIFIER, *classifiers)))
    return cells
