"""The signature of a workload: its transaction types and their accesses, typed.

A *state* is a pair (transaction type, access id); states are numbered through the whole workload
in the order of the types (Polyjuice, OSDI 2021, §4.2). The compiled engine is the source of
every signature; this module only gives its dictionary a type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from policies.errors import PolicyFileError, shown

AccessKind = Literal["read", "update", "insert", "remove", "scan", "read_modify_write"]
"""What an access does. `read_modify_write` is a read and the update of the same row as one state;
it has both a read version and a write visibility."""

ACCESS_KINDS: tuple[AccessKind, ...] = get_args(AccessKind)


@dataclass(frozen=True)
class Access:
    """One static data access of a stored procedure.

    Attributes:
        state: the state number, which is also the access id, counted through the workload.
        name: its name, unique within its type, such as `update_district`.
        table: the table it touches.
        kind: what it does there.
        loop: whether one execution of the procedure may make it several times.
    """

    state: int
    name: str
    table: str
    kind: AccessKind
    loop: bool = False

    @property
    def writes(self) -> bool:
        """Whether it updates, inserts or removes, and so has a write visibility."""
        return self.kind in ("update", "insert", "remove", "read_modify_write")

    @property
    def has_read_version(self) -> bool:
        """Whether it can choose between the committed and the uncommitted version.

        Reads of one row can; scans always see committed rows (paper §6).
        """
        return self.kind in ("read", "read_modify_write")


@dataclass(frozen=True)
class TransactionType:
    """One stored procedure: its name and its accesses, in the order of their ids."""

    name: str
    accesses: tuple[Access, ...]

    @property
    def states(self) -> range:
        """The state numbers of its accesses."""
        return range(self.accesses[0].state, self.accesses[-1].state + 1)


@dataclass(frozen=True)
class Signature:
    """What a policy table is written against: a workload's types and accesses."""

    workload: str
    types: tuple[TransactionType, ...]

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Every access of the workload; its position is its state number."""
        return tuple(access for kind in self.types for access in kind.accesses)

    @cached_property
    def _types_by_name(self) -> dict[str, TransactionType]:
        return {kind.name: kind for kind in self.types}

    @property
    def state_count(self) -> int:
        """How many states there are; TPC-C has 26."""
        return len(self.accesses)

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the types, in order."""
        return tuple(kind.name for kind in self.types)

    def type_named(self, name: str) -> TransactionType:
        """The type of this name.

        Raises:
            KeyError: There is none.
        """
        return self._types_by_name[name]

    def rows(self) -> Iterator[tuple[TransactionType, Access]]:
        """Every state with its type, in the order of the table's rows."""
        for kind in self.types:
            for access in kind.accesses:
                yield kind, access

    def type_of(self, state: int) -> TransactionType:
        """The type that the state belongs to.

        Raises:
            IndexError: The workload has no such state.
        """
        for kind in self.types:
            if state in kind.states:
                return kind
        raise IndexError(f"state {state}: {self.workload} has the states 0..{self.state_count - 1}")

    def to_dict(self) -> dict[str, Any]:
        """The form that the engine and the policy file use."""
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
        """Read the engine's form.

        Raises:
            PolicyFileError: A field is missing or has the wrong type, a name is used twice, a
                type has no accesses, or the state numbers don't run 0, 1, 2, … .
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
    """Ask the engine for the signature of a workload.

    Args:
        workload: its name, such as `tpcc`.
        options: the workload's options, such as `{"warehouses": "1"}`.

    Raises:
        ImportError: The compiled engine is not installed.
        ValueError: The engine knows no such workload or option, or an option's value is wrong; its
            message lists what it knows.
    """
    import engine

    return Signature.from_dict(engine.signature({"name": workload, **(options or {})}))


def _access(item: Mapping[str, Any], where: str, state: int) -> Access:
    if item.get("id") != state or isinstance(item.get("id"), bool):
        raise PolicyFileError(
            f"{where}: field id is {shown(item.get('id'))}; state numbers run through the "
            f"workload, so here it must be {state}"
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
        raise PolicyFileError(f"{where}: field {field} is {found}; it must be a name")
    return value


def _objects(data: Mapping[str, Any], field: str, where: str) -> list[Mapping[str, Any]]:
    value = data.get(field)
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(entry, Mapping) for entry in value)
    ):
        found = "missing" if field not in data else "not that"
        raise PolicyFileError(
            f"{where}: field {field} is {found}; it must be a list of at least one object"
        )
    return value


def _refuse_repeated(names: list[str], where: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise PolicyFileError(
                f"{where}: the name {shown(name)} is used twice; names are unique"
            )
