"""The members of a training for several workloads: each a configuration of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from envs.engine_interface import load_engine
from envs.workload import workload_signature
from policies import Signature
from trainer.command.errors import UsageError
from trainer.command.settings import compose_settings, merge_overrides
from trainer.config import TrainConfig
from trainer.member import GROUPS, Member, alone, combined, label_of

KEY = "robust.members"
NONE = f"{KEY}=[]"

MEMBERS_MAX = 64
"""Every worker keeps a database for each."""

_PLAIN = re.compile(r"[\w./:+-]+")


def compose_members(config: TrainConfig, overrides: Sequence[str]) -> list[Member]:
    """What is trained for: the members that are named, or else the workload that is set.

    Args:
        config: all settings.
        overrides: what was typed for them.

    Raises:
        UsageError: a member can't be, or is there twice; the message names it.
    """
    if not config.robust.members:
        return alone(config)
    found: list[Member] = []
    for number, settings in enumerate(_expanded(config), start=1):
        typed = [f"{key}={_typed(value)}" for key, value in settings.items()]
        label = label_of(settings)
        try:
            own = compose_settings("train", merge_overrides(overrides, [*typed, NONE]), TrainConfig)
        except UsageError as error:
            raise UsageError(f"{KEY}, member {number} ({label}): {error}") from error
        found.append(Member(number, label, own))
    _refuse_other_kinds(config, found)
    _refuse_twins(found)
    return found


def as_trained(config: TrainConfig, members: Sequence[Member]) -> TrainConfig:
    """All settings: those of the member, where there is one, named as such or not."""
    return members[0].config if len(members) == 1 else config


def common_signature(members: Sequence[Member]) -> Signature:
    """The signature that all members have: a table belongs to one.

    Raises:
        UsageError: two have different ones; the message names both.
        ValueError: there is no such workload, or no such option of it.
    """
    first, *others = members
    common = workload_signature(load_engine(), first.workload)
    for other in others:
        signature = workload_signature(load_engine(), other.workload)
        if signature != common:
            raise UsageError(
                f"{KEY}: a table is for one signature, and these two have different ones: "
                f"{_words(first, common)}; {_words(other, signature)}. Train a table for each"
            )
    return common


def _expanded(config: TrainConfig) -> list[dict[str, Any]]:
    for entry in config.robust.members:
        for key in entry:
            if re.split("[./]", key)[0] not in GROUPS:
                raise UsageError(
                    f"{KEY}: {key}: members may differ in settings of workload and machine alone, "
                    "such as {workload.warehouses:4}"
                )
        if not entry or [] in entry.values():
            raise UsageError(f"{KEY}: {entry}: sets nothing; such as {{workload.warehouses:4}}")
    found = combined(config.robust.members)
    if len(found) > MEMBERS_MAX:
        raise UsageError(f"{KEY}: makes {len(found)} members; there may be {MEMBERS_MAX} at most")
    return found


def _typed(value: Any) -> str:
    """A value as it would be typed."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if not _PLAIN.fullmatch(value):
            escaped = value.replace("'", "\\'")
            return f"'{escaped}'"
    return str(value)


def _refuse_other_kinds(config: TrainConfig, members: Sequence[Member]) -> None:
    first, *others = members
    for other in others:
        if other.config.machine.kind != first.config.machine.kind:
            raise UsageError(
                f"{KEY}: {first.label} has machine={first.config.machine.kind}, and {other.label} "
                f"machine={other.config.machine.kind}; a training is on virtual cores or on real "
                "ones"
            )
    kind = first.config.machine.kind
    # What the members share, such as how long a look is, goes by the kind that is set beside them.
    if others and kind != config.machine.kind:
        raise UsageError(
            f"{KEY}: the members have machine={kind}, and machine={config.machine.kind} is set "
            f"beside them; set machine={kind} there, and leave machine out of the members"
        )


def _refuse_twins(members: Sequence[Member]) -> None:
    seen: dict[str, Member] = {}
    for member in members:
        settings = repr((member.workload, asdict(member.config.machine)))
        if settings in seen:
            raise UsageError(
                f"{KEY}: members {seen[settings].number} ({seen[settings].label}) and "
                f"{member.number} ({member.label}) are the same; leave one out"
            )
        seen[settings] = member


def _words(member: Member, signature: Signature) -> str:
    types = ", ".join(f"{one.name} with {len(one.states)}" for one in signature.types)
    return f"{member.label} ({signature.workload}; accesses: {types})"
