"""The warm start: the seed policies, each with several backoffs (paper §5.1).

If the schedule is searched too, it also has the seeds with scheduled transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies import INITIAL_US, SEEDS, BackoffRow, Encoding, build_seed
from policies.schedule import FIFO, PARAMETERS, POLICY
from trainer.search.base import Candidate
from trainer.search.space import Space

CONSTANT = (0.0, 0.0, 0.0)

PROBES_TRIED_US = (1000, 30000)
"""Probe intervals of the scheduled seeds: long relative to a transaction of an in-memory engine,
and of a slow store."""


def warm_start(
    encoding: Encoding, tuned_us: Sequence[float], library: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the seeds of the workload, the most promising first.

    Every seed has its own backoff and the constant backoff that is best for Silo; OCC with that
    constant is `silo_tuned` written as a table. OCC also has the neighbouring constants, and the
    other seeds have the shortest one.

    Args:
        encoding: the policy space.
        tuned_us: the best constant backoff for Silo, µs, in each scenario; the nearest of
            `INITIAL_US` are used.
        library: further candidates to start from.
    """
    tuned = [_nearest(us) for us in tuned_us]
    around = [i for at in tuned for i in (at - 1, at + 1) if 0 <= i < len(INITIAL_US)]
    found, to_schedule = [*library], [*library]
    for name in SEEDS:
        document = build_seed(name, encoding.signature)
        found.append(Candidate(tuple(encoding.encode(document)), name))
        for index in [*tuned, *(around if name == "occ" else [0])]:
            backoff = BackoffRow(INITIAL_US[index], CONSTANT, CONSTANT)
            constant = replace(document, backoff=dict.fromkeys(document.backoff, backoff))
            vector = tuple(encoding.encode(constant))
            found.append(Candidate(vector, f"{name}, constant backoff {INITIAL_US[index]:g} µs"))
            to_schedule += [found[-1]] if index in tuned else []
    if encoding.scheduled:
        found += [_scheduled(seed, encoding, us) for seed in to_schedule for us in PROBES_TRIED_US]
    return _different(found)


def _scheduled(candidate: Candidate, encoding: Encoding, probe_us: int) -> Candidate:
    """Return the candidate under SMF, with the engine's own parameters but `probe_us`.

    A candidate that has a schedule is unchanged.
    """
    policy, *parameters = encoding.schedule_cells
    if candidate.vector[policy] != POLICY.choices.index(FIFO):
        return candidate
    vector = list(candidate.vector)
    vector[policy] = POLICY.choices.index("smf")
    (place,) = (place for place, parameter in enumerate(PARAMETERS) if parameter.name == "probe_us")
    vector[parameters[place]] = PARAMETERS[place].choices.index(probe_us)
    return Candidate(tuple(vector), f"{candidate.origin}, scheduled by smf, probe {probe_us} µs")


def _nearest(us: float) -> int:
    return min(range(len(INITIAL_US)), key=lambda i: abs(INITIAL_US[i] - us))


def fitted(start: Sequence[Candidate], space: Space) -> list[Candidate]:
    """Return a warm start fitted to a space (`Space.fit`), in order, each policy once."""
    settled = space.encoding.canonical
    return _different([Candidate(settled(space.fit(c.vector)), c.origin) for c in start])


def _different(candidates: Sequence[Candidate]) -> list[Candidate]:
    unique: dict[tuple[int, ...], Candidate] = {}
    for candidate in candidates:
        unique.setdefault(candidate.vector, candidate)
    return list(unique.values())
