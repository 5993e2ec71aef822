"""A subject and how long it runs, as the engine takes them."""

from __future__ import annotations

from typing import Any

from envs.engine_interface import EngineModule
from envs.subject import Subject


def run_options(engine: EngineModule, subject: Subject, policy: Any, **wanted: Any) -> Any:
    """The engine's options of a run.

    Args:
        engine: whose they are.
        subject: what runs.
        policy: that of the subject, compiled by the engine; None if it has none.
        **wanted: further fields, such as `seconds` and `seed`; the engine has defaults for all.
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
