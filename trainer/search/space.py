"""The tables that a search may propose: those that its action groups allow (paper §7.2).

Cells outside the search's action groups keep the value of the base table (`search.base`), which is
OCC's by default.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from random import Random

from envs.engine_interface import load_engine
from envs.subject import Subject
from policies import (
    ACTION_GROUPS,
    GRANT,
    PROTOCOL,
    SCHEDULE,
    Cell,
    Encoding,
    PolicyFileError,
    Signature,
    action_group,
    resolve,
)
from policies.protocol import (
    EXTERNAL,
    IN_MEMORY,
    LOCKING,
    PROTOCOLS,
    TABLE,
    parse_typed,
    runs_in_store,
)
from policies.schedule import NamedClassifier, schedules
from trainer.classifier.document import read_classifier
from trainer.config import SearchConfig

_ACTIONS = (*ACTION_GROUPS, SCHEDULE, GRANT)


class Space:
    """The allowed values of each cell. Cells outside the action groups keep the base's value.

    Args:
        encoding: the workload's tables.
        actions: names of action groups, see `policies.ACTION_GROUPS`; or `schedule`, or `grant`.
        base: the table that is changed; None = OCC under binary exponential backoff.
        protocols: names of the allowed protocols; a base under another one gets the first of them.

    Raises:
        ValueError: a name is not an action group, or there is none; the message lists them. Or no
            cell of this workload's tables has a choice.
    """

    def __init__(
        self,
        encoding: Encoding,
        actions: Collection[str],
        base: Sequence[int] | None = None,
        protocols: Sequence[str] = (TABLE,),
    ) -> None:
        if not actions:
            there = ", ".join(_ACTIONS)
            raise ValueError(f"search.actions=[]: must name at least one of {there}")
        try:
            allowed = encoding.allowed(actions)
        except ValueError as error:
            raise ValueError(f"search.actions=[{','.join(actions)}]: {error}") from error
        self._encoding = encoding
        self._base = tuple(
            [cell.default for cell in encoding.cells] if base is None else map(int, base)
        )
        names = [TABLE, *encoding.protocols]
        chosen = [names.index(name) for name in protocols]
        for position in encoding.protocol_cells[:1]:
            if self._base[position] not in chosen:
                self._base = (*self._base[:position], chosen[0], *self._base[position + 1 :])
        self._values = tuple(
            tuple(sorted({*values, own})) if _changes(cell, actions) else (own,)
            for cell, values, own in zip(encoding.cells, allowed, self._base, strict=True)
        )
        if encoding.protocols:
            self._restrict_protocols(chosen)
        self._known = [frozenset(values) for values in self._values]
        self._open = tuple(i for i, values in enumerate(self._values) if len(values) > 1)
        if not self._open:
            there = ", ".join(_ACTIONS)
            raise ValueError(
                f"search.actions=[{','.join(actions)}]: allows only one table of workload "
                f"{encoding.signature.workload}; name more of {there}"
            )

    def _restrict_protocols(self, chosen: Sequence[int]) -> None:
        """Allow only some protocols; without the table its rows have no effect.

        In an external store neither has the backoff, which is the protocol's own.
        """
        encoding, values = self._encoding, list(self._values)
        values[encoding.protocol_cells.start] = tuple(sorted(chosen))
        if 0 not in chosen:
            for cell in encoding.cc_cells:
                values[cell] = (self._base[cell],)
        if all(map(runs_in_store, (encoding.protocol.names[number] for number in chosen))):
            for cell in encoding.backoff_cells:
                values[cell] = (self._base[cell],)
        self._values = tuple(values)

    @property
    def encoding(self) -> Encoding:
        """The encoding of the tables."""
        return self._encoding

    @property
    def base(self) -> tuple[int, ...]:
        """The table that is changed."""
        return self._base

    @property
    def values(self) -> tuple[tuple[int, ...], ...]:
        """For each cell its allowed values, ascending; a single one if it has no choice."""
        return self._values

    @property
    def open(self) -> tuple[int, ...]:
        """The positions of the cells that have a choice."""
        return self._open

    @property
    def size(self) -> int:
        """The number of tables."""
        return math.prod(len(values) for values in self._values)

    def fit(self, vector: Sequence[int]) -> tuple[int, ...]:
        """Return the table with the base's value in every cell whose own value is not allowed."""
        return tuple(
            value if value in known else own
            for value, known, own in zip(vector, self._known, self._base, strict=True)
        )

    def draw(self, random: Random) -> tuple[int, ...]:
        """Draw a table uniformly."""
        return tuple(random.choice(values) for values in self._values)

    def redraw(self, vector: Sequence[int], cells: Collection[int], random: Random) -> list[int]:
        """Return the table with these cells redrawn, each uniformly from its other values."""
        changed = list(vector)
        for cell in cells:
            others = [value for value in self._values[cell] if value != changed[cell]]
            changed[cell] = random.choice(others)
        return changed

    def moves(self, vector: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield every (cell, other value): each leads to a table that differs in this cell."""
        for cell in self._open:
            for value in self._values[cell]:
                if value != vector[cell]:
                    yield cell, value


def space_of(config: SearchConfig, signature: Signature) -> Space:
    """Return the space of a search's settings.

    It includes the schedule if an action group of the search does, or if the base has one, and the
    protocol if the search may choose another one than the table.

    Raises:
        ValueError: `search.actions` names no action group, or leaves nothing to search;
            `search.protocols` names no protocol, or an external store and other protocols.
        PolicyFileError: `search.base` is no policy for the workload, or one of `search.classifiers`
            no classifier for it.
    """
    classifiers = _classifiers(config, signature)
    protocols = _protocols(config)
    others = tuple(name for name in protocols if name != TABLE)
    if config.base is None:
        encoding = Encoding(signature, SCHEDULE in config.actions, classifiers, others)
        return Space(encoding, config.actions, protocols=protocols)
    try:
        document = resolve(config.base, signature)
        scheduled = SCHEDULE in config.actions or schedules(document.schedule)
        encoding = Encoding(signature, scheduled, classifiers, others)
        base = encoding.encode(document)
    except PolicyFileError as error:
        raise PolicyFileError(f"search.base: {error}") from error
    if encoding.stores and not encoding.is_external(base):
        raise PolicyFileError(
            f"search.base: {config.base} has no effect in front of a store; name a policy under "
            f"{EXTERNAL}, or leave it out"
        )
    return Space(encoding, config.actions, base, protocols)


def _protocols(config: SearchConfig) -> list[str]:
    """Return the protocols that a search may choose, each once.

    Raises:
        ValueError: a name is not a protocol, there is none, or the actions need another one.
    """
    names = list(dict.fromkeys(config.protocols))
    typed = f"search.protocols=[{','.join(config.protocols)}]"
    stores = [name for name in names if _names_store(name)]
    if stores:
        return _store(names, typed, config)
    if unread := [name for name in names if name.startswith(f"{EXTERNAL}:")]:
        raise ValueError(
            f"search.protocols: the options of {unread[0].partition(':dsn=')[0]} can't be read; "
            "write :option=value for each, where a value has letters, digits and . / ~ - _"
        )
    if unknown := [name for name in names if name not in IN_MEMORY]:
        raise ValueError(
            f"{typed}: no such protocol: {', '.join(unknown)}; use some of {', '.join(PROTOCOLS)}"
        )
    if not names:
        raise ValueError(f"{typed}: must name at least one of {', '.join(PROTOCOLS)}")
    if GRANT in config.actions and LOCKING not in names:
        raise ValueError(
            f"{typed}: search.actions has {GRANT}, the grant policy of {LOCKING}; add {LOCKING} to "
            "search.protocols"
        )
    return names


def _store(names: Sequence[str], typed: str, config: SearchConfig) -> list[str]:
    """Return the only protocol of a search in front of an external store.

    Raises:
        ValueError: there are others, the actions need another one, or its options are wrong.
    """
    # First, because it refuses a password, which the other messages would show.
    for parsed in map(parse_typed, names):
        if parsed is not None and parsed[0] == EXTERNAL:
            try:
                load_engine().check_protocol(*parsed)
            except ValueError as error:
                raise ValueError(f"search.protocols: {error}") from None
    if len(names) > 1:
        raise ValueError(
            f"{typed}: {EXTERNAL} runs in a store, and the others in the engine; name it alone"
        )
    if GRANT in config.actions:
        raise ValueError(f"{typed}: has no grant policy; leave {GRANT} out of search.actions")
    return list(names)


def _names_store(name: str) -> bool:
    """Return whether one of `search.protocols` is an external store.

    Raises:
        ValueError: an option occurs twice.
    """
    try:
        return runs_in_store(name)
    except ValueError as error:
        raise ValueError(f"search.protocols: {error}") from None


def store_of(config: SearchConfig) -> Subject | None:
    """Return the external store that a search is in front of; None if it is in the engine.

    The other settings must be valid (`space_of`).

    Raises:
        ValueError: an option of the first protocol occurs twice.
    """
    name = config.protocols[0] if config.protocols else TABLE
    if not _names_store(name):
        return None
    parsed = parse_typed(name)
    assert parsed is not None
    return Subject(name, EXTERNAL, options=parsed[1])


def _classifiers(config: SearchConfig, signature: Signature) -> tuple[NamedClassifier, ...]:
    if config.classifiers and SCHEDULE not in config.actions:
        raise PolicyFileError(
            "search.classifiers: apply only to a schedule; add schedule to search.actions"
        )
    found: dict[NamedClassifier, None] = {}
    for name in config.classifiers:
        try:
            classifier = NamedClassifier.of(Path(name).stem, read_classifier(Path(name)))
            options = {"policy": "smf", "classifier": classifier.text}
            load_engine().check_schedule(options, signature.to_dict())
        except (PolicyFileError, ValueError) as error:
            raise PolicyFileError(f"search.classifiers: {name}: {error}") from error
        found.setdefault(classifier)
    return tuple(found)


def _changes(cell: Cell, actions: Collection[str]) -> bool:
    """Return whether one of the action groups includes a cell."""
    groups = {*actions, PROTOCOL}
    return any(action_group(cell, value) in groups for value in range(len(cell.choices)))
