"""Names of steps: the path of each in the variance tree."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.variance.steps import NONE, Part, Phase, Steps, Waits
from trainer.variance.tree import Label, Path

EXECUTION = "execution"
"""The name of the step of an attempt outside its accesses and its commit."""
_PARTS = {
    Part.ADMISSION: "admission",
    Part.BETWEEN: "between attempts",
    Part.BACKOFF: "backoff",
    Part.HELD: "held by admission",
    Part.ABORTED: "aborted attempts",
    Part.LAST: "last attempt",
}
_PHASES = {
    Phase.EXECUTION: EXECUTION,
    Phase.LOCKING: "locking",
    Phase.VALIDATION: "validation",
    Phase.INSTALLATION: "installation",
    Phase.RELEASE: "release",
    Phase.UNDO: "undo",
    Phase.RETRY: "retry",
}
_COMMIT = (Phase.LOCKING, Phase.VALIDATION, Phase.INSTALLATION, Phase.RELEASE)
_WAITS = {
    Waits.LOCK: "waits for a lock",
    Waits.ACCESS: "waits for an access",
    Waits.END: "waits for an end",
    Waits.SPIN: "spins",
    Waits.BATCH: "waits for its batch",
}
_NO_TRANSACTION: dict[int, str] = {
    NONE: "others in turn",
    Part.OUTSIDE: "between transactions",
    Part.SKIPPED: "a transaction not recorded",
}
OWN = "own time"


@dataclass(frozen=True)
class Leaf:
    """What distinguishes the leaves of the variance trees: numbers of `Segments`.

    Attributes:
        part: part of the transaction's life.
        phase: phase of the attempt; its execution outside attempts.
        state: state of the access, or `NONE`.
        waits: the event that it waits for.
        blocker: type of the transaction waited for, or `NONE`.
        other_part: part of the blocker's life in which it was meanwhile; `NONE` if unknown.
        other_phase: its phase.
        other_state: its state.
        other_waits: the event that it waits for, if its own wait can't be followed.
        other_type: its type.
    """

    part: int
    phase: int
    state: int
    waits: int
    blocker: int
    other_part: int
    other_phase: int
    other_state: int
    other_waits: int
    other_type: int


def path_of(leaf: Leaf, steps: Steps) -> Path:
    """Return the labels from the child of the root to a leaf."""
    part = _plain(_PARTS[Part(leaf.part)])
    if leaf.part not in (Part.ABORTED, Part.LAST):
        return (part,)
    what = step_name(leaf.phase, leaf.state, steps)
    step = Label(what, f"{what} with its waits")
    above = (part, _plain("commit")) if leaf.phase in _COMMIT else (part,)
    if leaf.waits == Waits.NOTHING:
        return (*above, step, Label(OWN, what))
    wait = _WAITS[Waits(leaf.waits)]
    waiting = Label(wait, f"{what} {wait}")
    if leaf.other_part in _NO_TRANSACTION:
        name = _NO_TRANSACTION[leaf.other_part]
        return (*above, step, waiting, Label(name, f"blocker: {name}"))
    kind = _type_name(leaf.other_type, steps)
    meanwhile = _meanwhile(leaf, kind, steps)
    return (
        *above,
        step,
        waiting,
        Label(f"while {kind} runs", f"{what} {wait} while {kind} runs"),
        Label(meanwhile, f"blocker: {meanwhile}"),
    )


def step_name(phase: int, state: int, steps: Steps) -> str:
    """Return the name of a step of an attempt."""
    return steps.state_name(state) if phase == Phase.ACCESS else _PHASES[Phase(phase)]


def _meanwhile(leaf: Leaf, kind: str, steps: Steps) -> str:
    if leaf.other_waits != Waits.NOTHING:
        return f"{kind}, {_WAITS[Waits(leaf.other_waits)]}"
    if leaf.other_part not in (Part.ABORTED, Part.LAST):
        return f"{kind}, {_PARTS[Part(leaf.other_part)]}"
    name = step_name(leaf.other_phase, leaf.other_state, steps)
    return name if name.startswith(f"{kind}.") else f"{kind}, {name}"


def _type_name(number: int, steps: Steps) -> str:
    return "another" if number == NONE else steps.recorded.types[number]


def _plain(name: str) -> Label:
    return Label(name, name)
