"""Random tables, in which every cell is drawn uniformly and independently from its choices."""

from __future__ import annotations

from random import Random

from policies.document import PolicyDocument
from policies.encoding import Encoding
from policies.signature import Signature


def build(signature: Signature, seed: int) -> PolicyDocument:
    """Return the random table of a workload and a seed, which is the same on every machine."""
    draw = Random(seed)
    encoding = Encoding(signature)
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    name = f"random:{seed}"
    return encoding.decode(vector, name, provenance={"seed_policy": name})
