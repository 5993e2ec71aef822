"""Starting Ray quietly on this machine, or joining a cluster."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import signal
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer.evaluation.backend import BackendError
from trainer.evaluation.quiet_signals import ignore_signals
from trainer.evaluation.ray_log import LOG, native_errors_logged, take_output
from trainer.evaluation.ray_nodes import RayNodes
from trainer.evaluation.ray_start import init_within

MACHINE_RESOURCE = "heddle_machine"
"""The custom resource that stands for a whole machine: one unit a machine, so that two runs never
share one. A cluster's machines are started with `ray start --resources '{"heddle_machine": 1}'`."""

OBJECT_STORE_BYTES = 100 << 20
"""Results are small; by default Ray would reserve a third of the memory."""


class RayError(BackendError):
    """Ray can't be started or joined, or has no machine to give; the message says what to do."""


def start_ray(address: str | None, log: Path | None = None) -> ModuleType:
    """Import Ray and connect to it, once a process.

    Args:
        address: of a cluster to join, such as `auto` or `ray://host:10001`; None starts a private
            one on this machine, with every core, which ends with the process.
        log: the file that Ray's messages are appended to from now on; None drops them.

    Raises:
        RayError: it can't be started or joined.
        KeyboardInterrupt: a request to end came meanwhile.
    """
    _set_environment(local=address is None)
    LOG.path = log
    end = signal.getsignal(signal.SIGTERM)
    import ray

    if ray.is_initialized():
        if not RayNodes(ray).lost([], at_once=True):
            return ray
        ray.shutdown()  # it was ended under an earlier run of this process
    quiet: dict[str, Any] = {"log_to_driver": take_output(ray), "logging_level": logging.ERROR}
    printed: list[str] = []
    try:
        with native_errors_logged() as printed:
            if address is None:
                init_within(
                    ray,
                    address="local",
                    num_cpus=len(os.sched_getaffinity(0)),
                    resources={MACHINE_RESOURCE: 1},
                    include_dashboard=False,
                    object_store_memory=OBJECT_STORE_BYTES,
                    **quiet,
                )
            else:
                init_within(ray, address=address, **quiet)
    except SystemExit:
        # Ray's handler of SIGTERM, in place while it starts.
        raise KeyboardInterrupt from None
    except Exception as error:
        where = "started on this machine" if address is None else f"joined at {address}"
        if _lacks_token(f"{error}\n{''.join(printed)}"):
            raise RayError(
                f"Ray can't be {where}: it asks for a token, and was given none or another one; "
                "copy ~/.ray/auth_token from the cluster's head to this machine and set "
                f"RAY_AUTH_MODE=token before the command{LOG.words}"
            ) from error
        raise RayError(
            f"Ray can't be {where}: {error}{LOG.words}\n"
            "Use evaluation.backend=in_process to measure without Ray."
        ) from error
    finally:
        _keep_sigterm(end)
    # Runs before Ray's own, registered on import: a second Ctrl-C would cut that short.
    atexit.register(ignore_signals)
    return ray


def _lacks_token(text: str) -> bool:
    """Whether Ray says, in whatever words, that it refuses a token or finds none."""
    return any(one in text for one in ("InvalidAuthToken", "Unauthenticated", "RAY_AUTH_TOKEN"))


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
        # By default workers give way to every other process, and measure what is left over.
        os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
