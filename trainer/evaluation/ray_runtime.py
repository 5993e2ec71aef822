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
"""The custom resource for a whole machine: one unit per machine, so that two runs never share one.
A cluster's machines are started with `ray start --resources '{"heddle_machine": 1}'`."""

OBJECT_STORE_BYTES = 100 << 20
"""Results are small; Ray's default is a third of the memory."""


class RayError(BackendError):
    """Ray can't be started or joined, or has no free machine; the message has the remedy."""


def start_ray(address: str | None, log: Path | None = None) -> ModuleType:
    """Import Ray and connect to it, once per process.

    Args:
        address: of a cluster to join, such as `auto` or `ray://host:10001`; None starts a private
            one on this machine, with every core, which stops with the process.
        log: the file to which Ray's messages are appended from now on; None drops them.

    Raises:
        RayError: it can't be started or joined.
        KeyboardInterrupt: a request to stop arrived meanwhile.
    """
    _set_environment(local=address is None)
    LOG.path = log
    end = signal.getsignal(signal.SIGTERM)
    import ray

    if ray.is_initialized():
        if not RayNodes(ray).lost([], at_once=True):
            return ray
        ray.shutdown()  # it was stopped under an earlier run of this process
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
        # Ray's handler of SIGTERM is installed while it starts.
        raise KeyboardInterrupt from None
    except Exception as error:
        where = "started on this machine" if address is None else f"joined at {address}"
        if _lacks_token(f"{error}\n{''.join(printed)}"):
            raise RayError(
                f"Ray can't be {where}: it requires a token, and the token is missing or wrong; "
                "copy ~/.ray/auth_token from the cluster's head to this machine and set "
                f"RAY_AUTH_MODE=token before the command{LOG.words}"
            ) from error
        raise RayError(
            f"Ray can't be {where}: {error}{LOG.words}\n"
            "Use evaluation.backend=in_process to measure without Ray."
        ) from error
    finally:
        _keep_sigterm(end)
    # Runs before Ray's own handler, registered on import, which a second Ctrl-C would interrupt.
    atexit.register(ignore_signals)
    return ray


def _lacks_token(text: str) -> bool:
    """Return whether Ray's message says that a token is missing or wrong."""
    return any(
        phrase in text for phrase in ("InvalidAuthToken", "Unauthenticated", "RAY_AUTH_TOKEN")
    )


def _keep_sigterm(handler: Any) -> None:
    """Keep the process's handler of SIGTERM.

    Ray's handler prints a stack and aborts a process that takes over three seconds to stop, which
    saving a command's results may take.
    """
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _set_environment(local: bool) -> None:
    """Set the variables that Ray reads on import."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if local:
        # By default workers run at a low priority and would measure only the remaining time.
        os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
