"""What a policy does, as one number: two that share it do the same, whatever they are called."""

from __future__ import annotations

import json
from hashlib import sha256

from policies.document import PolicyDocument

ABOUT = ("name", "provenance")
"""The fields of a document that only tell people about it."""


def policy_digest(document: PolicyDocument) -> str:
    """SHA-256, hexadecimal, of a policy's workload, tables and schedule; not of its name."""
    fields = document.to_dict()
    for field in ABOUT:
        del fields[field]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
