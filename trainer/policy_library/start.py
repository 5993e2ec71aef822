"""Policies from which a search starts besides the seeds: files, and the library's nearest ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from policies import Encoding, PolicyDocument, PolicyFileError, Signature, load, resolve, validate
from policies.protocol import (
    DEFAULTS,
    EXTERNAL,
    ISOLATION,
    PLACES,
    SERIALIZABLE,
    STORE,
    fixed_options,
    in_front_of,
    parse_typed,
    protocol_name,
    store_name,
    typed,
    weaker_isolation,
    without_places,
)
from policies.shipped import library_names, library_path
from policies.training_places import TrainingPlace, training_places
from trainer.config import TrainingConfig, workload_options
from trainer.search.base import Candidate

LIBRARY = "library"
"""The value of `search.start` for the library's tables with the nearest workloads and cores."""

NEAREST = 3
"""The maximum number of these tables."""


def start_tables(places: Sequence[TrainingConfig], encoding: Encoding) -> list[Candidate]:
    """Return the policies named by `search.start` as candidates, each once.

    Their schedules are included if the search has schedules. Those for a store take the options of
    the store that the search is in front of.

    Args:
        places: the settings of each workload of the training; their search is the same.
        encoding: of the workload's tables.

    Raises:
        PolicyFileError: a name is not a policy, or does not fit the workload or the store.
    """
    store = _store_of(encoding)
    found: dict[tuple[int, ...], Candidate] = {}
    for name in places[0].search.start:
        if name == LIBRARY:
            named: dict[str, PolicyDocument] = {}
            for place in places:
                workload = workload_options(place.workload)
                cores = place.machine.cores
                named |= nearest_entries(workload, cores, encoding.signature, store)
        else:
            try:
                named = {name: fit_to_store(resolve(name, encoding.signature), store)}
            except PolicyFileError as error:
                raise PolicyFileError(f"search.start: {error}") from error
            except ValueError as error:
                raise PolicyFileError(f"search.start: {name}: {error}") from error
        for origin, document in named.items():
            if not encoding.scheduled:  # a search without schedules starts without one
                document = replace(document, schedule=None)
            try:
                vector = tuple(encoding.encode(document))
            except PolicyFileError as error:
                raise PolicyFileError(f"search.start: {origin}: {error}") from error
            found.setdefault(vector, Candidate(vector, origin))
    return list(found.values())


def _store_of(encoding: Encoding) -> dict[str, str] | None:
    """Return the fixed options of the store that a search is in front of; None for the engine."""
    if not encoding.stores:
        return None
    parsed = parse_typed(encoding.protocols[0])
    assert parsed is not None
    return parsed[1]


def fit_to_store(document: PolicyDocument, store: Mapping[str, str] | None) -> PolicyDocument:
    """Return a policy with the options of a store, or one for the engine as it is.

    Args:
        document: the policy.
        store: the fixed options of `external`; None for the engine.

    Raises:
        ValueError: it is for the engine, for another store, or for another isolation level.
    """
    if protocol_name(document.protocol) != EXTERNAL:
        if store is not None:
            raise ValueError(f"has no effect in front of a store; name a policy under {EXTERNAL}")
        return document
    assert document.protocol is not None
    own = document.protocol["options"]
    if store is None or store_name(own) != store_name(store):
        other = "the engine" if store is None else store_name(store)
        there = typed(EXTERNAL, without_places(fixed_options(own)))
        raise ValueError(
            f"is for {store_name(own)}, and search.protocols names {other}; set "
            f"search.protocols=['{there}'], or name another policy"
        )
    moved = in_front_of(document.protocol, store)
    _refuse_other_isolation(own, moved["options"], store.get(ISOLATION, SERIALIZABLE))
    return replace(document, protocol=moved)


def _refuse_other_isolation(own: Mapping[str, str], moved: Mapping[str, str], asked: str) -> None:
    """Refuse a policy whose transactions would be isolated otherwise than where it was trained.

    Args:
        own: its options of `external`.
        moved: its options in front of the store of the search.
        asked: the isolation level of the search.

    Raises:
        ValueError: they would.
    """
    level = weaker_isolation(own)
    if level is not None and level != asked:
        raise ValueError(
            f"is for {ISOLATION}={level}, and search.protocols for {ISOLATION}={asked}; add "
            f":{ISOLATION}={level} to the store there, or name another policy"
        )
    if level is None and weaker_isolation(moved) not in (None, asked):
        raise ValueError(
            f"needs locks={own.get('locks')} at {ISOLATION}={own.get(ISOLATION)}; leave locks= out "
            "of search.protocols, or name another policy"
        )


def nearest_entries(
    workload: Mapping[str, str],
    cores: int | None,
    signature: Signature,
    store: Mapping[str, str] | None = None,
) -> dict[str, PolicyDocument]:
    """Return the library's policies that fit a place, by name, nearest first, up to `NEAREST`.

    Of several policies for the same place only the best is included. In front of a store they are
    those for this store and its isolation level, with its options; otherwise those for the engine.

    Args:
        workload: its options, including the name.
        cores: of the machine; None to ignore the cores.
        signature: of the workload.
        store: the fixed options of `external`; None for the engine.
    """
    fitting: dict[str, tuple[str, PolicyDocument]] = {}
    for name in library_names():
        # Unchecked, because the engine refuses a policy for a store that it was built without.
        document = load(library_path(name), check=False)
        if document.signature != signature or not _is_for(document, store):
            continue
        homes = [vars(home) for home in training_places(document.provenance)]
        place = json.dumps([homes, _fixed_of(document)], sort_keys=True)
        known = fitting.setdefault(place, (name, document))
        if _margin(document) > _margin(known[1]):
            fitting[place] = (name, document)
    near = sorted(fitting.values(), key=lambda entry: _distance(entry[1], workload, cores, store))
    found = {name: fit_to_store(document, store) for name, document in near[:NEAREST]}
    for document in found.values():
        validate(document)
    return found


def _is_for(document: PolicyDocument, store: Mapping[str, str] | None) -> bool:
    try:
        fit_to_store(document, store)
    except ValueError:
        return False
    return True


def _fixed_of(document: PolicyDocument) -> dict[str, str]:
    """Return the options of a policy's store that no search changes; none for the engine."""
    if document.protocol is None or protocol_name(document.protocol) != EXTERNAL:
        return {}
    return fixed_options(document.protocol["options"])


def _margin(document: PolicyDocument) -> float:
    """Return the recorded throughput relative to the best baseline; 0 if unknown.

    The file may come from anyone, so scores that are no numbers count as unknown.
    """
    scores = document.provenance.get("scores")
    ratios = list(scores.values()) if isinstance(scores, Mapping) else []
    known = ratios and all(isinstance(ratio, int | float) for ratio in ratios)
    return float(min(ratios)) if known else 0.0


def _distance(
    document: PolicyDocument,
    workload: Mapping[str, str],
    cores: int | None,
    store: Mapping[str, str] | None,
) -> float:
    """Return the sum of the log ratios of all numbers, plus one for each word that differs.

    For a table trained for several places, the nearest one counts.
    """
    near = min(_distance_of(home, workload, cores) for home in training_places(document.provenance))
    if store is None:
        return near
    own, other = ({**DEFAULTS, **options} for options in (_fixed_of(document), store))
    compared = {*own, *other} - {STORE, *PLACES}
    return near + sum(_difference(own.get(key), other.get(key)) for key in compared)


def _distance_of(home: TrainingPlace, workload: Mapping[str, str], cores: int | None) -> float:
    theirs = {str(key): str(value) for key, value in home.workload.items()}
    their_cores = home.machine.get("cores")
    pairs: Sequence[tuple[object, object]] = [
        (workload.get(key), theirs.get(key)) for key in {*workload, *theirs}
    ]
    if cores is not None:
        pairs = [*pairs, (cores, their_cores)]
    return sum(_difference(first, other) for first, other in pairs)


def _difference(first: object, other: object) -> float:
    try:
        return abs(math.log(float(str(first)) / float(str(other))))
    except (ValueError, ZeroDivisionError):
        return float(first != other)
