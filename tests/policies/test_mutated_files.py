"""Mutated policy files, read by Python and by the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import engine
from policies import PolicyDocument, PolicyFileError, Signature, build_seed, load, to_json
from policies import from_json as read
from tests.policies.conftest import WORKLOADS
from tests.policies.mutated_text import of_bytes, of_values
from tests.scale import scaled

MUTATIONS = scaled(2000)
SEEDS = ("occ", "two_phase_locking_star", "ic3", "random:3")
PROVENANCE = {"search": "evolution", "scores": {"silo": 1.25}, "note": "é", "list": [1, None]}


def mutations(text: str, count: int, seed: str) -> Iterator[bytes]:
    """The number of mutations, half of the bytes and half of the values, some of them combined."""
    random = Random(seed)
    for number in range(count):
        data = text.encode()
        data = (of_bytes if number % 2 else of_values)(data, random)
        if random.random() < 0.2 and data:
            data = of_bytes(data, random)
        yield data


def by_python(path: Path, data: bytes, signature: Signature) -> PolicyDocument | str:
    """Return the policy or the message."""
    path.write_bytes(data)
    try:
        return load(path, signature)
    except PolicyFileError as error:
        return str(error)


def by_the_engine(data: bytes, signature: Signature) -> PolicyDocument | str:
    """Return the policy, read from its canonical text, or the message."""
    try:
        return read(engine.Policy(data, signature.to_dict()).json, check=False)
    except engine.PolicyError as error:
        return str(error)


@pytest.mark.parametrize("name", SEEDS)
def test_python_and_the_engine_agree_on_a_mutated_file(
    name: str, signature: Signature, tmp_path: Path
) -> None:
    """A refusal names the fault, and an accepted policy survives writing and reading."""
    seed = build_seed(name, signature)
    text = to_json(seed).replace('"provenance": {}', f'"provenance": {json.dumps(PROVENANCE)}')
    path, count, accepted = tmp_path / "p.json", MUTATIONS // len(SEEDS) // len(WORKLOADS) + 1, 0
    for data in mutations(text, count, f"{name}/{signature.workload}"):
        here, there = by_python(path, data, signature), by_the_engine(data, signature)
        if isinstance(here, str) or isinstance(there, str):
            assert isinstance(here, str), (there, data)
            assert isinstance(there, str), (here, data)
            assert here.startswith(str(path)), here
            assert 10 < len(here) - len(str(path)) < 1000
            assert 10 < len(there) < 1000
            continue
        accepted += 1
        assert here == there, data
        assert read(to_json(here), signature=signature) == here
        assert by_the_engine(to_json(here).encode(), signature) == here
    assert 0 < accepted < count / 2
