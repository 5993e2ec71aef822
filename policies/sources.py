"""Places that policies come from beside files: `SCHEME:…` wherever a policy is named.

What reaches such a place lives in other packages, which add it here (`registry:` is MLflow's, added
by the command); this one knows neither them nor their libraries.
"""

from __future__ import annotations

from collections.abc import Callable

Reader = Callable[[str], str]
"""Takes what is typed behind the colon and gives the text of a policy file; raises
`PolicyFileError`."""

_READERS: dict[str, Reader] = {}


def add_source(scheme: str, reader: Reader) -> None:
    """Let `scheme:…` name policies; a reader that was added before is replaced."""
    _READERS[scheme] = reader


def is_sourced(policy: str) -> bool:
    """Whether this names a policy of such a place."""
    scheme, colon, _ = policy.partition(":")
    return bool(colon) and scheme in _READERS


def read_sourced(policy: str) -> str:
    """The text of a policy that `is_sourced`.

    Raises:
        PolicyFileError: it is not there, or the place can't be reached.
    """
    scheme, _, rest = policy.partition(":")
    return _READERS[scheme](rest)
