"""A running session follows a policy file: another policy is switched to, a bad file refused."""

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
from policies import Signature

RETRY_S = 0.1
"""A policy that no run has taken yet is offered so often, seconds."""

JOIN_S = 5.0
"""So long is waited for the thread to end: a file system may hang, and its reader with it."""

NOT_RUNNING = "no policy is running"
"""How the engine begins its answer to a switch while no run executes a policy table."""


@dataclass(frozen=True)
class Switched:
    """The running session has taken another policy."""

    policy: PublishedPolicy


Event = Switched | Refused | Missing
"""What a watcher tells. After the last two the policy before stays."""


class PolicyWatcher:
    """Looks at a policy file now and then, from a thread of its own, and switches a session to it.

    A context manager: on entering it looks once, then the thread starts; on leaving it ends. A bad
    file is never an exception. It is for sessions on real threads: a run on virtual cores is one of
    a copy of the process, which no switch reaches.

    Start each run with `policy`, protocol `policy_table` and backoff `policy`. A policy that comes
    between two runs is offered to the next one again, so none is lost.

    Args:
        path: the file; it need not be there yet.
        signature: of the session's workload.
        session: an `engine.Session`, an `Evaluator`, or whatever else can switch.
        tell: called from the thread with each event, once: a bad file is told once a version.
        interval_s: how often it looks, seconds.
        engine_module: the module that offers the engine's interface.

    Raises:
        ImportError: the engine is not built.
        ValueError: `interval_s` is not above 0.
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
            raise ValueError(f"interval_s={interval_s}: must be above 0")
        self._engine = load_engine(engine_module)
        self._file = PublishedFile(path, signature)
        self._signature = signature.to_dict()
        self._session = session
        self._on_event = on_event
        self._interval_s = interval_s
        # One reference, replaced at once: whoever reads it from another thread gets a pair.
        self._served: tuple[PublishedPolicy, Any] | None = None
        self._replaced: tuple[PublishedPolicy, Any] | None = None
        self._offered = True
        self._poll_lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def served(self) -> PublishedPolicy | None:
        """The last good policy of the file; None if there was none yet."""
        return None if self._served is None else self._served[0]

    @property
    def policy(self) -> Any:
        """The same, compiled, as `engine.Session.run` takes it."""
        return None if self._served is None else self._served[1]

    def poll(self) -> None:
        """Look now. The thread does this; any other may too."""
        with self._poll_lock:
            found = self._file.poll()
            if isinstance(found, PublishedPolicy):
                self._replaced = self._served
                compiled = self._engine.Policy(found.text, self._signature)
                # Before the switch: a run that begins now and misses the switch begins with it.
                self._served = (found, compiled)
                self._offered = False
            elif found is not None:
                self._emit(found)
            if not self._offered:
                self._offer()

    def refuse(self, policy: PublishedPolicy, reason: str) -> None:
        """Go back to the policy before this one, for no run can begin with it; it is told.

        Nothing happens if another has been published meanwhile.
        """
        with self._poll_lock:
            if self._served is None or self._served[0] is not policy:
                return
            self._keep_replaced(policy, reason)

    def __enter__(self) -> PolicyWatcher:
        """Look once and start the thread."""
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
        """Have the session switch; where nothing runs that could, the next look tries again."""
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
        except Exception:  # the caller's fault must not end the watching
            logging.getLogger(__name__).exception("telling %s failed", event)
