"""The errors of this package."""

from heddle_client._scheduler import ServerError

__all__ = [
    "InDoubtError",
    "NestedTransactionError",
    "PolicyError",
    "ServerError",
    "TransactionTimeoutError",
]


class PolicyError(ValueError):
    """A policy that the scheduler cannot follow. The message names the place and the cure."""


class TransactionTimeoutError(TimeoutError):
    """A transaction that has not got its locks in time. It has not started."""


class NestedTransactionError(RuntimeError):
    """A transaction inside another one of the same scheduler, in mode `locks`."""


class InDoubtError(RuntimeError):
    """A merged transaction of which it is not known whether it has committed."""
