"""The schedule of a policy as cells: which transaction a worker starts next (docs/admission.md).

What the section of the file may hold is for the engine to say. Here is what a search may put there:
a few values of each parameter, and for each type whether its transactions are scheduled at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policies.declared import SCHEDULE_DEFAULTS

FIFO = "fifo"
"""Transactions start as they are drawn."""

UNSCHEDULED = "unscheduled"
"""The field that lists the types whose transactions start as they are drawn."""


@dataclass(frozen=True)
class Parameter:
    """A field of the schedule.

    Attributes:
        name: as the file has it.
        choices: what a search may put there, ascending where they are numbers.
        default: what the engine takes where the field is missing.
        users: the admission policies that go by it.
    """

    name: str
    choices: tuple[str | int | float, ...]
    default: str | int | float
    users: frozenset[str]


@dataclass(frozen=True)
class NamedClassifier:
    """What foretells hot keys, as a search may choose it.

    Attributes:
        name: for people.
        text: as a policy's file has it, in JSON; "" for none.
    """

    name: str = field(compare=False)
    text: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, name: str, classifier: Any) -> NamedClassifier:
        """The one that a policy's file or a file of its own has."""
        return cls(name, json.dumps(classifier))


NO_CLASSIFIER = NamedClassifier("none", "")
"""The hints alone foretell."""

CLASSIFIER = "classifier"
HOT = "hot"
"""The field that has no say where there is a classifier."""

Value = str | int | float | bool | NamedClassifier
"""What a cell of the schedule stands for."""

_SMF = frozenset({"smf"})
_BOTH = frozenset({"smf", "tsdefer"})


def _parameter(
    name: str, choices: tuple[str | int | float, ...], users: frozenset[str]
) -> Parameter:
    """A parameter under the engine's default, written as it is among the choices."""
    default = SCHEDULE_DEFAULTS[name]
    if default not in choices:
        raise ValueError(f"{name}: the engine's default, {default}, must be among {choices}")
    return Parameter(name, choices, choices[choices.index(default)], users)


# `partition` is left out: it leaves transactions with other workers, so that over a short look the
# mix that commits is not the mix that is drawn, and the fitness of the two can't be compared.
POLICY = _parameter("policy", (FIFO, "smf", "tsdefer"), _BOTH)
PARAMETERS = (
    _parameter("window", (2, 4, 8, 16, 32), _BOTH),
    _parameter("k", (2, 3, 5, 8, 16), _SMF),
    _parameter("barrier", (4, 8, 16, 32, 64, 128), _BOTH),
    _parameter("hot", (0.003, 0.01, 0.03, 0.1, 0.3), _BOTH),
    _parameter("defer", (0.2, 0.4, 0.6, 0.8), frozenset({"tsdefer"})),
    # Of policy tables `auto` is `occ`.
    Parameter("rules", ("occ", "lock", "mvtso"), "occ", _BOTH),
    # A span should be long beside a transaction, and those of a slow store take milliseconds.
    _parameter("probe_us", (0, 1000, 30000), _BOTH),
)
"""The fields beside `policy`, in the order of the cells."""


def schedules(schedule: Mapping[str, Any] | None) -> bool:
    """Whether a policy's schedule does anything."""
    return schedule is not None and schedule.get("policy", FIFO) != FIFO


def schedule_values(schedule: Mapping[str, Any] | None, types: Sequence[str]) -> list[Value]:
    """What the cells stand for under a schedule: policy, parameters, types left out, classifier.

    A field that is missing, or that its admission policy does not go by, is as by default.

    Args:
        schedule: the section of a policy's file, valid; None: there is none.
        types: the workload's, in order.
    """
    if schedule is None or not schedules(schedule):
        parameters = (one.default for one in PARAMETERS)
        return [FIFO, *parameters, *(False for _ in types), NO_CLASSIFIER]
    policy = schedule["policy"]
    found: list[Value] = [policy]
    for one in PARAMETERS:
        has_say = policy in one.users and not (one.name == HOT and CLASSIFIER in schedule)
        value = schedule.get(one.name, one.default) if has_say else one.default
        found.append(one.default if value == "auto" else value)
    classifier = schedule.get(CLASSIFIER)
    named = NO_CLASSIFIER if classifier is None else NamedClassifier.of("one", classifier)
    return [*found, *(name in schedule.get(UNSCHEDULED, ()) for name in types), named]


def schedule_of(
    values: Sequence[Value], types: Sequence[str], classifier: NamedClassifier = NO_CLASSIFIER
) -> dict[str, Any] | None:
    """The section for cells that stand for these values; None if nothing is scheduled.

    Fields that its admission policy does not go by are left out.
    """
    policy, parameters = values[0], values[1 : 1 + len(PARAMETERS)]
    if policy == FIFO:
        return None
    section: dict[str, Any] = {"policy": policy}
    for one, value in zip(PARAMETERS, parameters, strict=True):
        if policy in one.users and not (classifier.text and one.name == HOT):
            section[one.name] = value
    if classifier.text:
        section[CLASSIFIER] = json.loads(classifier.text)
    excluded = zip(types, values[1 + len(PARAMETERS) :], strict=True)
    section[UNSCHEDULED] = [name for name, is_excluded in excluded if is_excluded]
    return section


def schedule_texts(schedule: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as the engine takes them beside a policy: all values as texts."""
    return {key: _text(value) for key, value in schedule.items()}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, Mapping) else str(value)


def schedule_options(schedule: Mapping[str, Any] | None) -> dict[str, str]:
    """The section of a policy's file as the engine takes it, with defaults for what it leaves out.

    Empty where the file has none; `fifo` alone where it says that nothing is scheduled.
    """
    if schedule is None:
        return {}
    if not schedules(schedule):
        return {"policy": FIFO}
    defaults = {one.name: one.default for one in PARAMETERS}
    rules = {"rules": SCHEDULE_DEFAULTS["rules"]}
    return schedule_texts({**defaults, **rules, UNSCHEDULED: [], **schedule})
