"""Convert a subject to the engine's run options."""

from __future__ import annotations

from typing import Any

from envs.engine_interface import EngineModule
from envs.subject import Subject


def run_options(engine: EngineModule, subject: Subject, policy: Any, **wanted: Any) -> Any:
    """Return the engine's run options for a subject.

    Args:
        engine: the engine.
        subject: the protocol or policy to run.
        policy: the subject's policy, compiled by the engine; None without one.
        **wanted: further fields, such as `seconds` and `seed`; missing ones have defaults.
    """
    return engine.RunOptions(
        protocol=subject.protocol,
        protocol_options=dict(subject.options),
        policy=policy,
        backoff=subject.backoff,
        backoff_us=subject.backoff_us,
        schedule=dict(subject.schedule),
        **wanted,
    )
