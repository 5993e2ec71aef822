"""Watch a policy file and switch a running session to each new valid policy."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from envs.engine_interface import PolicySession, load_engine
from envs.published_policy import Missing, PublishedFile, PublishedPolicy, Refused
from envs.subject import of_policy
from policies import Signature
from policies.protocol import TABLE

RETRY_S = 0.1
"""Interval in seconds at which a policy is offered until a run takes it."""

JOIN_S = 5.0
"""Time limit in seconds for the thread to end. A read may hang with its file system."""

NOT_RUNNING = "no policy is running"
"""Prefix of the engine's message when no run executes a policy table."""


@dataclass(frozen=True)
class Switched:
    """The running session switched to another policy.

    Attributes:
        policy: the new policy.
    """

    policy: PublishedPolicy


Event = Switched | Refused | Missing
"""The events of a `PolicyWatcher`. After `Refused` and `Missing` the previous policy stays."""


class PolicyWatcher:
    """Polls a policy file from a thread and switches a running session to each new policy.

    The watcher is a context manager: entering polls once and starts the thread, leaving ends the
    thread. A bad file raises no exception but causes an event. A watcher works with real cores
    only: a run on virtual cores is in a copy of the process, which cannot switch policies.

    Start each run with `policy`, protocol `policy_table` and backoff `policy`. A policy that
    arrives between two runs is offered until a run takes it. A policy under another protocol is
    for the next run, since a run can't switch its protocol.

    Args:
        path: path of the file, which need not exist yet.
        signature: signature of the session's workload.
        session: an `engine.Session`, an `Evaluator`, or another object with `switch_policy`.
        on_event: called from the thread with each event. A version of a bad file causes one event.
        interval_s: polling interval in seconds.
        engine_module: name of the module with the engine's interface.

    Raises:
        ImportError: the engine is not built.
        ValueError: `interval_s` is not positive and finite.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        signature: Signature,
        session: PolicySession,
        on_event: Callable[[Event], None] | None = None,
        *,
        interval_s: float = 1.0,
        engine_module: str = "engine",
    ) -> None:
        if not (interval_s > 0 and math.isfinite(interval_s)):
            raise ValueError(f"interval_s={interval_s}: must be positive and finite")
        self._engine = load_engine(engine_module)
        self._file = PublishedFile(path, signature)
        self._signature = signature.to_dict()
        self._session = session
        self._on_event = on_event
        self._interval_s = interval_s
        # One reference to a pair, so that another thread never reads half of an update.
        self._served: tuple[PublishedPolicy, Any] | None = None
        self._replaced: tuple[PublishedPolicy, Any] | None = None
        self._offered = True
        self._poll_lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def served(self) -> PublishedPolicy | None:
        """The last valid policy of the file; None before the first one."""
        return None if self._served is None else self._served[0]

    @property
    def policy(self) -> Any:
        """The last valid policy of the file, compiled for `engine.RunOptions`; None before it."""
        return None if self._served is None else self._served[1]

    def poll(self) -> None:
        """Check the file now. The watcher's thread calls this; other threads may call it too."""
        with self._poll_lock:
            found = self._file.poll()
            if isinstance(found, PublishedPolicy):
                self._replaced = self._served
                compiled = self._engine.Policy(found.text, self._signature)
                # Before the switch, so that a run that begins now and misses the switch has it.
                self._served = (found, compiled)
                self._offered = False
                if of_policy(found.name, found.text).protocol != TABLE:
                    # A run can't switch to another protocol: the next run has it.
                    self._offered = True
                    self._emit(Switched(found))
            elif found is not None:
                self._emit(found)
            if not self._offered:
                self._offer()

    def refuse(self, policy: PublishedPolicy, reason: str) -> None:
        """Restore the previous policy, because no run can start with the current one.

        Causes a `Refused` event. Has no effect if another policy has been published meanwhile.

        Args:
            policy: the policy to refuse, from `served`.
            reason: the message of the event.
        """
        with self._poll_lock:
            if self._served is None or self._served[0] is not policy:
                return
            self._keep_replaced(policy, reason)

    def __enter__(self) -> PolicyWatcher:
        """Check the file once and start the thread."""
        self._stop.clear()
        self.poll()
        self._thread = threading.Thread(target=self._watch, name="policy-watcher", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)
        self._thread = None

    def _watch(self) -> None:
        while not self._stop.wait(
            self._interval_s if self._offered else min(RETRY_S, self._interval_s)
        ):
            self.poll()

    def _offer(self) -> None:
        """Switch the session. Without a run that can switch, the next poll tries again."""
        assert self._served is not None
        policy, compiled = self._served
        try:
            self._session.switch_policy(compiled)
        except (ValueError, RuntimeError) as error:
            if str(error).startswith(NOT_RUNNING):
                return
            self._keep_replaced(policy, str(error))
            return
        self._offered = True
        self._emit(Switched(policy))

    def _keep_replaced(self, policy: PublishedPolicy, reason: str) -> None:
        self._served, self._replaced = self._replaced, None
        self._offered = True
        self._emit(Refused(f"{self._file.path}: {reason}", policy.digest))

    def _emit(self, event: Event) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # an error of the caller must not end the thread
            logging.getLogger(__name__).exception("on_event failed for %s", event)
