"""Describe the differences between two policy tables in sentences.

The sentences compare the effects of the tables (`policies.effects`), so cells that differ without
an effect are left out. Schedules are compared by the cells of `policies.schedule`. A wait for a
type is a wait for the transactions of that type on which the waiting one depends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.document import BINARY_EXPONENTIAL, BackoffRow, PolicyDocument, WaitAction
from policies.effects import UNORDERED, Effects
from policies.errors import PolicyFileError
from policies.protocol import protocol_words, values_by_name
from policies.schedule import CLASSIFIER, FIFO, UNSCHEDULED, schedule_values, schedules
from policies.seeds import SEEDS
from policies.signature import AccessKind, Signature

KIND_WORDS: dict[AccessKind, str] = {
    "read": "read",
    "update": "update",
    "insert": "insert",
    "remove": "delete",
    "scan": "scan",
    "read_modify_write": "read-modify-write",
}
"""The word for each kind of access, as in `CUSTOMER update`."""

RUN = 3
"""Number of consecutive accesses from which only the first and the last are named."""

EVERY_TYPE = "Every type"
"""The subject of a sentence about all transaction types."""

KNOWN_NAMES = {"occ": "OCC", "ic3": "IC3", "two_phase_locking_star": "2PL*"}
"""The names of the seed policies in papers."""


@dataclass(frozen=True)
class Sentence:
    """A sentence about one difference.

    Attributes:
        type: the transaction type that it is about, or `EVERY_TYPE`.
        text: text of the sentence.
        cells: number of cells that it describes.
    """

    type: str
    text: str
    cells: int


@dataclass(frozen=True)
class Explanation:
    """The differences of a table from a base table.

    Attributes:
        base: name of the base table, as papers write it.
        sentences: the sentences, first those about all types, then by type, with waits first.
        cells: number of CC, backoff, protocol and schedule cells that differ with an effect.
        without_effect: number of cells that differ without an effect.
    """

    base: str
    sentences: list[Sentence]
    cells: int
    without_effect: int


def type_words(name: str) -> str:
    """Return a type's name as papers write it, such as NewOrder for `new_order`.

    A name in another form is returned unchanged.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        return name
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def policy_words(name: str) -> str:
    """Return a policy's name as papers write it, such as IC3 for `ic3`."""
    return KNOWN_NAMES.get(name, name)


def access_words(signature: Signature, state: int) -> str:
    """Return an access as table and kind, and its name if its type has several of them."""
    access = signature.accesses[state]
    alike = [
        other
        for other in signature.type_of(state).accesses
        if (other.table, other.kind) == (access.table, access.kind)
    ]
    words = f"{access.table} {KIND_WORDS[access.kind]}"
    return words if len(alike) == 1 else f"{words} ({access.name})"


def explain(base: PolicyDocument, other: PolicyDocument) -> Explanation:
    """Describe the differences of a policy from a base policy.

    Args:
        base: the policy to compare with.
        other: the policy to describe.

    Raises:
        PolicyFileError: the policies are for different workloads.
    """
    if base.signature != other.signature:
        raise PolicyFileError(
            f"{base.name} and {other.name} are for different workloads; compare policies of one"
        )
    writer = _Writer(base, other)
    sentences = list(writer.sentences())
    return Explanation(
        policy_words(base.name),
        sentences,
        sum(sentence.cells for sentence in sentences),
        writer.without_effect(),
    )


def by_nearness(
    document: PolicyDocument, seeds: Iterable[str] = SEEDS
) -> list[tuple[PolicyDocument, Explanation]]:
    """Return the seed policies by their distance from a policy, the nearest first.

    The distance is the number of cells that differ with an effect, then of those without one.

    Args:
        document: the policy to describe.
        seeds: names of the seed policies.

    Returns:
        Each seed policy with the differences of the policy from it.
    """
    found = []
    for name in seeds:
        seed = SEEDS[name](document.signature)
        found.append((seed, explain(seed, document)))
    return sorted(found, key=lambda entry: (entry[1].cells, entry[1].without_effect))


def backoff_words(row: BackoffRow) -> str:
    """Return the backoff of a type as the predicate of a sentence."""
    start = f"{row.initial_us:g} µs"
    if not any(row.abort) and not any(row.commit):
        return f"backs off a constant {start}"
    return (
        f"backs off from {start} on, {_steps('multiplied', row.abort)} on an abort and "
        f"{_steps('divided', row.commit)} on a commit"
    )


def schedule_words(schedule: Mapping[str, Any]) -> str:
    """Return a policy's schedule as one line, with the size of its classifier."""
    parts = [str(schedule.get("policy", FIFO))]
    for key, value in schedule.items():
        if key == CLASSIFIER:
            parts.append(f"hot keys predicted by a classifier of {_rows(value)} rows")
        elif key == UNSCHEDULED:
            parts += [f"except {_listed([type_words(name) for name in value])}"] if value else []
        elif key != "policy":
            parts.append(f"{key} {value}")
    return ", ".join(parts)


def _rows(classifier: Mapping[str, Any]) -> int:
    return sum(len(kind["rows"]) for kind in classifier["types"])


def _steps(verb: str, alphas: Sequence[float]) -> str:
    factors = [f"{1 + alpha:g}" for alpha in alphas]
    if not any(alphas):
        return "unchanged"
    if len(set(factors)) == 1:
        return f"{verb} by {factors[0]}"
    by = f"{factors[0]}, {factors[1]}, {factors[2]}"
    return f"{verb} by {by} (after 0, 1, 2 or more aborted attempts)"


_WaitChange = tuple[WaitAction, WaitAction, tuple[int, ...], str | None]
"""A wait before and after, its accesses, and the type waited for if the sentence names it."""


class _Writer:
    def __init__(self, base: PolicyDocument, other: PolicyDocument) -> None:
        self._base, self._other = base, other
        self._signature = base.signature
        self._name = policy_words(base.name)
        self._rows = list(zip(Effects(base).rows, Effects(other).rows, strict=True))

    def sentences(self) -> Iterator[Sentence]:
        yield from self._protocol()
        yield from self._schedule()
        alike = self._backoff_alike()
        if alike is not None:
            yield alike
        for kind in self._signature.types:
            yield from self._waits(kind.name, kind.states)
            yield from self._reads(kind.name, kind.states)
            yield from self._publications(kind.name, kind.states)
            yield from self._validations(kind.name, kind.states)
            if alike is None:
                yield from self._backoff(kind.name, type_words(kind.name))

    def without_effect(self) -> int:
        """Return the number of cells of the CC table that differ without an effect."""
        count = 0
        for state, (base, other) in enumerate(zip(self._base.cc, self._other.cc, strict=True)):
            before, after = self._rows[state]
            count += sum(
                base.wait[name] != other.wait[name] and before.wait[name] == after.wait[name]
                for name in base.wait
            )
            count += base.read_version != other.read_version and before.dirty == after.dirty
            early = base.early_validation != other.early_validation
            count += early and self._early_change(state) is None
        return count

    def _protocol(self) -> Iterator[Sentence]:
        """Yield a sentence if the protocols differ: each option is a cell."""
        names = self._signature.type_names
        before, after = (values_by_name(each.protocol, names) for each in (self._base, self._other))
        cells = sum(before.get(key) != after.get(key) for key in {*before, *after})
        if cells:
            old, new = (protocol_words(each.protocol, names) for each in (self._base, self._other))
            text = f"Transactions run under {new}; in {self._name} under {old}."
            yield Sentence(EVERY_TYPE, text, cells)

    def _schedule(self) -> Iterator[Sentence]:
        """Yield a sentence if the schedules differ."""
        tables = (self._base.schedule, self._other.schedule)
        before, after = (schedule_values(table, self._signature.type_names) for table in tables)
        cells = sum(old != new for old, new in zip(before, after, strict=True))
        if cells:
            old, new = map(_start_words, tables)
            yield Sentence(EVERY_TYPE, f"Transactions start {new}; in {self._name} {old}.", cells)

    # ---- waits -----------------------------------------------------------------------------------

    def _waits(self, kind: str, states: range) -> Iterator[Sentence]:
        """Yield the changed waits, grouped by accesses and then by types with the same change."""
        groups: dict[_WaitChange, list[str]] = {}
        for name in self._signature.type_names:
            for (before, after), where in self._changed_waits(name, states).items():
                # Two types share a sentence only if it names none of their accesses.
                whose = None if isinstance(before, str) and isinstance(after, str) else name
                groups.setdefault((before, after, tuple(where), whose), []).append(name)
        for (before, after, places, _), names in groups.items():
            text = self._wait_words(kind, list(places), names, before, after)
            yield Sentence(kind, text, len(places) * len(names))

    def _changed_waits(
        self, name: str, states: range
    ) -> dict[tuple[WaitAction, WaitAction], list[int]]:
        found: dict[tuple[WaitAction, WaitAction], list[int]] = {}
        for state in states:
            if self._base.cc[state].wait[name] == self._other.cc[state].wait[name]:
                continue
            change = self._rows[state][0].wait[name], self._rows[state][1].wait[name]
            if change[0] != change[1]:
                found.setdefault(change, []).append(state)
        return found

    def _wait_words(
        self,
        kind: str,
        where: list[int],
        names: list[str],
        before: WaitAction,
        after: WaitAction,
    ) -> str:
        subject, plural = self._subject(kind, where)
        verb = "wait" if plural else "waits"
        others = [f"another {type_words(n)}" if n == kind else type_words(n) for n in names]
        whom = _listed(others)
        if after == "NO_WAIT":
            no = f"{subject} {'do' if plural else 'does'} not wait"
            if self._all(kind, where):
                no = f"None of {type_words(kind)}'s accesses waits"
            nobody = _listed(others, "or")
            return f"{no} for {nobody}; {self._name} waits {self._until(before, whom)}."
        if before == "NO_WAIT":
            return f"{subject} {verb} {self._until(after, whom)}; {self._name} does not wait."
        if after == "COMMIT":
            return f"{subject} {verb} for {whom} to end, not just to finish {self._one(before)}."
        if before == "COMMIT":
            return f"{subject} {verb} for {whom} to finish {self._one(after)}, not to end."
        return f"{subject} {verb} for {whom} to finish {self._one(after)}, not {self._one(before)}."

    def _until(self, wait: WaitAction, whom: str) -> str:
        if wait == "COMMIT":
            return f"for {whom} to end"
        return f"for {whom} to finish {self._one(wait)}"

    def _one(self, wait: WaitAction) -> str:
        """Return the access that has to be finished; `wait` is a state."""
        assert isinstance(wait, int)
        words = f"its {access_words(self._signature, wait)}"
        return f"all iterations of {words}" if self._signature.accesses[wait].loop else words

    # ---- the other cells -------------------------------------------------------------------------

    def _reads(self, kind: str, states: range) -> Iterator[Sentence]:
        changed = [
            state
            for state in states
            if self._base.cc[state].read_version != self._other.cc[state].read_version
            and self._rows[state][0].dirty != self._rows[state][1].dirty
        ]
        for after in (True, False):
            where = [state for state in changed if self._rows[state][1].dirty is after]
            if where:
                yield Sentence(kind, self._read_words(kind, where, after), len(where))

    def _publications(self, kind: str, states: range) -> Iterator[Sentence]:
        """Yield the writes that are now public, then the private ones by when they are visible."""
        public: dict[str, list[int]] = {}
        private: dict[str, list[int]] = {}
        for state in states:
            before, after = self._rows[state]
            if before.publishes == after.publishes:
                continue
            groups, table = (public, 0) if after.publishes else (private, 1)
            groups.setdefault(self._private_until(kind, state, table), []).append(state)
        for until, where in public.items():
            yield Sentence(kind, self._public_words(kind, where, until), len(where))
        for until, where in private.items():
            yield Sentence(kind, self._private_words(kind, where, until), len(where))

    def _validations(self, kind: str, states: range) -> Iterator[Sentence]:
        for change in ("gained", "kept", "lost"):
            where = [state for state in states if self._early_change(state) == change]
            if where:
                yield Sentence(kind, self._validation_words(kind, where, change), len(where))

    def _early_change(self, state: int) -> str | None:
        """Return the effect of a different early validation: `gained`, `lost`, `kept` or None.

        It is `kept` if the base publishes there, and so validates. It is None without an effect,
        because a published write is always validated.
        """
        base, other = self._base.cc[state], self._other.cc[state]
        before, after = self._rows[state]
        if base.early_validation == other.early_validation or after.publishes:
            return None
        if other.early_validation:
            return "kept" if before.publishes else "gained"
        return "lost"

    def _read_words(self, kind: str, where: list[int], after: bool) -> str:
        subject, plural = self._subject(kind, where)
        takes = "take" if plural else "takes"
        if after:
            return (
                f"{subject} {takes} the latest published version, committed or not; {self._name} "
                "reads committed versions only."
            )
        return (
            f"{subject} {takes} only committed versions; {self._name} also reads published, "
            "uncommitted ones."
        )

    def _public_words(self, kind: str, where: list[int], until: str) -> str:
        subject, plural = self._subject(kind, where)
        return (
            f"{subject} {'are' if plural else 'is'} validated and published at once, with all "
            f"earlier writes of {type_words(kind)}; {self._name} keeps "
            f"{'them' if plural else 'it'} private {until}."
        )

    def _private_words(self, kind: str, where: list[int], until: str) -> str:
        subject, plural = self._subject(kind, where)
        stays = "stay" if plural else "stays"
        return f"{subject} {stays} private {until}; {self._name} publishes at once."

    def _private_until(self, kind: str, state: int, table: int) -> str:
        """Return when a private write becomes visible, which is at the next publication point.

        Args:
            kind: transaction type of the access.
            state: state of the access.
            table: table in which the write is private, 0 for the base and 1 for the other one.
        """
        states = self._signature.type_named(kind).states
        points = [at for at in states if self._rows[at][table].publishes]
        if not points:
            return "until the commit"
        if self._signature.workload in UNORDERED or self._signature.accesses[state].loop:
            return "until the next publication or the commit"
        later = [at for at in points if at > state]
        if not later:
            return "until the commit"
        return f"until its {access_words(self._signature, later[0])} is published"

    def _validation_words(self, kind: str, where: list[int], change: str) -> str:
        named, _ = self._named(where)
        whose = type_words(kind)
        if change == "gained":
            return f"{whose} validates early, after its {named}; {self._name} does not."
        if change == "kept":
            return (
                f"{whose} validates early, after its {named}, without publishing; {self._name} "
                "validates there and publishes."
            )
        return f"{whose} does not validate after its {named}; {self._name} does."

    def _backoff_alike(self) -> Sentence | None:
        """Return one sentence for all types if their backoffs changed equally, else None."""
        kinds = self._signature.type_names
        found = [sentence for kind in kinds for sentence in self._backoff(kind, EVERY_TYPE)]
        if not 1 < len(found) == len(kinds) or len({sentence.text for sentence in found}) > 1:
            return None
        return Sentence(EVERY_TYPE, found[0].text, sum(sentence.cells for sentence in found))

    def _backoff(self, kind: str, subject: str) -> Iterator[Sentence]:
        before, after = self._base.backoff[kind], self._other.backoff[kind]
        cells = sum(
            old != new
            for old, new in zip(
                (before.initial_us, *before.abort, *before.commit),
                (after.initial_us, *after.abort, *after.commit),
                strict=True,
            )
        )
        if not cells:
            return
        if before == BINARY_EXPONENTIAL:
            usual = (
                f"{self._name} starts at {before.initial_us:g} µs, doubles on an abort and halves "
                "on a commit"
            )
        else:
            usual = f"{self._name} {backoff_words(before)}"
        yield Sentence(kind, f"{subject} {backoff_words(after)}; {usual}.", cells)

    # ---- names -----------------------------------------------------------------------------------

    def _subject(self, kind: str, where: list[int]) -> tuple[str, bool]:
        """Return accesses of a type as the subject of a sentence, and whether it is plural."""
        if self._all(kind, where):
            return f"All of {type_words(kind)}'s accesses", True
        named, plural = self._named(where)
        return f"{type_words(kind)}'s {named}", plural

    def _all(self, kind: str, where: list[int]) -> bool:
        """Return whether accesses are all those of a type, and too many to name."""
        everything = len(self._signature.type_named(kind).accesses)
        return len(where) == everything > RUN

    def _named(self, where: list[int]) -> tuple[str, bool]:
        parts = []
        for run in _runs(where):
            words = [access_words(self._signature, state) for state in run]
            if len(run) >= RUN:
                words = [f"{words[0]} to {words[-1]}"]
            parts += words
        return _listed(parts), len(where) > 1


def _start_words(schedule: Mapping[str, Any] | None) -> str:
    if schedule is None or not schedules(schedule):
        return "as they are drawn"
    return f"in the order of their schedule ({schedule_words(schedule)})"


def _runs(states: list[int]) -> list[list[int]]:
    """Split states into runs of consecutive ones."""
    runs: list[list[int]] = []
    for state in states:
        if runs and runs[-1][-1] == state - 1:
            runs[-1].append(state)
        else:
            runs.append([state])
    return runs


def _listed(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
