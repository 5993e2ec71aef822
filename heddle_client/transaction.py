"""One transaction of an application: it waits for its turn, runs, and lets others start."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from heddle_client._scheduler import Place
from heddle_client.errors import NestedTransactionError, TransactionTimeoutError

if TYPE_CHECKING:
    from heddle_client.scheduler import Scheduler

Keys = Iterable[Hashable] | Callable[..., Iterable[Hashable]]
Function = TypeVar("Function", bound=Callable[..., Any])


class Transaction(Place):
    """Made by `Scheduler.transaction`. It can be used again after it has ended.

    Its base class ends it: Python may raise KeyboardInterrupt before a `__exit__` in Python runs.
    """

    __slots__ = (
        "_exclusive",
        "_keys",
        "_scheduler",
        "_shared",
        "_shared_keys",
        "_timeout",
        "_type",
    )

    def __init__(
        self, scheduler: Scheduler, type_: str, keys: Keys, shared: Keys, timeout: float | None
    ) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._type = type_
        self._keys = keys
        self._shared_keys = shared
        self._timeout = timeout
        # A function of arguments is called when the decorated function is.
        self._exclusive = () if callable(keys) else self._hashes("keys", keys)
        self._shared = () if callable(shared) else self._hashes("shared", shared)

    def __enter__(self) -> Self:
        self._check()
        # An interrupt may follow any call. Nothing precedes the first call of the last clause.
        try:
            try:
                if not self._submit():
                    self._wait()
            except (NestedTransactionError, TransactionTimeoutError):
                raise
            except Exception as error:
                self._failed(error)
            self._begin(self._type)
        except BaseException:
            self._leave()
            raise
        return self

    async def __aenter__(self) -> Self:
        self._check()
        try:
            try:
                if not self._submit():
                    await self._wait_in_loop()
            except (NestedTransactionError, TransactionTimeoutError):
                raise
            except Exception as error:
                self._failed(error)
            self._begin(self._type)
        except BaseException:
            self._leave()
            raise
        return self

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
            return tuple(map(self._scheduler._hash, keys))
        except TypeError as error:
            raise TypeError(
                f"transaction {self._type!r}: {name}: {error}; a key is a string, a number or a "
                "tuple of them"
            ) from error

    def _check(self) -> None:
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

    def _submit(self) -> bool:
        """Return whether it has started, as one inside another has; otherwise it waits."""
        scheduler = self._scheduler
        core, policy = scheduler._core, scheduler._policy
        outer = core.surrounding()
        if outer is None:
            scheduled = self._type not in policy.unscheduled
            return core.admit(self, self._exclusive, self._shared, scheduled)
        if policy.mode == "locks":
            raise NestedTransactionError(
                f"transaction {self._type!r} is inside transaction {outer!r}, whose locks do not "
                "protect it: name the keys of both in the outer one"
            )
        scheduler._add("nested")
        return True

    def _failed(self, error: Exception) -> None:
        self._leave()
        if self._scheduler._policy.mode == "locks":
            raise error
        self._scheduler._fail_open(error)

    def _failed_to_end(self, reason: str) -> None:
        self._scheduler._fail_open(RuntimeError(reason))

    def _wait(self) -> None:
        """Block the thread until the transaction starts.

        A lock of the interpreter, because a signal interrupts its wait.
        """
        gate = threading.Lock()
        gate.acquire()
        if not self._on_start(gate.release):
            return
        deadline = self._deadline()
        while (pause := self._pause(deadline)) is not None:
            if gate.acquire(timeout=pause):
                self._poll()  # raises an error if the server is lost
                return

    async def _wait_in_loop(self) -> None:
        """Suspend the task until the transaction starts."""
        loop = asyncio.get_running_loop()
        started = loop.create_future()

        def start() -> None:
            try:
                loop.call_soon_threadsafe(_set, started)
            except RuntimeError:  # the loop is closed, and the task will never run
                self._leave()

        if not self._on_start(start):
            return
        deadline = self._deadline()
        while (pause := self._pause(deadline)) is not None:
            await asyncio.wait((started,), timeout=pause)
            if started.done():
                self._poll()
                return

    def _deadline(self) -> float | None:
        if self._timeout is None:
            return None
        return time.monotonic() + max(self._timeout, self._scheduler._least_timeout)

    def _pause(self, deadline: float | None) -> float | None:
        """Return how many seconds to wait before the next call; None if it has started.

        Raises:
            TransactionTimeoutError: the deadline has passed, in mode `locks`.
        """
        pause = self._poll()
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
        self._force()
        return None


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
