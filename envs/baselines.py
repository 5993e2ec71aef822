"""Map the names that follow `policy=` to subjects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from envs.bounds import BOUNDS
from envs.engine_interface import load_engine
from envs.external_sweep import TUNED_EXTERNAL, is_tuned_external
from envs.reference import Reference
from envs.subject import NATIVE, Subject, of_policy
from envs.tuned_backoff import TUNED, TunedBackoff
from policies import Signature, is_seed, resolve, seed_names, to_json
from policies.protocol import EXTERNAL, parse_typed, shown_name
from policies.shipped import in_library, library_names
from policies.sources import is_sourced

BASELINES = ("silo", TUNED, "two_phase_locking", "occ", "two_phase_locking_star", "ic3")
"""The baselines that a learned policy is compared with."""


_SCHEDULED = re.compile(r"(?P<name>.+)\+(?P<schedule>[a-z_]+)")
"""Matches a name followed by an admission policy, such as `silo+smf`."""


def is_tuned(name: str) -> bool:
    """Return whether a name is `silo_tuned`, with or without an admission policy."""
    return name.partition("+")[0] == TUNED


def with_backoff(subjects: Sequence[Subject], tuned: TunedBackoff) -> list[Subject]:
    """Return the subjects, each `silo_tuned` among them with the given backoff.

    Args:
        subjects: subjects in any order; the result has the same order.
        tuned: the backoff of `silo_tuned`.
    """
    silo = tuned.silo()
    return [
        replace(subject, backoff=silo.backoff, backoff_us=silo.backoff_us)
        if is_tuned(subject.name)
        else subject
        for subject in subjects
    ]


class UnknownPolicyError(ValueError):
    """A name is no protocol, seed policy or policy file; the message lists the known names."""


def subject_of(name: str, signature: Signature, tuned: Callable[[], Reference]) -> Subject:
    """Return the subject that a name stands for.

    Args:
        name: a native protocol, `silo_tuned`, a seed policy, a table of the library, the path of a
            policy file, or a name with a scheme of `policies.sources`. Options of a native protocol
            may follow, as in `two_phase_locking:conflict=detect`, then an admission policy, as in
            `silo+smf`.
        signature: signature of the workload, which a table must fit.
        tuned: returns what was tuned, `silo_tuned` or `external_tuned`; called only for these.

    Raises:
        UnknownPolicyError: the name stands for nothing.
        PolicyFileError: the policy is not valid for the workload.
        ImportError: the engine is not built.
    """
    if scheduled_name := _SCHEDULED.fullmatch(name):
        schedule = {"policy": scheduled_name["schedule"]}
        try:
            load_engine().check_schedule(schedule)
        except ValueError as error:
            raise UnknownPolicyError(f"policy={shown_name(name)}: {error}") from None
        subject = subject_of(scheduled_name["name"], signature, tuned)
        return replace(subject, name=name, schedule=schedule)
    if name in (TUNED, TUNED_EXTERNAL) and (reference := tuned()).name == name:
        return reference.subject()
    if name == TUNED:
        raise UnknownPolicyError(
            f"policy={name}: runs in the engine, and the training is in a store; give "
            f"{TUNED_EXTERNAL}"
        )
    if is_tuned_external(name):
        raise UnknownPolicyError(
            f"policy={name}: only heddle evaluate has this name, in policy=, and a training in "
            f"front of a store; give {EXTERNAL} with concurrency=, backoff_first_us= and "
            "backoff_longest_us= instead"
        )
    if name in BOUNDS:
        raise UnknownPolicyError(
            f"policy={name}: only heddle evaluate has this name, in policy=; give "
            f"{' and '.join(BOUNDS[name])} instead"
        )
    native = native_subjects()
    if name in native:
        subject = native[name]
        return _checked(subject, signature) if subject.protocol == EXTERNAL else subject
    if (parsed := _parsed(name)) is not None and parsed[0] in native:
        subject = native[parsed[0]]
        options = subject.options | parsed[1]
        return _checked(replace(subject, name=name, options=options), signature)
    if not is_seed(name) and not in_library(name) and not is_sourced(name):
        _refuse_unknown(shown_name(name))
    subject = of_policy(name, to_json(resolve(name, signature)))
    return _checked(subject, signature) if subject.protocol == EXTERNAL else subject


def _parsed(name: str) -> tuple[str, dict[str, str]] | None:
    """Return the name and the options of a protocol as typed; None if the name is none.

    Raises:
        UnknownPolicyError: an option occurs twice.
    """
    try:
        return parse_typed(name)
    except ValueError as error:
        raise UnknownPolicyError(f"policy={shown_name(name)}: {error}") from None


def _checked(subject: Subject, signature: Signature) -> Subject:
    """Return the subject of a native protocol if the engine accepts its options.

    Raises:
        UnknownPolicyError: it does not, or was built without the store that they name.
    """
    try:
        load_engine().check_protocol(subject.protocol, subject.options, signature.to_dict())
    except ValueError as error:
        raise UnknownPolicyError(f"policy={shown_name(subject.name)}: {error}") from None
    return subject


def native_subjects() -> dict[str, Subject]:
    """Return the native protocols by name: those of `NATIVE`, and the others of the engine.

    Raises:
        ImportError: the engine is not built.
    """
    named = dict(NATIVE)
    with_options = {"policy_table", *(subject.protocol for subject in NATIVE.values())}
    for protocol in load_engine().protocols():
        if protocol not in with_options:
            named[protocol] = Subject(protocol, protocol)
    return named


def policy_names() -> list[str]:
    """Return every name that needs no file: native protocols, `silo_tuned` and seed policies.

    Raises:
        ImportError: the engine is not built.
    """
    return ["silo", TUNED, *(name for name in native_subjects() if name != "silo"), *seed_names()]


def _refuse_unknown(name: str) -> None:
    if "/" in name or name.endswith(".json") or Path(name).exists():
        return
    close = difflib.get_close_matches(name, [*policy_names(), *library_names()], n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UnknownPolicyError(
        f"policy={name}: no such policy{hint}\n"
        f"Give one of {', '.join(policy_names())}, a table of the library (heddle "
        "policy list), or the path of a policy file."
    )
