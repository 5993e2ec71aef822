"""Render policies and their differences as tables with names instead of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from policies.document import CcRow, PolicyDocument, WaitAction
from policies.encoding import Cell, Choice, Encoding
from policies.errors import PolicyFileError
from policies.protocol import EXTERNAL, protocol_name, protocol_words
from policies.signature import Access, AccessKind, Signature
from traces.spelling import visible

KIND_MARKS: Mapping[AccessKind, str] = {
    "read": "r",
    "update": "w",
    "insert": "ins",
    "remove": "del",
    "scan": "scan",
    "read_modify_write": "rw",
}
"""The mark of each kind of access, as in `w CUSTOMER` or `ins HISTORY`."""

WAIT_COLUMNS = 4
"""Number of types above which the waits of a row share one column."""


def access_label(access: Access) -> str:
    """Return a short name of an access with its state number, kind and table."""
    return f"{access.state} {KIND_MARKS[access.kind]} {visible(access.table)}"


def wait_label(signature: Signature, wait: WaitAction) -> str:
    """Return a wait action as `-`, `commit`, or the access that must be finished."""
    if isinstance(wait, int):
        return access_label(signature.accesses[wait])
    return {"NO_WAIT": "-", "COMMIT": "commit"}[wait]


def render(document: PolicyDocument) -> RenderableType:
    """Return a policy for the terminal, as heading, tables, schedule and provenance."""
    signature = document.signature
    heading = Text.assemble(
        (visible(document.name), "bold"),
        f"  for {signature.workload}: {_counted(len(signature.types), 'type')}, "
        f"{_counted(signature.state_count, 'state')}",
    )
    parts: list[RenderableType] = [heading]
    if document.protocol is None:
        parts.append(cc_table(document))
    else:
        words = protocol_words(document.protocol, signature.type_names)
        parts.append(Text.assemble(("protocol:", "bold"), f" {words}"))
    if protocol_name(document.protocol) == EXTERNAL:
        parts.append(Text("The table and its backoff have no effect in front of a store."))
    else:
        parts.append(backoff_table(document))
    for title, fields in (("schedule", document.schedule), ("provenance", document.provenance)):
        if fields:
            lines = "".join(f"\n  {key}: {_plain(value)}" for key, value in fields.items())
            parts.append(Text.assemble((f"{title}:", "bold"), lines))
    return Group(*parts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _plain(value: object) -> str:
    """Return a JSON value as text without brackets and quotes."""
    if isinstance(value, Mapping):
        return ", ".join(f"{visible(key)} {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "".join(f"\n    {_plain(inner)}" for inner in value)
    return visible(str(value))


def cc_table(document: PolicyDocument) -> Table:
    """Return the CC table with one row per access, and a rule between types."""
    signature = document.signature
    wide = len(signature.types) <= WAIT_COLUMNS
    table = Table(title="CC table: before the access wait for …, then read, publish, validate")
    table.add_column("state", justify="right")
    table.add_column("access")
    table.add_column("on")
    waits = [f"wait {visible(name)}" for name in signature.type_names] if wide else ["waits"]
    for column in (*waits, "read", "write", "validate"):
        table.add_column(column)
    for row in document.cc:
        access = signature.accesses[row.state]
        table.add_row(
            str(row.state),
            visible(f"{row.type}.{row.access}"),
            f"{KIND_MARKS[access.kind]} {visible(access.table)}{' *' if access.loop else ''}",
            *(_wait_cells(row, signature) if wide else [_wait_words(row, signature)]),
            (row.read_version or "").lower(),
            (row.write_visibility or "").lower(),
            "early" if row.early_validation else "-",
            end_section=row.state == signature.type_of(row.state).states[-1],
        )
    table.caption = "* in a loop: one row for all iterations"
    return table


def backoff_table(document: PolicyDocument) -> Table:
    """Return the backoff table with one row per type."""
    table = Table(title="Backoff: after 0, 1, ≥ 2 aborted attempts")
    table.add_column("type")
    table.add_column("starts at", justify="right")
    table.add_column("abort multiplies by")
    table.add_column("commit divides by")
    for name, row in document.backoff.items():
        factors = [
            " ".join(f"{1 + alpha:g}" for alpha in cells) for cells in (row.abort, row.commit)
        ]
        table.add_row(visible(name), f"{row.initial_us:g} µs", *factors)
    return table


@dataclass(frozen=True)
class Difference:
    """A cell in which two policies differ.

    Attributes:
        cell: name of the cell, such as `payment.read_customer.wait.new_order`.
        where: row, such as `15 payment.read_customer` or `backoff of payment`.
        what: field, such as `wait for new_order`.
        before: choice of the first policy as text.
        after: choice of the second policy as text.
    """

    cell: str
    where: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.before} → {self.after}"


def differences(one: PolicyDocument, other: PolicyDocument) -> list[Difference]:
    """Return the cells in which two policies differ, in the order of the table.

    Protocols and schedules are compared too, names and provenance are not.

    Raises:
        PolicyFileError: the policies are for different workloads.
    """
    _refuse_other_workload(one.signature, other.signature)
    encoding = Encoding(one.signature)
    tables = [
        encoding.encode(replace(policy, schedule=None, protocol=None)) for policy in (one, other)
    ]
    found = [
        _difference(one.signature, cell, cell.choices[before], cell.choices[after])
        for cell, before, after in zip(encoding.cells, *tables, strict=True)
        if before != after
    ]
    if one.protocol != other.protocol:
        before, after = (
            protocol_words(policy.protocol, one.signature.type_names) for policy in (one, other)
        )
        found.append(Difference("protocol", "protocol", "name and options", before, after))
    if one.schedule != other.schedule:
        before, after = (_schedule_words(schedule) for schedule in (one.schedule, other.schedule))
        found.append(Difference("schedule", "schedule", "parameters", before, after))
    return found


def _schedule_words(schedule: Mapping[str, Any] | None) -> str:
    return "none" if schedule is None else _plain(schedule)


def differences_table(one: PolicyDocument, other: PolicyDocument) -> Table:
    """Return the differences as a table with one row per cell."""
    found = differences(one, other)
    table = Table(title=f"{len(found)} of {Encoding(one.signature).size} cells differ")
    for column in ("where", "what", one.name, other.name):
        table.add_column(column)
    for difference in found:
        words = (difference.where, difference.what, difference.before, difference.after)
        table.add_row(*map(visible, words))
    return table


def _difference(signature: Signature, cell: Cell, before: Choice, after: Choice) -> Difference:
    if cell.state is None:
        where = f"backoff of {cell.type}"
        what = cell.name.rpartition(".")[2]
    else:
        access = signature.accesses[cell.state]
        where = f"{cell.state} {signature.type_of(cell.state).name}.{access.name}"
        what = f"wait for {cell.type}" if cell.kind == "wait" else cell.kind.replace("_", " ")
    words = [_choice_words(signature, cell, choice) for choice in (before, after)]
    return Difference(cell.name, where, what, *words)


def _choice_words(signature: Signature, cell: Cell, choice: Choice) -> str:
    if cell.kind == "wait":
        assert isinstance(choice, int | str)
        return wait_label(signature, choice)  # type: ignore[arg-type]
    if cell.kind == "initial_us":
        return f"{choice:g} µs"
    if cell.kind == "alpha":
        return f"alpha {choice:g}"
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    return str(choice).lower()


def _factors(alphas: Iterable[float]) -> str:
    return " ".join(f"{1 + alpha:g}" for alpha in alphas)


def _wait_cells(row: CcRow, signature: Signature) -> Iterator[str]:
    return (wait_label(signature, row.wait[name]) for name in signature.type_names)


def _wait_words(row: CcRow, signature: Signature) -> str:
    """Return all waits of a row as text, grouped by wait."""
    types_by_label: dict[str, list[str]] = {}
    for name in signature.type_names:
        label = wait_label(signature, row.wait[name])
        if label != "-":
            types_by_label.setdefault(label, []).append(name)
    if not types_by_label:
        return "-"
    everyone = len(signature.types)
    return "; ".join(
        f"{'all' if len(types) == everyone else ', '.join(types)}: {label}"
        for label, types in types_by_label.items()
    )


def _refuse_other_workload(one: Signature, other: Signature) -> None:
    if one == other:
        return
    if one.workload != other.workload:
        detail = f"{one.workload} and {other.workload}"
    elif one.type_names != other.type_names:
        detail = f"types {', '.join(one.type_names)} and {', '.join(other.type_names)}"
    else:
        pairs = zip(one.accesses, other.accesses, strict=False)
        first = next((f"{a} and {b}" for a, b in pairs if a != b), "different access counts")
        detail = f"{one.workload} with {first}"
    raise PolicyFileError(
        f"the policies are for different workloads ({detail}); compare policies of one workload"
    )
