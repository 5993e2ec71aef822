"""Bounds: names after `policy=` that stand for the best of several protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from envs.comparison import Comparison, Row

BOUNDS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        # What choosing one of the two for the whole workload can reach: the CormCC of Wang et al.
        # (Polyjuice, OSDI 2021, §7.2), whose partitions are all alike.
        "cormcc_bound": ("silo", "two_phase_locking"),
    }
)
"""The names and their protocols. A bound has the runs of the protocol that is best in them."""


def measured_names(names: Sequence[str]) -> list[str]:
    """Return the names to measure: each bound is replaced by its protocols.

    Args:
        names: names after `policy=`; the result has their order, without repeated names.
    """
    measured = (protocol for name in names for protocol in BOUNDS.get(name, (name,)))
    return list(dict.fromkeys(measured))


def with_bounds(comparison: Comparison, names: Sequence[str]) -> Comparison:
    """Return a comparison with a row for each bound that was asked for.

    Args:
        comparison: of `measured_names`; it may have been cut short.
        names: names after `policy=`.
    """
    rows = {row.subject.name: row for row in comparison.rows}
    bounds = [_best(name, rows) for name in dict.fromkeys(names) if name in BOUNDS]
    return replace(comparison, rows=[*comparison.rows, *(row for row in bounds if row is not None)])


def _best(name: str, rows: Mapping[str, Row]) -> Row | None:
    """Return the best protocol's row under the name of the bound; None if one was not measured."""
    members = [rows[protocol] for protocol in BOUNDS[name] if protocol in rows]
    if len(members) < len(BOUNDS[name]) or any(row.ratio is None for row in members):
        return None
    best = max(members, key=lambda row: row.ratio or 0.0)
    return replace(best, subject=replace(best.subject, name=name))
