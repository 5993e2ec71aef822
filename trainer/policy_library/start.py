"""Tables from which a search starts besides the seeds: files, and the library's nearest tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from policies import Encoding, PolicyDocument, PolicyFileError, Signature, load, resolve
from policies.protocol import EXTERNAL, protocol_name
from policies.shipped import library_names, library_path
from policies.training_places import TrainingPlace, training_places
from trainer.config import TrainingConfig, workload_options
from trainer.search.base import Candidate

LIBRARY = "library"
"""The value of `search.start` for the library's tables with the nearest workloads and cores."""

NEAREST = 3
"""The maximum number of these tables."""


def start_tables(places: Sequence[TrainingConfig], encoding: Encoding) -> list[Candidate]:
    """Return the tables named by `search.start` as candidates, each once.

    Their schedules are included if the search has schedules.

    Args:
        places: the settings of each workload of the training; their search is the same.
        encoding: of the workload's tables.

    Raises:
        PolicyFileError: a name is not a policy, or does not fit the workload.
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
            if encoding.stores and protocol_name(document.protocol) != EXTERNAL:
                if name == LIBRARY:
                    continue
                raise PolicyFileError(
                    f"search.start: {origin}: has no effect in front of a store; name a policy "
                    f"under {EXTERNAL}"
                )
            if not encoding.scheduled:  # a search without schedules starts without one
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
    """Return the library's tables that fit the workload, by name, nearest first, up to `NEAREST`.

    Of several tables for the same place only the best is included.

    Args:
        workload: its options, including the name.
        cores: of the machine; None to ignore the cores.
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
    near = sorted(fitting.values(), key=lambda entry: _distance(entry[1], workload, cores))
    return dict(near[:NEAREST])


def _margin(document: PolicyDocument) -> float:
    """Return the recorded throughput relative to the best baseline; 0 if unknown.

    The file may come from anyone, so scores that are no numbers count as unknown.
    """
    scores = document.provenance.get("scores")
    ratios = list(scores.values()) if isinstance(scores, Mapping) else []
    known = ratios and all(isinstance(ratio, int | float) for ratio in ratios)
    return float(min(ratios)) if known else 0.0


def _distance(document: PolicyDocument, workload: Mapping[str, str], cores: int | None) -> float:
    """Return the sum of the log ratios of all numbers, plus one for each word that differs.

    For a table trained for several places, the nearest one counts.
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
    return sum(_difference(first, other) for first, other in pairs)


def _difference(first: object, other: object) -> float:
    try:
        return abs(math.log(float(str(first)) / float(str(other))))
    except (ValueError, ZeroDivisionError):
        return float(first != other)
