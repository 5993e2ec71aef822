"""Find the policy that a name or path refers to."""

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
    """Return the policy that a name or path refers to, checked against a workload.

    A name takes precedence over a file of the same name; write `./ic3` for the file.

    Args:
        policy: the name of a seed policy (`occ`, `random:7`, …), the name of a table of the
            library, the path of a policy file, or a name with a scheme of `policies.sources`.
        signature: signature that the policy must fit.

    Raises:
        PolicyFileError: there is no such policy, or it is not valid for the workload.
        ImportError: the engine is not built.
    """
    if is_seed(policy):
        try:
            return build_seed(policy, signature)
        except ValueError as error:
            raise PolicyFileError(str(error)) from None
    return open_policy(policy, signature)


def open_policy(policy: str, signature: Signature | None = None) -> PolicyDocument:
    """Return the policy of a file, the library or a source, but not a seed policy.

    Args:
        policy: the path of a policy file, the name of a table of the library, or a name with a
            scheme of `policies.sources`.
        signature: signature that the policy must fit; None for its own.

    Raises:
        PolicyFileError: there is no such policy, or it is not valid for the workload.
        ImportError: the engine is not built.
    """
    if is_sourced(policy):
        return from_json(read_sourced(policy), policy, signature)
    return load(checked_path(policy), signature)


def checked_path(policy: str) -> str:
    """Return the path of a table of the library, or the argument if it is a path.

    Raises:
        PolicyFileError: the argument is an unknown name, or too long for the name of a file.
    """
    if in_library(policy):
        return str(library_path(policy))
    is_path = "/" in policy or "." in policy
    if not is_path and not _exists(policy):
        raise PolicyFileError(
            f"{policy!r} is neither a seed policy, nor a table of the library, nor a file; "
            f"the seed policies are {', '.join(seed_names())}; heddle policy list shows the tables"
        )
    return policy


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise PolicyFileError(f"{cut(name)}: is too long for the name of a file") from None
