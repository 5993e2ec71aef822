"""A scheduler of an application's transactions."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from heddle_client._scheduler import Core, RemoteCore
from heddle_client.connection import Connection
from heddle_client.errors import PolicyError
from heddle_client.metrics import Metrics
from heddle_client.policy import Mode, Policy, check_longest_wait
from heddle_client.stable_hash import stable_hash
from heddle_client.transaction import Keys, Transaction
from heddle_client.watcher import Watcher, signature

if TYPE_CHECKING:
    from heddle_client.merging import Merging

LOG = logging.getLogger("heddle_client")

ANSWER_S = 0.05
"""The least time-out with a server, whose answer takes time even if the transaction may start."""

_live: weakref.WeakSet[Scheduler] = weakref.WeakSet()
_of_parents: list[Core | RemoteCore] = []
"""Cores from before a fork: a thread that the child lacks may have locked them."""


class Scheduler:
    """Admits and orders transactions by a policy, which can be replaced meanwhile.

    They are those of one process, or with `server` those of all that name the same server.

    Args:
        policy: a policy, or the path of a policy file. Without one, the next five arguments are it.
        mode: `fifo`, `smf` or `locks`.
        concurrency: transactions that run at a time; None: any number.
        barrier: with `smf`, later transactions that may start before the oldest waiting one.
        unscheduled: types whose keys are ignored, except in mode `locks`.
        merge: the most transactions of a merger that the database commits as one.
        longest_wait: with `smf`, seconds after which the oldest transaction ignores conflicts,
            counted from when it is the oldest. None: 1.
        enabled: False starts with the scheduler off.
        watch: seconds between two checks whether the policy file has changed; None: no checks.
        server: path of the socket of a server (`python -m heddle_client.server`), which has the
            policy and `longest_wait`.

    Raises:
        PolicyError: the policy cannot be followed.
        ServerError: the server can't be reached.
        TypeError: there are both a policy and arguments that take its place.
    """

    def __init__(
        self,
        policy: Policy | str | PathLike[str] | None = None,
        *,
        mode: Mode | None = None,
        concurrency: int | None = None,
        barrier: int | None = None,
        unscheduled: Iterable[str] | None = None,
        merge: int | None = None,
        longest_wait: float | None = None,
        enabled: bool = True,
        watch: float | None = None,
        server: str | PathLike[str] | None = None,
    ) -> None:
        given = {
            "mode": mode,
            "concurrency": concurrency,
            "barrier": barrier,
            "unscheduled": unscheduled,
            "merge": merge,
        }
        named = {name: value for name, value in given.items() if value is not None}
        if policy is not None and named:
            raise TypeError(f"give a policy, or {', '.join(named)}, not both")
        own = [policy, watch, longest_wait, *named.values()]
        if server is not None and any(value is not None for value in own):
            raise TypeError("the server has the policy and longest_wait: give them to the server")
        self._server = server
        self._connection: Connection | None = None
        self._hash: Callable[[Hashable], int] = hash if server is None else stable_hash
        self._least_timeout = 0.0 if server is None else ANSWER_S
        if isinstance(policy, Policy) or policy is None:
            if watch is not None:
                raise TypeError("watch needs the path of a policy file")
            path = None
            self._own_policy = policy or replace(Policy(), **named)  # type: ignore[arg-type]
        else:
            path = policy
            known = signature(path)
            self._own_policy = Policy.read(path)
        self._longest_wait = check_longest_wait(1.0 if longest_wait is None else longest_wait)
        self._enabled = enabled
        self._mergers: weakref.WeakSet[Merging] = weakref.WeakSet()
        self._reset()
        self._watcher: Watcher | None = None
        if path is not None and watch is not None:
            if not 0 < watch <= 3_600:
                raise PolicyError(f"watch is {watch!r}: give seconds above 0, at most 3600")
            self._watcher = Watcher(self, path, watch, known)
        _live.add(self)

    def transaction(
        self,
        type: str,  # noqa: A002 (the word of the field)
        keys: Keys = (),
        shared: Keys = (),
        timeout: float | None = None,
    ) -> Transaction:
        """Return a transaction, for `with` and `async with`, or to decorate a function.

        Args:
            type: name of the transaction type, as in the policy.
            keys: what it may write: strings, numbers or tuples such as `("account", 7)`.
            shared: what it only reads.
            timeout: seconds that it waits. Then it starts, or in mode `locks` raises an error.

        As a decorator, `keys` and `shared` may be functions of the arguments of the call.
        """
        return Transaction(self, type, keys, shared, timeout)

    @property
    def policy(self) -> Policy:
        """The policy in force. With a server, the one that it has told last."""
        return self._policy

    @property
    def _policy(self) -> Policy:
        connection = self._connection
        return self._own_policy if connection is None else connection.policy

    @property
    def enabled(self) -> bool:
        """Whether transactions are scheduled. Set it to False and all that wait start."""
        return self._enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        with self._lock:
            self._enabled = bool(on)
            self._core.enable(self._enabled)
        if not on:
            for merger in list(self._mergers):
                merger._let_go()

    def load(self, path: str | PathLike[str]) -> bool:
        """Put a policy file in force, and return whether it is.

        A file that is refused leaves the policy as it is, is counted, and is reported by a warning
        of the logger `heddle_client`.
        """
        try:
            self.use(Policy.read(path))
        except PolicyError as error:
            self._add("refused_swaps")
            LOG.warning("the policy stays as it is: %s", error)
            return False
        return True

    def use(self, policy: Policy) -> None:
        """Put a policy in force. Transactions that run keep their keys, others their order.

        Raises:
            TypeError: the server has the policy.
        """
        if not isinstance(self._core, Core):
            raise TypeError("the server has the policy: replace the file that it watches")
        with self._lock:
            self._own_policy = policy
            self._configure(self._core)
            self._counts["swaps"] += 1

    def metrics(self) -> Metrics:
        """Return the counters, and how many transactions run and wait now."""
        counters = self._core.counters()
        with self._lock:
            counts = dict(self._counts)
        counters["passed_through"] += counts.pop("nested")
        return Metrics(mode=self._policy.mode, enabled=self._enabled, **counters, **counts)

    def close(self) -> None:
        """End the watcher: transactions are scheduled as before.

        With a server, end the use of it: transactions are not scheduled any more.
        """
        if self._connection is not None:
            self.enabled = False
            self._connection.close()
            _live.discard(self)
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def _reset(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(
            (
                *("nested", "failed_open", "timed_out", "swaps", "refused_swaps"),
                *("groups", "merged", "failed_groups"),
            ),
            0,
        )
        self._core: Core | RemoteCore
        if self._server is None:
            self._core = Core()
            self._configure(self._core)
        else:
            self._core = RemoteCore()
            known = None if self._connection is None else self._connection.policy
            self._connection = Connection(self, self._core, self._server, known)
        self._core.enable(self._enabled)

    def _configure(self, core: Core) -> None:
        policy = self._own_policy
        core.configure(policy.mode, policy.concurrency or 0, policy.barrier, self._longest_wait)

    def _add(self, name: str, count: int = 1) -> None:
        with self._lock:
            self._counts[name] += count

    def _fail_open(self, error: Exception) -> None:
        """Count and report a failure of the scheduler; the transaction runs without it."""
        self._add("failed_open")
        if self._counts["failed_open"] == 1:
            LOG.warning(
                "the scheduler has failed and transactions run without it; further failures are "
                "only counted, in Metrics.failed_open",
                exc_info=error,
            )

    def _restart_in_child(self) -> None:
        _of_parents.append(self._core)
        if self._connection is not None:
            self._connection.abandon()
        self._reset()
        for merger in list(self._mergers):
            merger._reset()
        if self._watcher is not None:
            self._watcher = self._watcher.again(self)


def _restart_all() -> None:
    for scheduler in list(_live):
        try:
            scheduler._restart_in_child()
        except Exception as error:  # the others have to start too
            LOG.warning("a scheduler does not start in a forked process", exc_info=error)


os.register_at_fork(after_in_child=_restart_all)
