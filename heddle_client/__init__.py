"""Admits and orders the transactions of an application in front of its own database.

`docs/client-library.md` describes it. It imports nothing of the engine or of the trainer.
"""

from heddle_client.async_merger import AsyncMerger
from heddle_client.errors import (
    InDoubtError,
    NestedTransactionError,
    PolicyError,
    ServerError,
    TransactionTimeoutError,
)
from heddle_client.merger import Merger
from heddle_client.metrics import Metrics
from heddle_client.policy import Mode, Policy
from heddle_client.scheduler import Scheduler
from heddle_client.transaction import Transaction

__all__ = [
    "AsyncMerger",
    "InDoubtError",
    "Merger",
    "Metrics",
    "Mode",
    "NestedTransactionError",
    "Policy",
    "PolicyError",
    "Scheduler",
    "ServerError",
    "Transaction",
    "TransactionTimeoutError",
]
