"""Tables that a search starts from besides the seeds: files, and the library's nearest ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from policies import Encoding, PolicyDocument, PolicyFileError, Signature, load, resolve
from policies.shipped import library_names, library_path
from policies.training_places import TrainingPlace, training_places
from trainer.config import TrainingConfig, workload_options
from trainer.search.base import Candidate

LIBRARY = "library"
"""In `search.start`: the tables of the library whose workloads and cores are nearest."""

NEAREST = 3
"""So many of them at most."""


def start_tables(places: Sequence[TrainingConfig], encoding: Encoding) -> list[Candidate]:
    """What `search.start` names, as candidates, each table once.

    Their schedules are taken along where schedules are searched for.

    Args:
        places: the settings of each workload that is trained for; their search is one.
        encoding: of the workload's tables.

    Raises:
        PolicyFileError: a name is no policy, or it is not for this workload.
    """
    found: dict[tuple[int, ...], Candidate] = {}
    for name in places[0].search.start:
        if name == LIBRARY:
            named: dict[str, PolicyDocument] = {}
            for place in places:
                workload = workload_options(place.workload)
                cores = place.machine.cores
                named |= nearest_entries(workload, cores, encoding.signature)
        else:
            try:
                named = {name: resolve(name, encoding.signature)}
            except PolicyFileError as error:
                raise PolicyFileError(f"search.start: {error}") from error
        for origin, document in named.items():
            if not encoding.scheduled:  # a search that leaves schedules alone starts without one
                document = replace(document, schedule=None)
            try:
                vector = tuple(encoding.encode(document))
            except PolicyFileError as error:
                raise PolicyFileError(f"search.start: {origin}: {error}") from error
            found.setdefault(vector, Candidate(vector, origin))
    return list(found.values())


def nearest_entries(
    workload: Mapping[str, str], cores: int | None, signature: Signature
) -> dict[str, PolicyDocument]:
    """The library's tables that fit the workload, by name, the nearest first (`NEAREST` at most).

    Of several that were trained for the same place only the best there is taken.

    Args:
        workload: its options, the name among them.
        cores: of the machine; None: of no account.
        signature: of the workload.
    """
    fitting: dict[str, tuple[str, PolicyDocument]] = {}
    for name in library_names():
        document = load(library_path(name))
        if document.signature != signature:
            continue
        place = json.dumps(
            [vars(home) for home in training_places(document.provenance)], sort_keys=True
        )
        known = fitting.setdefault(place, (name, document))
        if _margin(document) > _margin(known[1]):
            fitting[place] = (name, document)
    near = sorted(fitting.values(), key=lambda one: _distance(one[1], workload, cores))
    return dict(near[:NEAREST])


def _margin(document: PolicyDocument) -> float:
    """Throughput ÷ that of the best baseline when it was added; 0 if that is not known.

    Whoever wrote the file: scores that are no numbers are not known.
    """
    scores = document.provenance.get("scores")
    ratios = list(scores.values()) if isinstance(scores, Mapping) else []
    known = ratios and all(isinstance(ratio, int | float) for ratio in ratios)
    return float(min(ratios)) if known else 0.0


def _distance(document: PolicyDocument, workload: Mapping[str, str], cores: int | None) -> float:
    """By how many factors of e all numbers differ, one more for each word that does.

    Of a table that was trained for several places, the nearest of them counts.
    """
    return min(_distance_of(home, workload, cores) for home in training_places(document.provenance))


def _distance_of(home: TrainingPlace, workload: Mapping[str, str], cores: int | None) -> float:
    theirs = {str(key): str(value) for key, value in home.workload.items()}
    their_cores = home.machine.get("cores")
    pairs: Sequence[tuple[object, object]] = [
        (workload.get(key), theirs.get(key)) for key in {*workload, *theirs}
    ]
    if cores is not None:
        pairs = [*pairs, (cores, their_cores)]
    return sum(_difference(one, other) for one, other in pairs)


def _difference(one: object, other: object) -> float:
    try:
        return abs(math.log(float(str(one)) / float(str(other))))
    except (ValueError, ZeroDivisionError):
        return float(one != other)
