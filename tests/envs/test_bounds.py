from __future__ import annotations

import pytest

from envs import Subject, UnknownPolicyError, subject_of, untuned
from envs.bounds import measured_names, with_bounds
from envs.comparison import Comparison, Row
from envs.engine_interface import load_engine
from envs.workload import workload_signature


def row(name: str, ratio: float) -> Row:
    return Row(Subject(name, name), ratios=[ratio, ratio])


def test_a_bound_is_measured_as_its_protocols() -> None:
    names = ["ic3", "cormcc_bound", "silo"]
    assert measured_names(names) == ["ic3", "silo", "two_phase_locking"]


@pytest.mark.parametrize(("locking", "best"), [(0.7, "silo"), (1.4, "two_phase_locking")])
def test_a_bound_has_the_runs_of_the_better_protocol(locking: float, best: str) -> None:
    compared = Comparison([row("silo", 1.0), row("two_phase_locking", locking)])
    found = with_bounds(compared, ["cormcc_bound"])
    assert found.rows[:2] == compared.rows
    (bound,) = found.rows[2:]
    assert bound.subject == Subject("cormcc_bound", best)
    assert bound.ratio == max(1.0, locking)


def test_a_comparison_that_was_cut_short_has_no_bound() -> None:
    compared = Comparison([row("silo", 1.0)])
    assert with_bounds(compared, ["cormcc_bound"]).rows == compared.rows


def test_a_bound_is_no_policy_elsewhere() -> None:
    signature = workload_signature(load_engine(), {"name": "smallbank"})
    with pytest.raises(UnknownPolicyError, match="give silo and two_phase_locking instead"):
        subject_of("cormcc_bound", signature, untuned)
