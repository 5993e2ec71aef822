"""Digests of policies that do not depend on name and provenance."""

from __future__ import annotations

import json
from hashlib import sha256

from policies.document import PolicyDocument

ABOUT = ("name", "provenance")
"""The fields of a document that do not affect a run."""


def policy_digest(document: PolicyDocument) -> str:
    """Return the hexadecimal SHA-256 digest of a policy's workload, tables and schedule."""
    fields = document.to_dict()
    for field in ABOUT:
        del fields[field]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
