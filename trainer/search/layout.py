"""The positions of a table's units in its vector: the cells of a state, a column, a backoff."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from random import Random

from policies import Encoding, Signature
from policies.conflicts import last_conflicting_access


class Layout:
    """Positions of cells by their meaning (`policies.encoding` defines the vector).

    Args:
        encoding: of the tables.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._width = encoding.row_width

    @property
    def encoding(self) -> Encoding:
        """The encoding of the tables."""
        return self._encoding

    @property
    def signature(self) -> Signature:
        """The signature of the workload."""
        return self._encoding.signature

    @cached_property
    def type_of(self) -> tuple[int, ...]:
        """For each state, the number of its type."""
        types = self.signature.types
        return tuple(number for number, kind in enumerate(types) for _ in kind.states)

    @cached_property
    def reached(self) -> tuple[int, ...]:
        """For each state, the end of the accesses of its type that may have run before it.

        In a loop they extend to the loop's end, because of the previous round.
        """
        accesses, found = self.signature.accesses, []
        for kind in self.signature.types:
            for state in kind.states:
                end = state
                while end < kind.states.stop and accesses[end].loop:
                    end += 1
                found.append(end)
        return tuple(found)

    def row(self, state: int) -> range:
        """All cells of a state."""
        return range(state * self._width, (state + 1) * self._width)

    def block(self, type_number: int) -> range:
        """All rows of a type."""
        states = self.signature.types[type_number].states
        return range(states.start * self._width, states.stop * self._width)

    def waits(self, state: int) -> range:
        """The waits before an access, one per type."""
        return range(state * self._width, (state + 1) * self._width - 3)

    def read(self, state: int) -> int:
        """The read version."""
        return (state + 1) * self._width - 3

    def write(self, state: int) -> int:
        """The write visibility."""
        return (state + 1) * self._width - 2

    def validate(self, state: int) -> int:
        """The early validation."""
        return (state + 1) * self._width - 1

    def backoff(self, type_number: int) -> range:
        """A type's backoff: its start, then its factors."""
        first = self.signature.state_count * self._width
        length = self._encoding.backoff_width
        return range(first + type_number * length, first + (type_number + 1) * length)

    @property
    def schedule(self) -> range:
        """The schedule: policy, parameters, excluded types; empty if it has no cells."""
        return self._encoding.schedule_cells

    @property
    def protocol(self) -> range:
        """The protocol: name, options, ranks; empty if it has no cells."""
        return self._encoding.protocol_cells

    def rule(self) -> list[int]:
        """The cells of the protocol and of its options, without those of the grant policy."""
        return self._of_kind("protocol", "option")

    def option(self, name: str) -> int:
        """The cell of an option."""
        return self._encoding.names.index(f"protocol.{name}")

    def needs(self, cell: int, vector: Sequence[int], random: Random) -> dict[int, int]:
        """What must change in a table for the option of a cell to have an effect.

        Args:
            cell: of an option.
            vector: the table.
            random: draws among several values that would do.
        """
        protocols = self._encoding.protocol
        option = protocols.options[cell - self.protocol.start - 1]
        changed = {self.protocol.start: protocols.names.index(protocols.owner(option))}
        names = [each.name for each in protocols.options]
        for other in (name for name in option.needs if name in names):
            needed, allowed = self.option(other), option.needs[other]
            choices = self._encoding.cells[needed].choices
            if choices[vector[needed]] not in allowed:
                found = [value for value, choice in enumerate(choices) if choice in allowed]
                changed[needed] = random.choice(found)
        return changed

    def grants(self) -> list[int]:
        """The cells of the grant policy, without the ranks."""
        return self._of_kind("grant")

    def ranks(self) -> list[int]:
        """The rank of each type; empty if there is one type, or no grant policy."""
        return self._of_kind("rank")

    def _of_kind(self, *kinds: str) -> list[int]:
        cells = self._encoding.cells
        return [cell for cell in self.protocol if cells[cell].kind in kinds]

    def all_rows(self) -> range:
        """The rows of all states."""
        return range(self.signature.state_count * self._width)

    def all_backoffs(self) -> range:
        """The backoffs of all types."""
        return range(self.all_rows().stop, self.backoff(len(self.signature.types) - 1).stop)

    def table(self) -> range:
        """All cells except the schedule."""
        return range(self.all_backoffs().stop)

    def all_waits(self) -> list[int]:
        """The waits before all accesses."""
        return [cell for state in range(self.signature.state_count) for cell in self.waits(state)]

    def all_points(self) -> list[int]:
        """The cells that can publish: write visibilities and early validations."""
        states = range(self.signature.state_count)
        return [cell for state in states for cell in (self.write(state), self.validate(state))]

    def all_versions(self) -> list[int]:
        """The cells of uncommitted versions: write visibilities and read versions."""
        states = range(self.signature.state_count)
        return [cell for state in states for cell in (self.read(state), self.write(state))]

    def value_of(self, cell: int, choice: str) -> int:
        """The value of a cell that stands for a choice."""
        return self._encoding.cells[cell].choices.index(choice)

    def last(self, cell: int) -> int:
        """The highest value of a cell; for a wait it is `COMMIT`."""
        return len(self._encoding.cells[cell].choices) - 1

    def conflict_waits(self, state: int) -> dict[int, int]:
        """For an access, the waits for the last conflicting access of each type."""
        access = self.signature.accesses[state]
        values = {}
        for cell, kind in zip(self.waits(state), self.signature.types, strict=True):
            last = last_conflicting_access(access, kind)
            values[cell] = 0 if last is None else last - kind.states.start + 1
        return values
