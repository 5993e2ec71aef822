"""The caption of a table about its runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envs import NATIVE, Comparison, ComparisonPlan, Evaluator, Row, compare, comparison_table
from envs.windows import runs_words, window_remarks
from trainer.command.output import as_text

SUBJECTS = [NATIVE["silo"], NATIVE["two_phase_locking"]]


@pytest.fixture
def compared(evaluator: Evaluator) -> Comparison:
    return compare(evaluator.run_round, SUBJECTS, ComparisonPlan(0.5, 3, 0.0), seed=1)


def measured(row: Row, number: int, seconds: float) -> None:
    row.repeats[number - 1] = replace(row.repeats[number - 1], duration_s=seconds)


def test_the_caption_has_the_requested_length(compared: Comparison) -> None:
    measured(compared.rows[0], 1, 0.0)
    words = " ".join(as_text(comparison_table(compared, "")).split())
    assert "median of 3 interleaved runs of 0.5 s each" in words
    assert "run 1 of silo measured 0 s" in words


@pytest.mark.parametrize("seconds", [0.198, 0.435, 0.489, 0.511, 1.05])
def test_a_window_of_another_length_is_named(compared: Comparison, seconds: float) -> None:
    measured(compared.rows[1], 2, seconds)
    assert window_remarks(compared) == [f"run 2 of two_phase_locking measured {seconds:.3g} s"]


@pytest.mark.parametrize("seconds", [0.495, 0.5, 0.5001, 0.509])
def test_a_window_of_the_requested_length_is_not_mentioned(
    compared: Comparison, seconds: float
) -> None:
    measured(compared.rows[1], 2, seconds)
    assert window_remarks(compared) == []


def test_a_run_that_committed_nothing_is_named(compared: Comparison) -> None:
    row = compared.rows[0]
    row.repeats[2] = replace(row.repeats[2], commits=0)
    assert window_remarks(compared) == ["run 3 of silo committed nothing"]


def test_a_few_of_many_unusual_runs_are_named(compared: Comparison) -> None:
    for row in compared.rows:
        for number in (1, 2, 3):
            measured(row, number, 0.2)
    assert len(window_remarks(compared)) == 4
    assert window_remarks(compared)[-1] == "and so did 3 more"


def test_a_document_without_a_requested_length_has_its_usual_length(
    compared: Comparison,
) -> None:
    measured(compared.rows[0], 1, 0.1)
    document = compared.as_dict()
    assert Comparison.from_dict(document).seconds == 0.5
    document.pop("seconds")
    assert runs_words(Comparison.from_dict(document)) == (
        "median of 3 interleaved runs of 0.5 s each"
    )


def test_one_run_has_no_median(evaluator: Evaluator) -> None:
    comparison = compare(evaluator.run_round, SUBJECTS, ComparisonPlan(0.25, 1, 0.0), seed=1)
    assert runs_words(comparison) == "one run of 0.25 s each, which has no spread"
