"""What statements touch, as data."""

from __future__ import annotations

from dataclasses import dataclass

NOT_PARSED = "statement that can't be parsed"
KEY_NOT_NAMED = "write that does not name the keys of its rows"
FUNCTION = "call of a function whose statements are not in the log"


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Where the value of one key column comes from.

    Attributes:
        slot: the slot of the statement's shape that has it; None for `text`.
        text: the value itself, where it is a constant of the template.
        is_array: whether the slot holds an array, each item of which is a value: `= ANY($1)`.
    """

    slot: int | None
    text: str = ""
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One access that a statement makes, or several to rows of one table.

    Attributes:
        table: its name.
        kind: one of `traces.schema.ACCESS_KINDS`.
        key: the parts of the key, in its order. A scan's are those of the first of its range, as
            far as they are known. None: the database makes the key, as a sequence does.
        by_row: whether the n-th values of all parts belong together, as in a list of rows;
            otherwise every combination of them is a key.
    """

    table: str
    kind: str
    key: tuple[KeyPart, ...] | None
    by_row: bool = False


@dataclass(frozen=True, slots=True)
class Accesses:
    """What statements of one shape touch.

    Attributes:
        made: the accesses, in the order in which they are made: of one statement, reads first.
        faults: what could not be read off.
        guessed: tables whose keys were to be guessed, and could not yet be.
    """

    made: tuple[Access, ...] = ()
    faults: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()
