"""Signatures of workloads: transaction types and their accesses.

A *state* is a pair (transaction type, access id). States are numbered through the workload in the
order of the types (Polyjuice, OSDI 2021, §4.2). The compiled engine provides the signatures as
dictionaries, which this module converts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from policies.errors import PolicyFileError, shown

AccessKind = Literal["read", "update", "insert", "remove", "scan", "read_modify_write"]
"""The kind of an access. `read_modify_write` reads and updates a row in one state, which has both a
read version and a write visibility."""

ACCESS_KINDS: tuple[AccessKind, ...] = get_args(AccessKind)


@dataclass(frozen=True)
class Access:
    """A static data access of a stored procedure.

    Attributes:
        state: state number in the workload, which is also the access id.
        name: name, unique within its type, such as `update_district`.
        table: name of the table.
        kind: kind of access.
        loop: whether the access is in a loop of the procedure.
    """

    state: int
    name: str
    table: str
    kind: AccessKind
    loop: bool = False

    @property
    def writes(self) -> bool:
        """Whether the access writes, and so has a write visibility."""
        return self.kind in ("update", "insert", "remove", "read_modify_write")

    @property
    def has_read_version(self) -> bool:
        """Whether the access has a read version.

        Reads of one row have one. Scans always read committed rows (paper §6).
        """
        return self.kind in ("read", "read_modify_write")


@dataclass(frozen=True)
class TransactionType:
    """A transaction type, which is a stored procedure.

    Attributes:
        name: name of the type.
        accesses: its accesses, in the order of their ids.
    """

    name: str
    accesses: tuple[Access, ...]

    @property
    def states(self) -> range:
        """The state numbers of its accesses."""
        return range(self.accesses[0].state, self.accesses[-1].state + 1)


@dataclass(frozen=True)
class Signature:
    """The transaction types and accesses of a workload, which a policy table must fit.

    Attributes:
        workload: name of the workload.
        types: the transaction types, in order.
    """

    workload: str
    types: tuple[TransactionType, ...]

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """All accesses of the workload, indexed by state number."""
        return tuple(access for kind in self.types for access in kind.accesses)

    @cached_property
    def _types_by_name(self) -> dict[str, TransactionType]:
        return {kind.name: kind for kind in self.types}

    @property
    def state_count(self) -> int:
        """Number of states; TPC-C has 26."""
        return len(self.accesses)

    @property
    def type_names(self) -> tuple[str, ...]:
        """Names of the transaction types, in order."""
        return tuple(kind.name for kind in self.types)

    def type_named(self, name: str) -> TransactionType:
        """Return the transaction type with a name.

        Raises:
            KeyError: there is no such type.
        """
        return self._types_by_name[name]

    def rows(self) -> Iterator[tuple[TransactionType, Access]]:
        """Yield the type and the access of every state, in the order of the table's rows."""
        for kind in self.types:
            for access in kind.accesses:
                yield kind, access

    def type_of(self, state: int) -> TransactionType:
        """Return the transaction type of a state.

        Raises:
            IndexError: the workload has no such state.
        """
        for kind in self.types:
            if state in kind.states:
                return kind
        raise IndexError(f"state {state}: {self.workload} has the states 0..{self.state_count - 1}")

    def to_dict(self) -> dict[str, Any]:
        """Return the dictionary that the engine and policy files use."""
        return {
            "workload": self.workload,
            "types": [
                {
                    "name": kind.name,
                    "accesses": [
                        {
                            "id": access.state,
                            "name": access.name,
                            "table": access.table,
                            "kind": access.kind,
                            "loop": access.loop,
                        }
                        for access in kind.accesses
                    ],
                }
                for kind in self.types
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Signature:
        """Read the dictionary that the engine and policy files use.

        Raises:
            PolicyFileError: a field is missing or has the wrong type, a name occurs twice, a type
                has no accesses, or the state numbers are not 0, 1, 2, … .
        """
        workload = _text(data, "workload", "signature")
        types: list[TransactionType] = []
        state = 0
        for number, entry in enumerate(_objects(data, "types", "signature")):
            where = f"signature.types[{number}]"
            accesses = []
            for place, item in enumerate(_objects(entry, "accesses", where)):
                accesses.append(_access(item, f"{where}.accesses[{place}]", state))
                state += 1
            _refuse_repeated([access.name for access in accesses], f"{where}.accesses")
            types.append(TransactionType(_text(entry, "name", where), tuple(accesses)))
        _refuse_repeated([kind.name for kind in types], "signature.types")
        return cls(workload, tuple(types))


def workload_signature(workload: str, options: Mapping[str, str] | None = None) -> Signature:
    """Return the signature of a workload, from the engine.

    Args:
        workload: name of the workload, such as `tpcc`.
        options: options of the workload, such as `{"warehouses": "1"}`.

    Raises:
        ImportError: the engine is not built.
        ValueError: the workload or an option is unknown, or a value is out of range; the message
            lists what is allowed.
    """
    import engine

    return Signature.from_dict(engine.signature({"name": workload, **(options or {})}))


def _access(item: Mapping[str, Any], where: str, state: int) -> Access:
    if item.get("id") != state or isinstance(item.get("id"), bool):
        raise PolicyFileError(
            f"{where}: field id is {shown(item.get('id'))}; state numbers are consecutive, so it "
            f"must be {state}"
        )
    kind = _text(item, "kind", where)
    if kind not in ACCESS_KINDS:
        raise PolicyFileError(
            f"{where}: field kind is {shown(kind)}; it must be one of {', '.join(ACCESS_KINDS)}"
        )
    loop = item.get("loop", False)
    if not isinstance(loop, bool):
        raise PolicyFileError(f"{where}: field loop is {shown(loop)}; it must be true or false")
    name, table = _text(item, "name", where), _text(item, "table", where)
    return Access(state, name, table, kind, loop)


def _text(data: Mapping[str, Any], field: str, where: str) -> str:
    value = data.get(field)
    if not isinstance(value, str) or not value:
        found = "missing" if field not in data else shown(value)
        raise PolicyFileError(f"{where}: field {field} is {found}; it must be a string")
    return value


def _objects(data: Mapping[str, Any], field: str, where: str) -> list[Mapping[str, Any]]:
    value = data.get(field)
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(entry, Mapping) for entry in value)
    ):
        found = "missing" if field not in data else "of another type"
        raise PolicyFileError(
            f"{where}: field {field} is {found}; it must be a list of at least one object"
        )
    return value


def _refuse_repeated(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PolicyFileError(
                f"{where}: the name {shown(name)} occurs twice; names must be unique"
            )
