"""One transaction of an application: it waits for its turn, runs, and lets others start."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from heddle_client.errors import NestedTransactionError, TransactionTimeoutError

if TYPE_CHECKING:
    from heddle_client._scheduler import Core
    from heddle_client.scheduler import Scheduler

Keys = Iterable[Hashable] | Callable[..., Iterable[Hashable]]
Function = TypeVar("Function", bound=Callable[..., Any])

UNSCHEDULED = 0
"""The ticket of a transaction that the scheduler does not count."""

_innermost: ContextVar[Transaction | None] = ContextVar("heddle_client transaction", default=None)
"""The transaction that runs in a thread or task. Tasks and threads of asyncio inherit it."""


class Transaction:
    """Made by `Scheduler.transaction`. It can be used again after it has ended."""

    __slots__ = (
        "_core",
        "_entered",
        "_exclusive",
        "_keys",
        "_outer",
        "_scheduler",
        "_shared",
        "_shared_keys",
        "_ticket",
        "_timeout",
        "_type",
    )

    def __init__(
        self, scheduler: Scheduler, type_: str, keys: Keys, shared: Keys, timeout: float | None
    ) -> None:
        self._scheduler = scheduler
        self._type = type_
        self._keys = keys
        self._shared_keys = shared
        self._timeout = timeout
        # A function of arguments is called when the decorated function is.
        self._exclusive = () if callable(keys) else self._hashes("keys", keys)
        self._shared = () if callable(shared) else self._hashes("shared", shared)
        self._core: Core | None = None
        self._ticket = UNSCHEDULED
        self._outer: Transaction | None = None
        self._entered = False

    def __enter__(self) -> Self:
        if self._enter():
            core = self._scheduler._core
            try:
                ticket, started = self._submit(core)
                if not started:
                    self._wait(core, ticket)
                self._ticket, self._core = ticket, core
            except TransactionTimeoutError:
                raise
            except Exception as error:
                self._failed(error)
        self._begin()
        return self

    async def __aenter__(self) -> Self:
        if self._enter():
            core = self._scheduler._core
            try:
                ticket, started = self._submit(core)
                if not started:
                    await self._wait_in_loop(core, ticket)
                self._ticket, self._core = ticket, core
            except TransactionTimeoutError:
                raise
            except Exception as error:
                self._failed(error)
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ticket, core = self._ticket, self._core
        self._ticket, self._core, self._entered = UNSCHEDULED, None, False
        _innermost.set(self._outer)
        self._outer = None
        # After a fork the scheduler of the child counts nothing of its parent.
        if core is None or core is not self._scheduler._core:
            return
        try:
            core.release(ticket)
        except Exception as failure:
            self._scheduler._fail_open(failure)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: Function) -> Function:
        """Return the function, each call of which is a transaction of its own."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_in_loop(*args: Any, **kwargs: Any) -> Any:
                async with self._of_call(args, kwargs):
                    return await function(*args, **kwargs)

            return run_in_loop  # type: ignore[return-value]

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self._of_call(args, kwargs):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    def _of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Transaction:
        keys, shared = self._keys, self._shared_keys
        if not callable(keys) and not callable(shared):
            made = Transaction(self._scheduler, self._type, (), (), self._timeout)
            made._exclusive, made._shared = self._exclusive, self._shared
            return made
        return Transaction(
            self._scheduler,
            self._type,
            keys(*args, **kwargs) if callable(keys) else keys,
            shared(*args, **kwargs) if callable(shared) else shared,
            self._timeout,
        )

    def _hashes(self, name: str, keys: Iterable[Hashable]) -> tuple[int, ...]:
        if isinstance(keys, str | bytes):
            raise TypeError(
                f"transaction {self._type!r}: {name} is {keys!r}: give a list of keys, "
                f"such as [{keys!r}]"
            )
        try:
            return tuple(map(hash, keys))
        except TypeError as error:
            raise TypeError(
                f"transaction {self._type!r}: {name}: {error}; a key is a string, a number or a "
                "tuple of them"
            ) from error

    def _enter(self) -> bool:
        """Return whether it is to be scheduled, which one inside another is not."""
        if self._entered:
            raise RuntimeError(
                f"transaction {self._type!r} runs already: make one for each use by calling "
                "transaction()"
            )
        if callable(self._keys) or callable(self._shared_keys):
            raise TypeError(
                f"transaction {self._type!r}: only a decorator takes functions as keys; give a "
                "list of keys"
            )
        scheduler = self._scheduler
        outer = _innermost.get()
        while outer is not None:
            if outer._core is not None and outer._core is scheduler._core:
                if scheduler._policy.mode == "locks":
                    raise NestedTransactionError(
                        f"transaction {self._type!r} is inside transaction {outer._type!r}, whose "
                        "locks do not protect it: name the keys of both in the outer one"
                    )
                scheduler._add("nested")
                return False
            outer = outer._outer
        return True

    def _submit(self, core: Core) -> tuple[int, bool]:
        scheduled = self._type not in self._scheduler._policy.unscheduled
        return core.submit(self._exclusive, self._shared, scheduled)

    def _begin(self) -> None:
        self._entered = True
        self._outer = _innermost.get()
        _innermost.set(self)

    def _failed(self, error: Exception) -> None:
        if self._scheduler._policy.mode == "locks":
            raise error
        self._scheduler._fail_open(error)

    def _wait(self, core: Core, ticket: int) -> None:
        """Block the thread until the transaction starts.

        A lock of the interpreter, because a signal interrupts its wait.
        """
        try:
            gate = threading.Lock()
            gate.acquire()
            if not core.on_start(ticket, gate.release):
                return
            deadline = self._deadline()
            while (pause := self._pause(core, ticket, deadline)) is not None:
                if gate.acquire(timeout=pause):
                    return
        except BaseException:
            _abandon(core, ticket)
            raise

    async def _wait_in_loop(self, core: Core, ticket: int) -> None:
        """Suspend the task until the transaction starts."""
        loop = asyncio.get_running_loop()
        started = loop.create_future()
        released = False

        def start() -> None:
            nonlocal released
            try:
                loop.call_soon_threadsafe(_set, started)
            except RuntimeError:  # the loop is closed, and the task will never run
                released = True
                core.release(ticket)

        try:
            if not core.on_start(ticket, start):
                return
            deadline = self._deadline()
            while (pause := self._pause(core, ticket, deadline)) is not None:
                await asyncio.wait((started,), timeout=pause)
                if started.done():
                    return
        except BaseException:
            if not released:
                _abandon(core, ticket)
            raise

    def _deadline(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _pause(self, core: Core, ticket: int, deadline: float | None) -> float | None:
        """Return how many seconds to wait before the next call; None if it has started.

        Raises:
            TransactionTimeoutError: the deadline has passed, in mode `locks`.
        """
        pause = core.poll(ticket)
        if pause is None or deadline is None:
            return pause
        left = deadline - time.monotonic()
        if left > 0:
            return min(pause, left)
        self._scheduler._add("timed_out")
        if self._scheduler._policy.mode == "locks":
            raise TransactionTimeoutError(
                f"transaction {self._type!r} has not got its locks within {self._timeout} s: "
                "try again, or give a longer timeout"
            )
        core.force(ticket)
        return None


def _abandon(core: Core, ticket: int) -> None:
    """Remove a transaction that will not run, whether it waits or has just started."""
    if not core.cancel(ticket):
        core.release(ticket)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
