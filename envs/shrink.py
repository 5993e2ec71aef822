"""Reduce a failing trial to a small one that still fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from envs.trial import Trial
from policies.protocol import RANK

_SMALLER = {"types": 1, "accesses": 1, "ordered_keys": 1, "hash_keys": 1, "churn": 0, "audits": 0}
"""The options of the workload `generic` to reduce, with their minimum."""

_SHORTEST = 2e-5


def shrink(trial: Trial, fails: Callable[[Trial], bool], attempts: int = 200) -> Trial:
    """Reduce a failing trial while it still fails.

    Tries fewer cores, a shorter run, fewer keys and accesses, and table rows as in Silo, until no
    reduction fails.

    Args:
        trial: a failing trial.
        fails: runs a trial and returns whether it fails.
        attempts: maximum number of trials to run.

    Returns:
        The smallest failing trial found.
    """
    left = attempts
    improved = True
    while improved:
        improved = False
        for smaller in _smaller(trial):
            if left == 0:
                return trial
            left -= 1
            if fails(smaller):
                trial, improved = smaller, True
                break
    return trial


def _smaller(trial: Trial) -> Iterator[Trial]:
    """Yield trials that are smaller in one respect, the largest reductions first."""
    if trial.switches:
        yield replace(trial, switches=())
        for at in range(len(trial.switches)):
            yield replace(trial, switches=trial.switches[:at] + trial.switches[at + 1 :])
    for cores in {2, trial.cores // 2, trial.cores - 1}:
        if 2 <= cores < trial.cores:
            yield replace(trial, cores=cores)
    for share in (0.1, 0.5, 0.8):
        if trial.seconds * share >= _SHORTEST:
            yield replace(trial, seconds=trial.seconds * share)
    # The types are part of the policy's signature, so a policy fixes them, as do ranks by type.
    free = trial.subject.policy is None and RANK not in trial.subject.options
    for key, least in _SMALLER.items():
        value = int(trial.workload.get(key, least))
        shapes_signature = key in ("types", "accesses", "audits")
        if trial.workload.get("name") != "generic" or (shapes_signature and not free):
            continue
        for smaller in {least, value // 2, value - 1}:
            if least <= smaller < value:
                yield replace(trial, workload=trial.workload | {key: str(smaller)})
    if trial.subject.policy is not None:
        for policy in _plainer(trial.subject.policy):
            yield replace(trial, subject=replace(trial.subject, policy=policy))


def _plainer(policy: str) -> Iterator[str]:
    """Yield the table with some rows as in Silo: many rows at first, then single ones."""
    document = json.loads(policy)
    rows: list[dict[str, Any]] = document["cc"]
    plain = [{**row, **_plain_cells(row)} for row in rows]
    changed = [at for at, row in enumerate(rows) if row != plain[at]]
    size = len(changed)
    while size >= 1:
        for start in range(0, len(changed), size):
            chosen = set(changed[start : start + size])
            mixed = [plain[at] if at in chosen else row for at, row in enumerate(rows)]
            yield json.dumps({**document, "cc": mixed})
        size //= 2


def _plain_cells(row: dict[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    if "wait" in row:
        cells["wait"] = dict.fromkeys(row["wait"], "NO_WAIT")
    if row.get("read_version") is not None:
        cells["read_version"] = "CLEAN"
    if row.get("write_visibility") is not None:
        cells["write_visibility"] = "PRIVATE"
    if "early_validation" in row:
        cells["early_validation"] = False
    return cells
