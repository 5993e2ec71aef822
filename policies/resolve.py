"""From what people type to a policy: the name of a seed, or the path of a file."""

from __future__ import annotations

from policies.document import PolicyDocument
from policies.errors import PolicyFileError
from policies.format import load
from policies.seeds import build_seed, is_seed, seed_names
from policies.signature import Signature


def resolve(policy: str, signature: Signature) -> PolicyDocument:
    """The policy that a name or path means, checked against the workload.

    A seed's name wins over a file of the same name; write `./ic3` for the file.

    Args:
        policy: a seed's name (`occ`, `random:7`, …) or the path of a policy file.
        signature: the workload that it must fit.

    Raises:
        PolicyFileError: It is neither, or the file is not a valid policy for the workload.
    """
    if is_seed(policy):
        try:
            return build_seed(policy, signature)
        except ValueError as error:
            raise PolicyFileError(str(error)) from None
    return load(checked_path(policy), signature)


def checked_path(policy: str) -> str:
    """The argument itself, unless it can only have been meant as a seed's name.

    Raises:
        PolicyFileError: It looks like a name and no such file is there; the message lists seeds.
    """
    from pathlib import Path

    looks_like_a_path = "/" in policy or "." in policy
    if not looks_like_a_path and not Path(policy).exists():
        raise PolicyFileError(
            f"{policy!r} is neither a seed policy nor a file; "
            f"the seed policies are {', '.join(seed_names())}"
        )
    return policy
