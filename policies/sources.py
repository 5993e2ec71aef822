"""Sources of policies other than files, named `SCHEME:…`.

Other packages register readers here, so that this package does not depend on them. The commands
register `registry:` for MLflow's model registry.
"""

from __future__ import annotations

from collections.abc import Callable

Reader = Callable[[str], str]
"""A function that takes the text after the colon and returns the text of a policy file. It raises
`PolicyFileError`."""

_READERS: dict[str, Reader] = {}


def add_source(scheme: str, reader: Reader) -> None:
    """Register the reader of policies named `scheme:…`, replacing an earlier one."""
    _READERS[scheme] = reader


def is_sourced(policy: str) -> bool:
    """Return whether a name has a registered scheme."""
    scheme, colon, _ = policy.partition(":")
    return bool(colon) and scheme in _READERS


def read_sourced(policy: str) -> str:
    """Return the text of the policy file that a name with a registered scheme refers to.

    Raises:
        PolicyFileError: there is no such policy, or the source cannot be reached.
    """
    scheme, _, rest = policy.partition(":")
    return _READERS[scheme](rest)
