"""From what people type to a policy: a name, a file's path, or a place (`sources`)."""

from __future__ import annotations

import errno
from pathlib import Path

from policies.document import PolicyDocument
from policies.errors import PolicyFileError, cut
from policies.format import from_json, load
from policies.seeds import build_seed, is_seed, seed_names
from policies.shipped import in_library, library_path
from policies.signature import Signature
from policies.sources import is_sourced, read_sourced


def resolve(policy: str, signature: Signature) -> PolicyDocument:
    """The policy that a name or path means, checked against the workload.

    Such a name wins over a file of the same name; write `./ic3` for the file.

    Args:
        policy: a seed's name (`occ`, `random:7`, …), the name of a table of the library, the path
            of a policy file, or what names one in a place that was added to `policies.sources`.
        signature: the workload that it must fit.

    Raises:
        PolicyFileError: It is neither, or the file is not a valid policy for the workload.
    """
    if is_seed(policy):
        try:
            return build_seed(policy, signature)
        except ValueError as error:
            raise PolicyFileError(str(error)) from None
    return open_policy(policy, signature)


def open_policy(policy: str, signature: Signature | None = None) -> PolicyDocument:
    """The policy that a path means, or that is in another place (`policies.sources`).

    Args:
        policy: the path, or the name with its scheme.
        signature: the workload that it must fit; by default its own.

    Raises:
        PolicyFileError: There is none, or it is not valid for the workload.
    """
    if is_sourced(policy):
        return from_json(read_sourced(policy), policy, signature)
    return load(checked_path(policy), signature)


def checked_path(policy: str) -> str:
    """The path of a table of the library by its name, or else the argument itself.

    Raises:
        PolicyFileError: It looks like a name and no such file is there; the message lists names.
            Or it is too long for the name of a file.
    """
    if in_library(policy):
        return str(library_path(policy))
    looks_like_a_path = "/" in policy or "." in policy
    if not looks_like_a_path and not _is_there(policy):
        raise PolicyFileError(
            f"{policy!r} is neither a seed policy, nor a table of the library, nor a file; "
            f"the seed policies are {', '.join(seed_names())}; heddle policy list shows the tables"
        )
    return policy


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise PolicyFileError(f"{cut(name)}: is too long for the name of a file") from None
