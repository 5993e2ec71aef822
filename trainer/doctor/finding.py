"""One fact about this machine, and its effect on Heddle."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Finding:
    """A fact, and what does not work because of it.

    Attributes:
        name: of what was examined.
        found: the fact.
        effect: what does not work, or gives doubtful figures; None if everything works.
        cure: the remedy; None if none is needed.
        needed: whether Heddle can't work without the missing component.
    """

    name: str
    found: str
    effect: str | None = None
    cure: str | None = None
    needed: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return the finding as JSON values."""
        return asdict(self)


def gibibytes(size: float) -> str:
    """Return a size in bytes as text in GiB."""
    return f"{size / 2**30:.1f} GiB"
