"""The schedule of a policy as cells (docs/admission.md).

The engine decides which values are valid. A search uses only some of them: a few values of each
parameter, and for each type whether its transactions are scheduled.
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
        name: name of the field in the file.
        choices: values that a search may use; numbers are in ascending order.
        default: the engine's default.
        users: the admission policies that use the field.
    """

    name: str
    choices: tuple[str | int | float, ...]
    default: str | int | float
    users: frozenset[str]


@dataclass(frozen=True)
class NamedClassifier:
    """A classifier of hot keys that a search may choose.

    Attributes:
        name: name of the classifier.
        text: its JSON text, as in a policy file; "" for none.
    """

    name: str = field(compare=False)
    text: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, name: str, classifier: Any) -> NamedClassifier:
        """Return the classifier with a name and JSON values."""
        return cls(name, json.dumps(classifier))


NO_CLASSIFIER = NamedClassifier("none", "")
"""No classifier; hot keys come from the hints alone."""

CLASSIFIER = "classifier"
HOT = "hot"
"""The field that has no effect if there is a classifier."""

Value = str | int | float | bool | NamedClassifier
"""The value of a cell of the schedule."""

_SMF = frozenset({"smf"})
_BOTH = frozenset({"smf", "tsdefer"})


def _parameter(
    name: str, choices: tuple[str | int | float, ...], users: frozenset[str]
) -> Parameter:
    """Return a parameter with the engine's default, which must be one of the choices."""
    default = SCHEDULE_DEFAULTS[name]
    if default not in choices:
        raise ValueError(f"{name}: the engine's default, {default}, must be among {choices}")
    return Parameter(name, choices, choices[choices.index(default)], users)


# `partition` is left out. It moves transactions to other workers, so that in a short slice the mix
# of commits differs from the mix drawn, and fitness is not comparable.
POLICY = _parameter("policy", (FIFO, "smf", "tsdefer"), _BOTH)
PARAMETERS = (
    _parameter("window", (2, 4, 8, 16, 32), _BOTH),
    _parameter("k", (2, 3, 5, 8, 16), _SMF),
    _parameter("barrier", (4, 8, 16, 32, 64, 128), _BOTH),
    _parameter("hot", (0.003, 0.01, 0.03, 0.1, 0.3), _BOTH),
    _parameter("defer", (0.2, 0.4, 0.6, 0.8), frozenset({"tsdefer"})),
    # For policy tables `auto` means `occ`.
    Parameter("rules", ("occ", "lock", "mvtso"), "occ", _BOTH),
    # A span should be longer than a transaction, which takes milliseconds on a slow store.
    _parameter("probe_us", (0, 1000, 30000), _BOTH),
)
"""The fields other than `policy`, in the order of the cells."""


def schedules(schedule: Mapping[str, Any] | None) -> bool:
    """Return whether a policy's schedule has an effect."""
    return schedule is not None and schedule.get("policy", FIFO) != FIFO


def schedule_values(schedule: Mapping[str, Any] | None, types: Sequence[str]) -> list[Value]:
    """Return the values of the cells: policy, parameters, types left out, classifier.

    A field that is missing, or that the admission policy does not use, has its default.

    Args:
        schedule: valid section `schedule` of a policy file, or None.
        types: names of the workload's types, in order.
    """
    if schedule is None or not schedules(schedule):
        parameters = (parameter.default for parameter in PARAMETERS)
        return [FIFO, *parameters, *(False for _ in types), NO_CLASSIFIER]
    policy = schedule["policy"]
    found: list[Value] = [policy]
    for parameter in PARAMETERS:
        used = policy in parameter.users and not (parameter.name == HOT and CLASSIFIER in schedule)
        value = schedule.get(parameter.name, parameter.default) if used else parameter.default
        found.append(parameter.default if value == "auto" else value)
    classifier = schedule.get(CLASSIFIER)
    named = NO_CLASSIFIER if classifier is None else NamedClassifier.of("one", classifier)
    return [*found, *(name in schedule.get(UNSCHEDULED, ()) for name in types), named]


def schedule_of(
    values: Sequence[Value], types: Sequence[str], classifier: NamedClassifier = NO_CLASSIFIER
) -> dict[str, Any] | None:
    """Return the section `schedule` for the values of the cells; None if nothing is scheduled.

    Fields that the admission policy does not use are left out.
    """
    policy, parameters = values[0], values[1 : 1 + len(PARAMETERS)]
    if policy == FIFO:
        return None
    section: dict[str, Any] = {"policy": policy}
    for parameter, value in zip(PARAMETERS, parameters, strict=True):
        if policy in parameter.users and not (classifier.text and parameter.name == HOT):
            section[parameter.name] = value
    if classifier.text:
        section[CLASSIFIER] = json.loads(classifier.text)
    excluded = zip(types, values[1 + len(PARAMETERS) :], strict=True)
    section[UNSCHEDULED] = [name for name, is_excluded in excluded if is_excluded]
    return section


def schedule_texts(schedule: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of an admission policy with all values as strings, for the engine."""
    return {key: _text(value) for key, value in schedule.items()}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, Mapping) else str(value)


def schedule_options(schedule: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the section `schedule` of a policy file as options of the engine, with defaults.

    Empty without a section, and only `fifo` if the section schedules nothing.
    """
    if schedule is None:
        return {}
    if not schedules(schedule):
        return {"policy": FIFO}
    defaults = {parameter.name: parameter.default for parameter in PARAMETERS}
    others = {name: SCHEDULE_DEFAULTS[name] for name in ("rules", "until")}
    return schedule_texts({**defaults, **others, UNSCHEDULED: [], **schedule})
