"""The warm start in front of an external store: the store alone, tuned, scheduled and merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from envs.external_sweep import SWEPT, TUNED_EXTERNAL
from policies import Encoding, PolicyDocument, PolicyFileError, build_seed
from policies.protocol import EXTERNAL, UNSET, Option, parse_typed
from trainer.search.base import Candidate

LOCKED = {"locks": "hints"}

TRIED: tuple[dict[str, str], ...] = (
    LOCKED,
    {**LOCKED, "isolation": "read_committed"},
    {"begin": "deferred"},
    {"conflicts": "locking"},
    {"merge": "8"},
    {"merge": "16"},
    {"merge": "16", "reads": "alone"},
    {**LOCKED, "merge": "8"},
    {**LOCKED, "merge": "16"},
    {**LOCKED, "merge": "16", "reads": "alone"},
)
"""The options of the warm start, each with the store's own settings and with the tuned ones."""

SCHEDULED_AT_A_TIME = ("4", "8", "16")
"""The transactions at a time with which a schedule is tried: it chooses who takes a free place."""

PROBES_US = (0, 30000)
"""Probe intervals of the scheduled ones: never, and the engine's shortest in front of a store."""


def store_start(
    encoding: Encoding, tuned: Sequence[Mapping[str, str]], library: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the policies from which a search in front of a store starts.

    The first is the store alone (`external`), and the next is `external_tuned`, as long as a search
    can express its settings. The others add what schedulers in front of the store can do.

    Args:
        encoding: the policy space, of one external store.
        tuned: the options of `external_tuned` in each scenario.
        library: further candidates to start from.
    """
    (typed,) = encoding.protocols
    parsed = parse_typed(typed)
    assert parsed is not None
    _, fixed = parsed
    swept = [{name: options[name] for name in SWEPT if name in options} for options in tuned]
    found = [*library, *_candidates(encoding, EXTERNAL, fixed, {})]
    for settings in swept:
        found += _candidates(encoding, TUNED_EXTERNAL, fixed, settings)
    for added in TRIED:
        for settings in ({}, *swept):
            words = ", ".join(f"{key} {value}" for key, value in added.items())
            name = TUNED_EXTERNAL if settings else EXTERNAL
            found += _candidates(encoding, f"{name}, {words}", fixed, {**settings, **added})
    if encoding.scheduled:
        found += _scheduled(encoding, fixed, swept)
    unique: dict[tuple[int, ...], Candidate] = {}
    for candidate in found:
        unique.setdefault(candidate.vector, candidate)
    return list(unique.values())


def _scheduled(
    encoding: Encoding, fixed: Mapping[str, str], swept: Sequence[Mapping[str, str]]
) -> Iterator[Candidate]:
    levels = [{"concurrency": level} for level in SCHEDULED_AT_A_TIME]
    for settings in (*swept, *levels):
        for added in ({}, LOCKED):
            options = {**settings, **added}
            words = ", ".join(f"{key} {value}" for key, value in options.items())
            for probe_us in PROBES_US:
                name = f"{EXTERNAL}, {words}, scheduled by smf, probe {probe_us} µs"
                schedule: Mapping[str, str | int] = {
                    "policy": "smf",
                    "rules": "lock",
                    "probe_us": probe_us,
                }
                yield from _candidates(encoding, name, fixed, options, schedule)


def _candidates(
    encoding: Encoding,
    name: str,
    fixed: Mapping[str, str],
    options: Mapping[str, str],
    schedule: Mapping[str, str | int] | None = None,
) -> Iterable[Candidate]:
    """Return the candidate with these options; none if the search can't express it."""
    known = {option.name: option for option in encoding.protocol.options}
    if any(name not in known for name in options):
        return []
    nearest = {key: _nearest(known[key], value) for key, value in options.items()}
    section = {
        "name": EXTERNAL,
        "options": {**fixed, **{key: text for key, text in nearest.items() if text != UNSET}},
    }
    seed: PolicyDocument = build_seed("occ", encoding.signature)
    try:
        vector = encoding.encode(replace(seed, protocol=section, schedule=schedule))
    except PolicyFileError:
        return []
    return [Candidate(encoding.canonical(vector), name)]


def _nearest(option: Option, value: str) -> str:
    """Return the choice of an option that is the value, or the nearest number."""
    numbers = [choice for choice in option.choices if choice != UNSET]
    if value in option.choices or not value.isdigit() or not all(map(str.isdigit, numbers)):
        return value
    return min(numbers, key=lambda choice: abs(int(choice) - int(value)))
