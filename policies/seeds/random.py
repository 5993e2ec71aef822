"""A random table: every cell drawn uniformly and independently from what it may be."""

from __future__ import annotations

from random import Random

from policies.document import PolicyDocument
from policies.encoding import Encoding
from policies.signature import Signature


def build(signature: Signature, seed: int) -> PolicyDocument:
    """The random table of this seed; the same seed gives the same table everywhere."""
    draw = Random(seed)
    encoding = Encoding(signature)
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    name = f"random:{seed}"
    return encoding.decode(vector, name, provenance={"seed_policy": name})
