"""Known good policies to start from: the seeds, each under several backoffs (paper §5.1).

Where the schedule is searched for too, they also stand there with their transactions scheduled.
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
"""Spans in which it is found out whether scheduling pays: long beside a transaction of an engine in
memory, and of a slow store."""


def warm_start(
    encoding: Encoding, tuned_us: Sequence[float], library: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The seeds of the workload, best guesses first.

    Every seed comes with its own backoff and with the constant that suits Silo best; OCC with
    that constant is `silo_tuned` written as a table. OCC also comes with the constants around it,
    and the other seeds with the shortest.

    Args:
        encoding: the policy space.
        tuned_us: the constant backoff found for Silo, µs, in each scenario; the nearest of
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
        found += [_scheduled(one, encoding, us) for one in to_schedule for us in PROBES_TRIED_US]
    return _different(found)


def _scheduled(candidate: Candidate, encoding: Encoding, probe_us: int) -> Candidate:
    """The same under SMF, with the engine's own parameters but for `probe_us`.

    As it is, if it has a schedule.
    """
    policy, *parameters = encoding.schedule_cells
    if candidate.vector[policy] != POLICY.choices.index(FIFO):
        return candidate
    vector = list(candidate.vector)
    vector[policy] = POLICY.choices.index("smf")
    (place,) = (place for place, one in enumerate(PARAMETERS) if one.name == "probe_us")
    vector[parameters[place]] = PARAMETERS[place].choices.index(probe_us)
    return Candidate(tuple(vector), f"{candidate.origin}, scheduled by smf, probe {probe_us} µs")


def _nearest(us: float) -> int:
    return min(range(len(INITIAL_US)), key=lambda i: abs(INITIAL_US[i] - us))


def fitted(start: Sequence[Candidate], space: Space) -> list[Candidate]:
    """A warm start as a space allows it (`Space.fit`), in order, each policy once."""
    settled = space.encoding.canonical
    return _different([Candidate(settled(space.fit(one.vector)), one.origin) for one in start])


def _different(candidates: Sequence[Candidate]) -> list[Candidate]:
    unique: dict[tuple[int, ...], Candidate] = {}
    for candidate in candidates:
        unique.setdefault(candidate.vector, candidate)
    return list(unique.values())
