"""Transactions that update one hot row by a table follow each other without getting in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from envs import NATIVE, Evaluator, Result, Subject, of_policy
from policies import PolicyDocument, build_seed, to_json

CORES = 48


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    options = {"theta": "1.2", "records": "2000000", "own_records": "10000"}
    evaluator = Evaluator({"name": "micro", **options}, CORES, machine={"kind": "virtual"})
    yield evaluator
    evaluator.close()


def following(evaluator: Evaluator) -> PolicyDocument:
    """Return the table that reads hot rows dirty and publishes their updates, and is Silo's
    otherwise."""
    silo = build_seed("occ", evaluator.signature)
    rows = tuple(
        replace(row, read_version="DIRTY", write_visibility="PUBLIC")
        if row.access == "update_hot"
        else replace(row, early_validation=False)
        for row in silo.cc
    )
    return replace(silo, name="following", cc=rows)


def measured(evaluator: Evaluator, subject: Subject) -> Result:
    return evaluator.run(subject, 0.002, warmup=0.001, seed=1)


def test_followers_neither_fail_nor_queue_for_the_latch(evaluator: Evaluator) -> None:
    table = following(evaluator)
    learned = measured(evaluator, of_policy(table.name, to_json(table)))
    silo = measured(evaluator, NATIVE["silo"])
    assert learned.abort_rate < 0.01
    # If readers of one version get in each other's way, or all cores look at the latch of the list
    # all the time, the table falls below Silo.
    assert learned.throughput > 1.5 * silo.throughput
