from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from envs import NATIVE, Result
from policies import ACTION_GROUPS, INITIAL_US, Encoding, load
from tests.trainer.fake_run import settings, train
from trainer.checkpoint import Checkpoint
from trainer.config import EvaluationConfig
from trainer.evaluation import MachineSpec, Race, Samples, adapted_backoff, build_backend
from trainer.evaluation.adapted_backoff import AdaptedBackoff
from trainer.evaluation.in_process import InProcess
from trainer.search import Candidate
from trainer.search.space import Space

TYPE, OTHER = "payment", "new_order"


def initial_us(encoding: Encoding, candidate: Candidate, name: str) -> float:
    return encoding.decode(candidate.vector, "x").backoff[name].initial_us


def with_cell(encoding: Encoding, name: str, value: int) -> Candidate:
    """Return OCC's table with another value in one cell."""
    vector = [cell.default for cell in encoding.cells]
    vector[encoding.names.index(name)] = value
    return Candidate(tuple(vector), "mutation")


def adapted_to(**by_type: float) -> Result:
    types = {name: {"backoff_us": us} for name, us in by_type.items()}
    return Result.from_dict({"types": types})


@pytest.fixture
def occ(encoding: Encoding) -> Candidate:
    return Candidate(tuple(cell.default for cell in encoding.cells), "occ")


@pytest.fixture
def backoff(encoding: Encoding) -> AdaptedBackoff:
    return AdaptedBackoff(Space(encoding, ACTION_GROUPS))


def test_a_row_begins_where_its_last_run_ended(
    encoding: Encoding, backoff: AdaptedBackoff, occ: Candidate
) -> None:
    assert backoff.adapted(occ) == occ
    backoff.note(occ, [adapted_to(**{TYPE: 100.0})])
    found = backoff.adapted(occ)
    assert initial_us(encoding, found, TYPE) == 128.0
    assert initial_us(encoding, found, OTHER) == initial_us(encoding, occ, OTHER)
    backoff.note(occ, [adapted_to(**{TYPE: 3.0})])
    assert initial_us(encoding, backoff.adapted(occ), TYPE) == 4.0


def test_a_child_that_inherits_a_row_begins_there_too(
    encoding: Encoding, backoff: AdaptedBackoff, occ: Candidate
) -> None:
    backoff.note(occ, [adapted_to(**{TYPE: 64.0, OTHER: 32.0})])
    child = with_cell(encoding, "payment.read_customer.early_validation", 1)
    assert initial_us(encoding, backoff.adapted(child), TYPE) == 64.0
    changed = with_cell(encoding, f"backoff.{TYPE}.abort[0]", 0)
    assert initial_us(encoding, backoff.adapted(changed), TYPE) == 1.0
    assert initial_us(encoding, backoff.adapted(changed), OTHER) == 32.0


def test_scenarios_share_the_geometric_mean(
    encoding: Encoding, backoff: AdaptedBackoff, occ: Candidate
) -> None:
    backoff.note(occ, [adapted_to(**{TYPE: 2.0}), adapted_to(**{TYPE: 128.0})])
    assert initial_us(encoding, backoff.adapted(occ), TYPE) == 16.0


def test_a_search_without_backoffs_changes_none(encoding: Encoding, occ: Candidate) -> None:
    backoff = AdaptedBackoff(Space(encoding, ["dirty_read"]))
    backoff.note(occ, [adapted_to(**{TYPE: 100.0})])
    assert backoff.adapted(occ) == occ


def test_the_memory_is_bounded_and_saved(
    backoff: AdaptedBackoff,
    encoding: Encoding,
    occ: Candidate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(adapted_backoff, "ROWS_MAX", 2)
    rows = [with_cell(encoding, f"backoff.{TYPE}.abort[{prior}]", 0) for prior in range(3)]
    for row in rows:
        backoff.note(row, [adapted_to(**{TYPE: 64.0})])
    again = AdaptedBackoff(Space(encoding, ACTION_GROUPS))
    again.load_state_dict(json.loads(json.dumps(backoff.state_dict())))
    for memory in (backoff, again):
        begun = [initial_us(encoding, memory.adapted(row), TYPE) for row in rows]
        assert begun == [1.0, 64.0, 64.0]


def test_the_next_rung_begins_where_the_last_one_ended(
    fake_engine: ModuleType,
    encoding: Encoding,
    backoff: AdaptedBackoff,
    occ: Candidate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fake_engine, "ADAPTED_US", 16.0)
    config = EvaluationConfig(backend="in_process", rungs=[1, 2])
    backend = build_backend(config, MachineSpec({"name": "tpcc"}, 2, 1, 1 << 30))
    begun: list[float] = []
    evaluate = InProcess.evaluate

    def note(self: InProcess, subjects: list[object], *rest: object, **more: object) -> object:
        document = json.loads(subjects[0].policy)  # type: ignore[attr-defined]
        begun.append(document["backoff"][TYPE]["initial_us"])
        return evaluate(self, subjects, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(InProcess, "evaluate", note)
    samples = Samples()
    Race(backend, encoding, config, backoff).run([occ], [NATIVE["silo"]], samples, 1)
    assert begun == [1.0, 16.0]
    assert samples.slices(occ) == 3, "the samples are those of one table"


@pytest.mark.slow
def test_the_champion_begins_where_it_has_adapted_to(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_engine, "ADAPTED_US", 4.0)
    outcome = train(settings(6), tmp_path)
    policy = load(tmp_path / "policy.json")
    assert outcome.champion.origin not in ("occ", "ic3", "two_phase_locking_star")
    assert {row.initial_us for row in policy.backoff.values()} == {4.0}
    assert policy.provenance["machine"]["cores"] == 2
    state = Checkpoint.load(tmp_path)
    assert state.backoff
    assert all(INITIAL_US[row[1]] for row, _ in state.backoff)
