"""Shared by commands that compare policies: lists of names, the reference, the schedule."""

from __future__ import annotations

from envs import Evaluator, UnknownPolicyError, subject_of, untuned
from envs.engine_interface import load_engine
from policies import Signature
from policies.protocol import shown_name
from trainer.command.errors import UsageError
from trainer.command.typed_values import list_text
from trainer.config import ScheduleConfig


def as_list(override: str, listed: str = "policy") -> str:
    """Return `policy=a,b` as a list for Hydra: several policies of one run instead of a sweep.

    Args:
        override: `key=value`.
        listed: the key whose value is a list; another override is returned unchanged.
    """
    key, equals, value = override.partition("=")
    if key != listed or not equals:
        return override
    return f"{listed}={list_text(value)}"


def refuse_unknown_reference(name: str, evaluator: Evaluator) -> None:
    """Check that the setting `reference` names a policy.

    Raises:
        UsageError: there is no such policy.
    """
    try:
        subject_of(name, evaluator.signature, untuned)
    except UnknownPolicyError as error:
        said = str(error).removeprefix(f"policy={shown_name(name)}: ")
        raise UsageError(f"reference={shown_name(name)}: {said}") from error


def schedule_options(config: ScheduleConfig, signature: Signature) -> dict[str, str]:
    """Return the settings `schedule.*` in the engine's form.

    Args:
        config: the settings.
        signature: of the workload.

    Raises:
        UsageError: there is no such policy or type, or a value is out of range.
    """
    if unknown := [name for name in config.unscheduled if name not in signature.type_names]:
        raise UsageError(
            f"schedule.unscheduled=[{','.join(unknown)}]: {signature.workload} has the types "
            f"{', '.join(signature.type_names)}"
        )
    options = config.options()
    try:
        load_engine().check_schedule(options, signature.to_dict())
    except ValueError as error:
        raise UsageError(str(error)) from None
    return options
