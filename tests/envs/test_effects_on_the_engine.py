"""The derived effects of a table's cells hold in runs on the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from envs import Evaluator, of_policy
from envs.timeline import Attempt, Timeline
from policies import PolicyDocument, build_seed, to_json
from policies.effects import Effects, RowEffect

MACHINE = {"kind": "virtual"}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 8, machine=MACHINE)
    yield evaluator
    evaluator.close()


def recorded(evaluator: Evaluator, document: PolicyDocument) -> Timeline:
    subject = of_policy(document.name, to_json(document))
    return evaluator.record(subject, 0.001, warmup=0.0005, seed=1, events=500_000)


def known(effects: Effects, attempt: Attempt) -> set[str]:
    """Return the types that a committed transaction, which made every access, may depend on."""
    (kind,) = [k for k in effects.document.signature.types if k.name == attempt.type]
    after_all = effects.can_depend(kind.states[-1]) | effects.dependencies_from(kind.states[-1])
    return set(after_all)


TABLES = ["ic3", "two_phase_locking_star", *(f"random:{seed}" for seed in range(1, 5))]


@pytest.mark.slow
def test_impossible_dependencies_and_waits_do_not_occur(evaluator: Evaluator) -> None:
    dependencies = waits = 0
    for name in TABLES:
        document = build_seed(name, evaluator.signature)
        effects = Effects(document)
        timeline = recorded(evaluator, document)
        for attempt in timeline.attempts:
            possible = known(effects, attempt)
            for dependency in attempt.dependencies:
                if dependency.attempt is not None:
                    assert timeline.attempts[dependency.attempt].type in possible, name
                    dependencies += 1
            for blocker, rows in waits_by_row(timeline, effects, attempt):
                assert any(row.wait[blocker] != "NO_WAIT" for row in rows), name
                waits += 1
    assert dependencies > 300
    assert waits > 30


def waits_by_row(
    timeline: Timeline, effects: Effects, attempt: Attempt
) -> Iterator[tuple[str, Sequence[RowEffect]]]:
    """Yield, for each wait, the type waited for and the rows that may have caused it.

    Only wait actions wait for an access. They apply before an access, and after a validated one,
    where they are those of the next row.
    """
    for wait in attempt.waits:
        at = [a.state for a in attempt.accesses if a.begin <= wait.begin <= a.end]
        if wait.until == "access" and wait.attempt is not None and at and at[-1] is not None:
            yield timeline.attempts[wait.attempt].type, effects.rows[at[-1] : at[-1] + 2]
