"""Random tables, in which every cell is drawn uniformly and independently from its choices."""

from __future__ import annotations

from random import Random

from policies.document import PolicyDocument
from policies.encoding import Encoding
from policies.signature import Signature


def build(signature: Signature, text: str = "") -> PolicyDocument:
    """Return the random table of a workload and a seed, which is the same on every machine.

    Args:
        signature: signature of the workload.
        text: the seed; empty: 1.

    Raises:
        ValueError: the seed is not a whole number from 0.
    """
    if text and not (text.isascii() and text.isdigit()):
        raise ValueError(
            f"seed policy random:{text}: {text!r} is not a seed; write a whole number, as in "
            "random:7"
        )
    seed = int(text or "1")
    draw = Random(seed)
    encoding = Encoding(signature)
    vector = [draw.randrange(choices) for choices in encoding.nvec]
    name = f"random:{seed}"
    return encoding.decode(vector, name, provenance={"seed_policy": name})
