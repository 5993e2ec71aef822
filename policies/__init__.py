"""Policy tables: the file format, the vector encoding and the seed policies."""

from __future__ import annotations

from policies.document import (
    ALPHAS,
    BINARY_EXPONENTIAL,
    INITIAL_US,
    BackoffRow,
    CcRow,
    PolicyDocument,
    WaitAction,
)
from policies.encoding import ACTION_GROUPS, GRANT, PROTOCOL, SCHEDULE, Cell, Encoding, action_group
from policies.errors import PolicyFileError
from policies.format import digest, from_json, load, save, to_json, validate
from policies.resolve import open_policy, resolve
from policies.seeds import SEEDS, build_seed, ic3_without, is_seed, seed_names
from policies.signature import Access, Signature, TransactionType, workload_signature

__all__ = [
    "ACTION_GROUPS",
    "ALPHAS",
    "BINARY_EXPONENTIAL",
    "GRANT",
    "INITIAL_US",
    "PROTOCOL",
    "SCHEDULE",
    "SEEDS",
    "Access",
    "BackoffRow",
    "CcRow",
    "Cell",
    "Encoding",
    "PolicyDocument",
    "PolicyFileError",
    "Signature",
    "TransactionType",
    "WaitAction",
    "action_group",
    "build_seed",
    "digest",
    "from_json",
    "ic3_without",
    "is_seed",
    "load",
    "open_policy",
    "resolve",
    "save",
    "seed_names",
    "to_json",
    "validate",
    "workload_signature",
]
