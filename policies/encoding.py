"""The encoding of policy tables as vectors of integers, which searches use.

The cells of each state come first. A state has one wait cell per type (0 = `NO_WAIT`, 1..d = the
type's d accesses in order, d + 1 = `COMMIT`), then read version (1 = `DIRTY`), write visibility
(1 = `PUBLIC`) and early validation (1 = yes).

The cells of each type follow. They are the index into `INITIAL_US`, three indexes into `ALPHAS` for
an abort and three for a commit.

A cell that its access does not use (the read version of a write, the visibility of a read) is
*masked*: it holds 0 and has no other choice.

A *scheduled* encoding then has the cells of the schedule (`policies.schedule`): the admission
policy, its parameters, and for each type whether it is left out.

An encoding of several protocols ends with the cells of the protocol (`policies.protocol`): its
name, its options, and for each type its rank.
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
from policies.protocol import (
    EXTERNAL,
    MERGE,
    RANK,
    RANKS,
    TABLE,
    fixed_options,
    protocol_name,
    runs_in_store,
    smallest_typed,
    typed,
)
from policies.protocol_cells import ProtocolCells
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
    "protocol",
    "option",
    "grant",
    "rank",
]
Choice = int | float | str | bool | None | NamedClassifier


@dataclass(frozen=True)
class Cell:
    """A cell of the table, which is a position in the vector.

    Attributes:
        name: name such as `payment.read_customer.wait.new_order` or `backoff.payment.abort[0]`.
        kind: kind of action in the cell.
        choices: values of the cell in a document; `choices[v]` for the value v in the vector.
        default: value in the OCC table with binary exponential backoff.
        state: state number; None for cells of the backoff and the schedule.
        type: the type that a wait, a backoff cell or an exclusion from the schedule is for; else
            None.
    """

    name: str
    kind: CellKind
    choices: tuple[Choice, ...]
    default: int = 0
    state: int | None = None
    type: str | None = None

    @property
    def mutable(self) -> bool:
        """Whether the cell has more than one choice; False if it is masked."""
        return len(self.choices) > 1

    @property
    def binary(self) -> bool:
        """Whether the cell is a binary action, which a mutation flips (paper §5.1)."""
        return self.kind in (
            "read_version",
            "write_visibility",
            "early_validation",
            "unscheduled",
        )


@dataclass(frozen=True)
class Encoding:
    """Converts the policies of one signature to vectors and back.

    Attributes:
        signature: signature of the workload.
        scheduled: whether vectors include the schedule. If not, policies have none.
        classifiers: classifiers that may predict the hot keys of a schedule. If there are any, the
            last cell of the schedule chooses one of them or none.
        protocols: protocols other than the table; if there are any, vectors include the protocol.
            Options may follow a name, as in `external:store=postgresql`; they are fixed.
    """

    signature: Signature
    scheduled: bool = False
    classifiers: tuple[NamedClassifier, ...] = ()
    protocols: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: PolicyDocument) -> Encoding:
        """Return the smallest encoding that can encode a document."""
        own = (document.schedule or {}).get(CLASSIFIER)
        classifiers = () if own is None else (NamedClassifier.of("its own", own),)
        protocols = () if document.protocol is None else (smallest_typed(document.protocol),)
        return cls(document.signature, schedules(document.schedule), classifiers, protocols)

    @classmethod
    def of_vector(cls, signature: Signature, vector: Sequence[int]) -> Encoding:
        """Return the encoding that a vector belongs to, by its length."""
        plain = cls(signature)
        return plain if len(vector) == plain.size else cls(signature, scheduled=True)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order of the vector."""
        waits = {name: _wait_choices(self.signature, name) for name in self.signature.type_names}
        cells: list[Cell] = []
        for kind, access in self.signature.rows():
            cells.extend(_row_cells(f"{kind.name}.{access.name}", access, waits))
        for name in self.signature.type_names:
            cells.extend(_backoff_cells(name))
        if self.scheduled:
            cells.extend(_schedule_cells(self.signature, self.classifiers))
        if self.protocols:
            cells.extend(_protocol_cells(self.signature, self.protocol))
        return tuple(cells)

    @property
    def size(self) -> int:
        """The length of the vector."""
        return len(self.cells)

    @cached_property
    def nvec(self) -> tuple[int, ...]:
        """Number of values of each cell, 1 for a masked one, as for Gymnasium's MultiDiscrete."""
        return tuple(len(cell.choices) for cell in self.cells)

    @cached_property
    def mask(self) -> tuple[bool, ...]:
        """Whether each cell has more than one choice."""
        return tuple(cell.mutable for cell in self.cells)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""
        return tuple(cell.name for cell in self.cells)

    @property
    def stores(self) -> bool:
        """Whether transactions run in an external store under every protocol but the table."""
        return bool(self.protocols) and all(map(runs_in_store, self.protocols))

    @property
    def row_width(self) -> int:
        """Number of cells per state. The cells of state `s` begin at `s * row_width`."""
        return len(self.signature.types) + 3

    @property
    def backoff_width(self) -> int:
        """Number of backoff cells per type; they follow the cells of the states."""
        return 1 + 2 * PRIOR_ABORTS

    @property
    def schedule_cells(self) -> range:
        """The positions of the schedule's cells; empty if vectors do not include it."""
        return range(self._table_size, self.size - self._protocol_size)

    @property
    def protocol_cells(self) -> range:
        """The positions of the protocol's cells; empty if vectors do not include it."""
        return range(self.size - self._protocol_size, self.size)

    @property
    def cc_cells(self) -> range:
        """The positions of the cells that only the table's protocol uses."""
        return range(self.signature.state_count * self.row_width)

    @property
    def backoff_cells(self) -> range:
        """The positions of the backoff's cells."""
        return range(self.cc_cells.stop, self._table_size)

    @property
    def _table_size(self) -> int:
        types = len(self.signature.types)
        return self.signature.state_count * self.row_width + types * self.backoff_width

    @cached_property
    def protocol(self) -> ProtocolCells:
        """The cells of the protocol."""
        return ProtocolCells(self.protocols, len(self.signature.types))

    @property
    def _protocol_size(self) -> int:
        return self.protocol.size

    @cached_property
    def _values(self) -> tuple[dict[Choice, int], ...]:
        # bool is an int in Python, so True and 1 would share a key; no cell mixes the two.
        return tuple({choice: v for v, choice in enumerate(cell.choices)} for cell in self.cells)

    def encode(self, document: PolicyDocument) -> list[int]:
        """Return the vector of a document.

        Raises:
            PolicyFileError: the document is for another signature, has a schedule or a classifier
                that the encoding lacks, or a cell has a value that is not among its choices.
        """
        if document.signature != self.signature:
            raise PolicyFileError(
                f"policy {document.name!r} is for a workload {document.signature.workload!r} with "
                f"other types or accesses than this {self.signature.workload!r}; "
                "encode it with the encoding of its own signature"
            )
        if schedules(document.schedule) and not self.scheduled:
            raise PolicyFileError(
                f"policy {document.name!r} has a schedule, which would be lost here; remove it "
                "from the file (null), or let the search change schedules (search.actions)"
            )
        self._refuse_other_protocol(document)
        vector: list[int] = []
        for cell, values, choice in zip(
            self.cells, self._values, self._choices_of(document), strict=True
        ):
            if choice not in values or isinstance(choice, bool) != isinstance(
                cell.choices[0], bool
            ):
                allowed = ", ".join(map(str, cell.choices))
                raise PolicyFileError(
                    f"policy {document.name!r}: {cell.name} is {choice!r}; a search allows one of "
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
        """Return the document of a vector.

        Args:
            vector: `size` integers, each less than its cell's entry of `nvec`; a NumPy array is
                allowed.
            name: name of the document.
            provenance: origin of the policy.
            schedule: schedule of the document, if vectors do not include it.

        Raises:
            ValueError: the vector has another length, or a value is out of range; the message names
                the cell.
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
        protocol = None
        rest = list(values)
        if self.protocols:
            rest, chosen = rest[: -self._protocol_size], rest[-self._protocol_size :]
            protocol = self.protocol.section(cast(list[str | int], chosen))
        if self.scheduled:
            classifier = rest.pop() if self.classifiers else NO_CLASSIFIER
            schedule = schedule_of(rest, self.signature.type_names, classifier)  # type: ignore[arg-type]
        return PolicyDocument(
            name, self.signature, tuple(cc), backoff, schedule, dict(provenance or {}), protocol
        )

    def canonical(self, vector: Sequence[int]) -> tuple[int, ...]:
        """Return the vector that encodes the document of a vector.

        The cells of the schedule that its admission policy does not use have their defaults, as do
        the rows of a table under another protocol and the options that its protocol does not use.
        """
        table = [int(value) for value in vector]
        if self.protocols:
            self._settle_protocol(table)
        if self.scheduled:
            if self.merges(table):
                table[self.schedule_cells.start] = self.cells[self.schedule_cells.start].default
            first, *others = self.schedule_cells
            policy = POLICY.choices[table[first]]
            for cell, parameter in zip(others, PARAMETERS, strict=False):
                if policy not in parameter.users:
                    table[cell] = self.cells[cell].default
            if policy == FIFO:
                for cell in others[len(PARAMETERS) :]:
                    table[cell] = 0
            if self.classifiers and table[others[-1]]:
                hot = others[HOT_POSITION]
                table[hot] = self.cells[hot].default
        return tuple(table)

    def is_table(self, vector: Sequence[int]) -> bool:
        """Return whether a vector's rows have an effect: no other protocol takes their place."""
        return not self.protocols or vector[self.protocol_cells.start] == 0

    def is_external(self, vector: Sequence[int]) -> bool:
        """Return whether a vector's transactions run in an external store."""
        return bool(self.protocols) and runs_in_store(self._name(vector))

    def merges(self, vector: Sequence[int]) -> bool:
        """Return whether a vector's transactions are merged into groups, which have no schedule."""
        if not self.is_external(vector):
            return False
        section = self.protocol.section(self._chosen(vector))
        return section is not None and section["options"].get(MERGE, "1") != "1"

    def _name(self, vector: Sequence[int]) -> str:
        """Return the protocol of a vector, as typed."""
        start = self.protocol_cells.start
        return str(self.cells[start].choices[vector[start]])

    def _chosen(self, vector: Sequence[int]) -> list[str | int]:
        """Return the choices of a vector's protocol cells."""
        chosen = [self.cells[cell].choices[vector[cell]] for cell in self.protocol_cells]
        return cast(list[str | int], chosen)

    def _refuse_other_protocol(self, document: PolicyDocument) -> None:
        """Refuse a document whose protocol would be lost.

        Raises:
            PolicyFileError: its protocol, or the store that it names, is none of the encoding's.
        """
        known = (TABLE, *self.protocols)
        if not self.protocols:
            found = protocol_name(document.protocol)
        else:
            found = str(self.protocol.values(document.protocol)[0])
        if found in known:
            return
        if found == EXTERNAL and document.protocol is not None:
            there = typed(EXTERNAL, fixed_options(document.protocol["options"]))
            where = "in front of a store, and the search is in the engine"
            if self.protocols:
                other = ", ".join(self.protocols)
                where = f"in another store, or with other fixed options, than {other}"
            raise PolicyFileError(
                f"policy {document.name!r} runs {where}; set search.protocols=['{there}'], or name "
                "another policy"
            )
        raise PolicyFileError(
            f"policy {document.name!r} runs under protocol {found}, which would be lost here; "
            "add it to search.protocols"
        )

    def _settle_protocol(self, table: list[int]) -> None:
        """Set the cells that a vector's protocol does not use to their defaults, in place."""
        if not self.is_table(table):
            rows = self.cc_cells
            for cell in range(self._table_size) if self.is_external(table) else rows:
                table[cell] = self.cells[cell].default
        settled = self.protocol.values(self.protocol.section(self._chosen(table)))
        for cell, choice in zip(self.protocol_cells, settled, strict=False):
            table[cell] = self.cells[cell].choices.index(choice)

    def allowed(self, groups: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """Return the values of each cell that belong to the given action groups.

        Without any group only the OCC table with binary exponential backoff is left, and each group
        adds values. The paper's factor analysis (§7.2, figure 6) adds the groups one by one.

        Args:
            groups: names from `ACTION_GROUPS`, `schedule` and `grant`.

        Raises:
            ValueError: a name is not an action group; the message lists the known ones.
        """
        chosen = set(groups)
        known = [*ACTION_GROUPS, SCHEDULE, GRANT]
        if unknown := sorted(chosen - set(known)):
            raise ValueError(
                f"no action group {', '.join(map(repr, unknown))}; known are {', '.join(known)}"
            )
        chosen.add(PROTOCOL)
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
                    f"policy {document.name!r} has a classifier, which would be lost here; "
                    "add it to search.classifiers, or remove it from the file"
                )
        if self.protocols:
            choices.extend(self.protocol.values(document.protocol))
        return choices


ACTION_GROUPS: dict[str, str] = {
    "wait_coarse": "wait until dependencies committed or aborted",
    "wait_fine": "wait until dependencies finished a certain access",
    "dirty_read": "read the latest uncommitted version",
    "public_write": "publish writes before commit",
    "early_validation": "validate before commit",
    "backoff": "learn how long an aborted transaction waits",
}
"""The action groups of a table, which can restrict a search, with their descriptions."""

HOT_POSITION = next(at for at, parameter in enumerate(PARAMETERS) if parameter.name == HOT)
"""Position of the threshold `hot` among the parameters."""

SCHEDULE = "schedule"
"""The action group of the schedule, which decides which transaction starts next."""


GRANT = "grant"
"""The action group of the grant policy of `two_phase_locking`, with the ranks of the types."""

PROTOCOL = "protocol"
"""The action group of the protocol and its other options, which `search.protocols` controls."""


def action_group(cell: Cell, value: int) -> str | None:
    """Return the action group that a value of a cell belongs to; None if it is OCC's choice."""
    if cell.kind in ("initial_us", "alpha"):
        return "backoff"
    if cell.kind in ("admission", "unscheduled"):
        return SCHEDULE
    if cell.kind in ("grant", "rank"):
        return GRANT
    if cell.kind in ("protocol", "option"):
        return PROTOCOL
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
        Cell(f"schedule.{p.name}", "admission", p.choices, p.choices.index(p.default))
        for p in (POLICY, *PARAMETERS)
    ]
    cells += [
        Cell(f"schedule.{UNSCHEDULED}.{name}", "unscheduled", (False, True), type=name)
        for name in signature.type_names
    ]
    if classifiers:
        cells.append(Cell(f"schedule.{CLASSIFIER}", "admission", (NO_CLASSIFIER, *classifiers)))
    return cells


def _protocol_cells(signature: Signature, protocol: ProtocolCells) -> list[Cell]:
    cells = [Cell("protocol.name", "protocol", protocol.names)]
    for option in protocol.options:
        kind: CellKind = "grant" if option.grants else "option"
        cells.append(Cell(f"protocol.{option.name}", kind, option.choices))
    names = signature.type_names if protocol.ranked else ()
    cells += [Cell(f"protocol.{RANK}.{name}", "rank", RANKS, type=name) for name in names]
    return cells
