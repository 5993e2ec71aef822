"""Transaction types: the accesses of a transaction, in the order of their first occurrence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from traces.importers.postgresql.accesses import Access
from traces.importers.postgresql.catalog import split_name
from traces.importers.postgresql.templates import CodedAccess, Templates
from traces.manifest import Access as NamedAccess
from traces.manifest import TransactionType

TYPES_MAX = 10_000
"""The maximum number of transaction types."""

ACCESSES_MAX = 1 << 15
"""The number of accesses of a type that a trace can number with its 16 bits."""

_NAMED_MAX = 2
"""The maximum number of accesses in the name of a type."""

_DIGITS = 6
"""The length of the digest of a type's accesses in its name."""


class TypeOf:
    """One transaction type.

    Attributes:
        number: its number among the types, from 0.
        name: its name, which is the same for the same accesses in each log.
        ids: the access id of each access, by the access's code.
    """

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.ids: dict[int, int] = {}


class Types:
    """The types of a log's transactions.

    A transaction's type is the sequence of its templates' accesses, each at its first occurrence.
    Repetitions and loops make no difference.

    Args:
        templates: the templates of the log.
        names: new names of types, by default name. Types with the same new name become one.
    """

    def __init__(self, templates: Templates, names: Mapping[str, str] | None = None) -> None:
        self._templates = templates
        self._names = dict(names or {})
        self._by_signature: dict[tuple[int, ...], TypeOf | None] = {}
        self._by_name: dict[str, TypeOf] = {}
        self.renamed: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The names of the types, by number."""
        return list(self._by_name)

    def of(self, codes: Iterable[int]) -> TypeOf | None:
        """Return the type of a transaction with these accesses; None beyond `TYPES_MAX` types."""
        signature = tuple(dict.fromkeys(codes))
        if signature in self._by_signature:
            return self._by_signature[signature]
        if len(self._by_signature) >= TYPES_MAX:
            return None
        return self._by_signature.setdefault(signature, self._new(signature))

    def described(self) -> tuple[TransactionType, ...]:
        """Return the types for a manifest."""
        return tuple(
            TransactionType(type_.name, tuple(self._accesses(type_)))
            for type_ in self._by_name.values()
        )

    def _new(self, signature: tuple[int, ...]) -> TypeOf | None:
        accesses = [self._templates.coded[code] for code in signature]
        given = f"{_readable(access.access for access in accesses)}.{_digest(accesses)}"
        name = self._names.get(given, given)
        if name != given:
            self.renamed.add(given)
        type_ = self._by_name.setdefault(name, TypeOf(len(self._by_name), name))
        for code in signature:
            type_.ids.setdefault(code, len(type_.ids))
        return type_ if len(type_.ids) <= ACCESSES_MAX else None

    def _accesses(self, type_: TypeOf) -> Iterable[NamedAccess]:
        used: set[str] = set()
        for code, number in type_.ids.items():
            access = self._templates.coded[code].access
            name = _name(access)
            if name in used:
                name = next(
                    again for n in range(2, ACCESSES_MAX) if (again := f"{name}_{n}") not in used
                )
            used.add(name)
            yield NamedAccess(number, name, access.table, access.kind)


def _name(access: Access) -> str:
    return f"{access.kind}_{access.table.replace('.', '_')}"


def _readable(accesses: Iterable[Access]) -> str:
    """Return the writes, or the reads if there are none."""
    made = list(accesses)
    writes = [access for access in made if access.kind not in ("read", "scan")]
    names = list(dict.fromkeys(_name(access) for access in writes or made))
    shown = names[:_NAMED_MAX]
    more = [f"{len(names) - _NAMED_MAX}_more"] if len(names) > _NAMED_MAX else []
    return "+".join([*shown, *more])


def _digest(accesses: Iterable[CodedAccess]) -> str:
    whole = "\n".join(
        f"{access.template.text}|{access.place}{_schema(access)}" for access in accesses
    )
    return blake2b(whole.encode("utf-8", "replace"), digest_size=8).hexdigest()[:_DIGITS]


def _schema(coded: CodedAccess) -> str:
    """Return the schema of a name that the search path resolved."""
    schema, _ = split_name(coded.access.table)
    return f"|{schema}" if schema and schema.lower() not in coded.template.text.lower() else ""
