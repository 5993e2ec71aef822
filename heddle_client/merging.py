"""What threads and tasks have in common when they share commits: groups, and what they run.

Its coroutines suspend only where those of a subclass do. Those for threads never do.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from heddle_client.errors import InDoubtError
from heddle_client.transaction import Transaction

if TYPE_CHECKING:
    from heddle_client.database import OuterTransaction
    from heddle_client.scheduler import Scheduler


class Call(ABC):
    """A transaction that a thread or task waits for."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.group: weakref.ref[Group] | None = None
        """Which has taken it; None: it is in the queue."""
        self.lead: Group | None = None
        """Which its caller is to run."""
        self.abandoned = False
        """An interrupt or a cancellation has ended its caller's wait."""
        self.outcome: Callable[[], Any] | None = None
        """Returns or raises what `run` does; None: it is to run by itself."""

    @abstractmethod
    def wake(self) -> None:
        """Let its caller continue."""

    @abstractmethod
    def let_go(self) -> None:
        """Let its caller continue; any thread may call this."""

    @abstractmethod
    async def wait(self) -> bool:
        """Wait, and return whether it has been woken; False: something is to be checked."""

    @abstractmethod
    async def apply(self, connection: Any, inside: Transaction | None) -> Any:
        """Return what its function does with a connection.

        Args:
            connection: of the database.
            inside: the transaction of the group; None: the call runs by itself, in its own.
        """

    @abstractmethod
    def leave(self) -> None:
        """Stop its function, if that is possible: nothing waits for the result."""


class Group:
    """Calls that a leader runs. Only the leader refers to it, so that it ends with its work."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        self.doubt: BaseException | None = None
        """Why it is not known whether it has committed."""
        for call in calls:
            call.group = weakref.ref(self)


class Groups:
    """The calls that wait, and the groups that run."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.lock = threading.Lock()
        self.queue: deque[Call] = deque()
        self.running: weakref.WeakSet[Group] = weakref.WeakSet()

    async def join(self, call: Call) -> Group | None:
        """Wait until a call is to lead the group that is returned, or is over; then None."""
        try:
            with self.lock:
                self.queue.append(call)
                self.start()
            while True:
                woken = await call.wait()
                with self.lock:
                    group, call.lead = call.lead, None
                    if group is not None or woken or call.outcome is not None:
                        return group
                    if call.group is None:
                        self.start()
                    elif call.group() is None:
                        call.outcome = partial(_raise_doubt, None)
        except BaseException:
            self.withdraw(call)
            raise

    def start(self) -> None:
        """Make groups of the calls that wait, as long as one may run. The lock is held."""
        policy = self._scheduler._policy
        while self.queue and len(self.running) < (policy.concurrency or 1):
            size = min(policy.merge, len(self.queue))
            calls = [self.queue.popleft() for _ in range(size)]
            group = Group(calls)
            self.running.add(group)
            calls[0].lead = group
            calls[0].wake()

    def withdraw(self, call: Call) -> None:
        """Remove a call whose caller no longer waits. It may have run."""
        with self.lock:
            call.abandoned = True
            call.leave()
            if call in self.queue:
                self.queue.remove(call)
            group, call.lead = call.lead, None
            if group is None:
                return
            self.running.discard(group)
            for other in reversed(group.calls):
                if other is not call:
                    other.group = None
                    self.queue.appendleft(other)
            self.start()

    def end(self, group: Group) -> None:
        """Tell the callers of a group that it is over, and start others. Again, it does nothing."""
        calls, group.calls = group.calls, []
        for call in calls:
            if group.doubt is not None and call.outcome is None:
                call.outcome = partial(_raise_doubt, group.doubt)
        with self.lock:
            self.running.discard(group)
            self.start()
        for call in calls:
            call.wake()

    def let_go(self) -> None:
        """Let all calls of the queue run by themselves: the scheduler is off."""
        with self.lock:
            while self.queue:
                self.queue.popleft().let_go()


class Merging(ABC):
    """Runs transactions of several callers in one transaction of the database.

    Transaction merging of DIBS (Gaffney et al., PVLDB 2021, §4.4), with a savepoint after each. A
    caller whose call may begin leads: the calls that wait run, at most `merge` of the policy, with
    one commit.
    """

    def __init__(self, scheduler: Scheduler, connect: Callable[[], Any]) -> None:
        self._scheduler = scheduler
        self._connect = connect
        self._reset()
        scheduler._mergers.add(self)

    @abstractmethod
    def _reset(self) -> None:
        """Start empty, as in the child of a fork."""

    @abstractmethod
    def _let_go(self) -> None:
        """Let all calls that wait run by themselves: the scheduler is off."""

    @abstractmethod
    async def _start(self, groups: Groups, group: Group, call: Call) -> None:
        """Let the caller of the first call lead, and return when the group is over."""

    @abstractmethod
    async def _connect_group(self, group: Group) -> None:
        """Admit a group, and merge it on a connection."""

    @abstractmethod
    async def _connect_alone(self, call: Call) -> Any:
        """Admit a call, and run it on a connection."""

    async def _run(self, groups: Groups, call: Call) -> Any:
        """Return what a call does, after its effects have committed, in a group or alone."""
        scheduler = self._scheduler
        if scheduler._enabled and scheduler._policy.merge > 1:
            group = None
            try:
                if scheduler._core.surrounding() is None:
                    group = await groups.join(call)
            except Exception as error:
                scheduler._fail_open(error)
            if group is not None:
                await self._start(groups, group, call)
        if call.outcome is not None:
            return call.outcome()
        return await self._connect_alone(call)

    async def _lead(self, groups: Groups, group: Group) -> None:
        """Run a group; then each of its calls has an outcome, or is to run by itself."""
        try:
            if len(group.calls) > 1:
                await self._connect_group(group)
            else:
                group.calls[0].outcome = await self._outcome_alone(group.calls[0])
        except Exception:  # each finds its own cause when it runs by itself
            self._scheduler._add("failed_groups")
        finally:
            groups.end(group)

    async def _merge(
        self, group: Group, inside: Transaction, connection: Any, outer: OuterTransaction
    ) -> None:
        outcomes = []
        try:
            await outer.begin()
            await outer.set_savepoint()
            for call in group.calls:
                outcome = await _run_inside(outer, connection, call, inside)
                if outcome is not None:
                    outcomes.append((call, outcome))
            group.doubt = RuntimeError("the commit was interrupted")
            await outer.commit()
        except BaseException as error:
            if outer.lost or isinstance(error, _EndedError):
                group.doubt = error
            elif group.doubt is not None and isinstance(error, Exception):
                group.doubt = None if outer.is_refusal(error) else error
            await _undo(outer, error)
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

    async def _outcome_alone(self, call: Call) -> Callable[[], Any]:
        try:
            result = await self._connect_alone(call)
        except Exception as error:
            return partial(_raise, error)
        return lambda: result


async def run_alone(call: Call, connection: Any, outer: OuterTransaction) -> Any:
    """Return what a call does in a transaction of the database of its own, which has committed.

    Raises:
        InDoubtError: it is not known whether it has committed.
        Exception: what its function or the database has raised; its effects are undone.
    """
    try:
        await outer.begin()
        result = await call.apply(connection, None)
    except BaseException as error:
        await _undo(outer, error)
        raise
    try:
        await outer.commit()
    except BaseException as error:
        doubtful = isinstance(error, Exception) and not outer.is_refusal(error)
        await _undo(outer, error)
        if doubtful:
            _raise_doubt(error)
        raise
    return result


class _EndedError(Exception):
    """A function has ended the database's transaction."""


class _LeftError(Exception):
    """The caller has left while its function ran."""


async def _run_inside(
    outer: OuterTransaction, connection: Any, call: Call, inside: Transaction
) -> Callable[[], Any] | None:
    """Run a call behind others, and return its outcome; None: its caller has left it.

    Raises:
        _EndedError: its function has ended the transaction.
        Exception: the database has refused the transaction, or the connection is lost.
    """
    if call.abandoned:
        return None
    try:
        result = await call.apply(connection, inside)
        if call.abandoned:
            raise _LeftError
        await outer.move_savepoint()  # fails if the function has hidden an error of a statement
    except Exception as error:
        if outer.lost or outer.is_conflict(error):
            raise
        try:
            await outer.return_to_savepoint()
        except Exception as ended:
            if outer.lost:
                raise
            raise _EndedError(
                f"a function of type {call.transaction._type!r} has ended the transaction"
            ) from ended
        return None if call.abandoned else partial(_raise, error)
    return lambda: result


async def _undo(outer: OuterTransaction, cause: BaseException) -> None:
    """Roll back, unless Python destroys the coroutine: it may not suspend then."""
    if not isinstance(cause, GeneratorExit):
        await outer.roll_back()


def _raise(error: BaseException) -> NoReturn:
    raise error


def _raise_doubt(cause: BaseException | None) -> NoReturn:
    raise InDoubtError(
        "it is not known whether the transaction has committed: read what it would have written "
        f"before you run it again ({cause or 'the thread that ran it was interrupted'})"
    ) from cause
