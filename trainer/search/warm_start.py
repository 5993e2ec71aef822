"""The warm start: the seed policies, each with several backoffs (paper §5.1).

If the schedule is searched too, it also has the seeds with scheduled transactions, and with other
protocols each of them under a few options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policies import INITIAL_US, SEEDS, BackoffRow, Encoding, build_seed
from policies.protocol import LOCKING
from policies.schedule import FIFO, PARAMETERS, POLICY
from trainer.search.base import Candidate
from trainer.search.space import Space

CONSTANT = (0.0, 0.0, 0.0)

NATIVE_CONSTANT = "constant backoff"

LOCKING_TRIED: tuple[dict[str, str], ...] = (
    {},
    {"conflict": "no_wait"},
    {"conflict": "detect"},
    {"conflict": "detect", "grant": "vats"},
    {"conflict": "detect", "grant": "bldsf"},
    {"conflict": "detect", "grant": "cats"},
)
"""The options of `two_phase_locking` in the warm start."""

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
    native = _native(encoding, [INITIAL_US[index] for index in tuned])
    found += native
    to_schedule += [candidate for candidate in native if NATIVE_CONSTANT not in candidate.origin]
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
    if not encoding.is_table(vector):
        name = encoding.cells[encoding.protocol_cells.start].choices[
            vector[encoding.protocol_cells.start]
        ]
        (place,) = (place for place, each in enumerate(PARAMETERS) if each.name == "rules")
        rules = "lock" if name == LOCKING else "mvtso"
        vector[parameters[place]] = PARAMETERS[place].choices.index(rules)
    return Candidate(tuple(vector), f"{candidate.origin}, scheduled by smf, probe {probe_us} µs")


def _native(encoding: Encoding, constants_us: Sequence[float]) -> list[Candidate]:
    """Return each protocol other than the table under its own and the tuned constant backoff."""
    document = build_seed("occ", encoding.signature)
    found = []
    for name in encoding.protocols:
        for options in LOCKING_TRIED if name == LOCKING else ({},):
            section = {"name": name, "options": dict(options)}
            native = replace(document, protocol=section)
            words = ", ".join([name, *options.values()])
            found.append(Candidate(tuple(encoding.encode(native)), words))
            for us in constants_us:
                backoff = dict.fromkeys(document.backoff, BackoffRow(us, CONSTANT, CONSTANT))
                vector = tuple(encoding.encode(replace(native, backoff=backoff)))
                found.append(Candidate(vector, f"{words}, {NATIVE_CONSTANT} {us:g} µs"))
    return found


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
