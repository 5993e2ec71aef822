"""Starting Ray quietly on this machine, or joining a cluster."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import threading
from types import ModuleType
from typing import Any

MACHINE_RESOURCE = "heddle_machine"
"""The custom resource that stands for a whole machine: one unit a machine, so that two runs never
share one. A cluster's machines are started with `ray start --resources '{"heddle_machine": 1}'`."""

OBJECT_STORE_BYTES = 100 << 20
"""Results are small; by default Ray would reserve a third of the memory."""


class RayError(RuntimeError):
    """Ray can't be started or joined, or has no machine to give; the message says what to do."""


def start_ray(address: str | None) -> ModuleType:
    """Import Ray and connect to it, once a process.

    Args:
        address: of a cluster to join, such as `auto` or `ray://host:10001`; None starts a private
            one on this machine, with every core, which ends with the process.

    Raises:
        RayError: it can't be started or joined.
    """
    _set_environment(local=address is None)
    end = signal.getsignal(signal.SIGTERM)
    import ray

    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            ray.init(
                address="local",
                num_cpus=len(os.sched_getaffinity(0)),
                resources={MACHINE_RESOURCE: 1},
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                **quiet,
            )
        else:
            ray.init(address=address, **quiet)
    except Exception as error:
        where = "started on this machine" if address is None else f"joined at {address}"
        raise RayError(
            f"Ray can't be {where}: {error}\n"
            "Use evaluation.backend=in_process to measure without Ray."
        ) from error
    finally:
        _keep_sigterm(end)
    return ray


def _keep_sigterm(handler: Any) -> None:
    """Ray's own handler prints a stack, and aborts a process that takes over three seconds to end.

    Being asked to end is no fault, and what a command keeps then may take longer.
    """
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _set_environment(local: bool) -> None:
    """Ray reads these when it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if local:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
