"""Transactions of several threads that the database commits as one."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from heddle_client.database import OuterTransaction, outer_transaction
from heddle_client.errors import InDoubtError
from heddle_client.transaction import Transaction

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

Result = TypeVar("Result")
Connect = Callable[[], AbstractContextManager[Any]]

PATIENCE_S = 1.0
"""Between two checks of a thread that waits, whether an interrupt has ended its leader."""


class Call:
    """A transaction that a thread waits for."""

    def __init__(self, transaction: Transaction, function: Callable[[Any], Any]) -> None:
        self.transaction = transaction
        self.function = function
        self.gate = threading.Lock()
        self.gate.acquire()
        self.group: weakref.ref[Group] | None = None
        """Which has taken it; None: it is in the queue."""
        self.lead: Group | None = None
        """Which its thread is to run."""
        self.abandoned = False
        """An interrupt has ended its thread's wait."""
        self.outcome: Callable[[], Any] | None = None
        """Returns or raises what `run` does; None: it is to run by itself."""

    def wake(self) -> None:
        """Let its thread continue."""
        if self.gate.locked():
            self.gate.release()


class Group:
    """Calls that a thread runs. Only that thread refers to it, so that it ends with its work."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        self.doubt: BaseException | None = None
        """Why it is not known whether it has committed."""
        for call in calls:
            call.group = weakref.ref(self)


class _EndedError(Exception):
    """A function has ended the database's transaction."""


class Merger:
    """Runs transactions of threads, several in one transaction of the database.

    Transaction merging of DIBS (Gaffney et al., PVLDB 2021, §4.4), with a savepoint after each. A
    thread whose call may begin leads: it runs the calls that wait, at most `merge` of the policy,
    and commits once. `docs/client-library.md` describes what happens if one fails.

    Args:
        scheduler: its policy has `merge`, and `concurrency`, the groups at a time; None: one.
        connect: returns a context manager of a connection, such as the method `connection` of a
            pool of psycopg. The connection is of psycopg or sqlite3. If an exception ends its
            block, it must roll back or close the connection.
    """

    def __init__(self, scheduler: Scheduler, connect: Connect) -> None:
        self._scheduler = scheduler
        self._connect = connect
        self._reset()
        scheduler._mergers.add(self)

    def run(
        self,
        type: str,  # noqa: A002 (the word of the field)
        function: Callable[..., Result],
        *args: Any,
        keys: Iterable[Hashable] = (),
        shared: Iterable[Hashable] = (),
    ) -> Result:
        """Return what `function(connection, *args)` returns, after its effects have committed.

        The function may run in another thread, and a second time if its group has failed. It must
        neither commit nor roll back.

        Args:
            type: name of the transaction type, as in the policy.
            function: executes the statements of the transaction.
            args: its arguments behind the connection.
            keys: what it may write.
            shared: what it only reads.

        Raises:
            InDoubtError: the connection was lost, or a function of the group has ended the
                database's transaction. The call is not repeated.
            Exception: what the function raised; its effects are undone. Or what the database raised
                at the commit of this transaction alone.
        """
        scheduler = self._scheduler
        transaction = scheduler.transaction(type, keys, shared)
        call = Call(transaction, lambda connection: function(connection, *args))
        if scheduler._enabled and scheduler._policy.merge > 1:
            group = None
            try:
                if scheduler._core.surrounding() is None:
                    group = self._join(call)
            except Exception as error:
                scheduler._fail_open(error)
            if group is not None:
                self._lead(group)
        if call.outcome is not None:
            return call.outcome()
        return self._run_alone(call)

    def _reset(self) -> None:
        """Start empty, as in the child of a fork."""
        self._lock = threading.Lock()
        self._queue: deque[Call] = deque()
        self._running: weakref.WeakSet[Group] = weakref.WeakSet()

    def _let_go(self) -> None:
        """Let all calls of the queue run by themselves: the scheduler is off."""
        with self._lock:
            while self._queue:
                self._queue.popleft().wake()

    def _join(self, call: Call) -> Group | None:
        """Wait until a call is to lead the group that is returned, or is over; then None."""
        try:
            with self._lock:
                self._queue.append(call)
                self._start_groups()
            while True:
                woken = call.gate.acquire(timeout=PATIENCE_S)
                with self._lock:
                    group, call.lead = call.lead, None
                    if group is not None or woken or call.outcome is not None:
                        return group
                    if call.group is None:
                        self._start_groups()
                    elif call.group() is None:
                        call.outcome = partial(_raise_doubt, None)
        except BaseException:
            self._withdraw(call)
            raise

    def _start_groups(self) -> None:
        """Make groups of the calls that wait, as long as one may run. The lock is held."""
        policy = self._scheduler._policy
        while self._queue and len(self._running) < (policy.concurrency or 1):
            size = min(policy.merge, len(self._queue))
            calls = [self._queue.popleft() for _ in range(size)]
            group = Group(calls)
            self._running.add(group)
            calls[0].lead = group
            calls[0].wake()

    def _withdraw(self, call: Call) -> None:
        """Remove a call whose thread no longer waits. It may have run."""
        with self._lock:
            call.abandoned = True
            if call in self._queue:
                self._queue.remove(call)
            group, call.lead = call.lead, None
            if group is None:
                return
            self._running.discard(group)
            for other in reversed(group.calls):
                if other is not call:
                    other.group = None
                    self._queue.appendleft(other)
            self._start_groups()

    def _lead(self, group: Group) -> None:
        """Run a group; then each of its calls has an outcome, or is to run by itself."""
        try:
            if len(group.calls) > 1:
                self._run_group(group)
            else:
                group.calls[0].outcome = self._outcome_alone(group.calls[0])
        except Exception:  # each finds its own cause when it runs by itself
            self._scheduler._add("failed_groups")
        finally:
            for call in group.calls:
                if group.doubt is not None and call.outcome is None:
                    call.outcome = partial(_raise_doubt, group.doubt)
            with self._lock:
                self._running.discard(group)
                self._start_groups()
            for call in group.calls:
                call.wake()

    def _run_group(self, group: Group) -> None:
        with self._admission(group.calls), self._connect() as connection:
            outer = outer_transaction(connection)
            outcomes = []
            try:
                outer.begin()
                outer.set_savepoint()
                for call in group.calls:
                    outcomes.append((call, _run_inside(outer, connection, call)))  # noqa: PERF401
                group.doubt = RuntimeError("the commit was interrupted")
                outer.commit()
            except BaseException as error:
                if outer.lost or isinstance(error, _EndedError):
                    group.doubt = error
                elif isinstance(error, Exception):  # the database has answered
                    group.doubt = None
                outer.roll_back()
                raise
            for call, outcome in outcomes:
                call.outcome = outcome
            group.doubt = None
        self._scheduler._add("groups")
        self._scheduler._add("merged", len(outcomes))

    def _admission(self, calls: list[Call]) -> Transaction:
        """Return one transaction with the keys of all."""
        policy = self._scheduler._policy
        transactions = [call.transaction for call in calls]
        scheduled = [
            one
            for one in transactions
            if policy.mode == "locks" or one._type not in policy.unscheduled
        ]
        made = self._scheduler.transaction((scheduled or transactions)[0]._type)
        made._exclusive = tuple(key for one in scheduled for key in one._exclusive)
        made._shared = tuple(key for one in scheduled for key in one._shared)
        return made

    def _outcome_alone(self, call: Call) -> Callable[[], Any]:
        try:
            result = self._run_alone(call)
        except Exception as error:
            return partial(_raise, error)
        return lambda: result

    def _run_alone(self, call: Call) -> Any:
        with call.transaction, self._connect() as connection:
            outer = outer_transaction(connection)
            try:
                outer.begin()
                result = call.function(connection)
            except BaseException:
                outer.roll_back()
                raise
            try:
                outer.commit()
            except BaseException as error:
                lost = outer.lost
                outer.roll_back()
                if lost:
                    _raise_doubt(error)
                raise
            return result


def _run_inside(outer: OuterTransaction, connection: Any, call: Call) -> Callable[[], Any]:
    """Run a call behind others, unless its thread has left it, and return its outcome.

    Raises:
        _EndedError: its function has ended the transaction.
        Exception: the database has refused the transaction, or the connection is lost.
    """
    try:
        result = None if call.abandoned else call.function(connection)
        outer.move_savepoint()  # fails if the function has hidden an error of a statement
    except Exception as error:
        if outer.lost or outer.is_conflict(error):
            raise
        try:
            outer.return_to_savepoint()
        except Exception as ended:
            if outer.lost:
                raise
            raise _EndedError(
                f"a function of type {call.transaction._type!r} has ended the transaction"
            ) from ended
        return partial(_raise, error)
    return lambda: result


def _raise(error: BaseException) -> NoReturn:
    raise error


def _raise_doubt(cause: BaseException | None) -> NoReturn:
    raise InDoubtError(
        "it is not known whether the transaction has committed: read what it would have written "
        f"before you run it again ({cause or 'the thread that ran it was interrupted'})"
    ) from cause
