from __future__ import annotations

from pathlib import Path

import pytest

from trainer.contest.naming import Names, Settings, UnlikeError, name_runs

USUAL = {
    "workload.name": "tpcc",
    "workload.warehouses": "1",
    "machine.cores": "4",
    "search.name": "guided",
    "search.evaluations": "2000",
    "evaluation.rungs": "[1,2]",
    "validation.cores": "2",
    "seed": "1",
}


def run(*typed: str, **besides: str) -> Settings:
    """A run for which this was typed, over the usual settings and what an experiment says."""
    said = dict(text.split("=", 1) for text in typed)
    whole = {**USUAL, **besides, **{key: said[key] for key in said if key in USUAL}}
    return Settings(Path("runs") / "-".join(typed), said, whole)


def test_what_all_share_is_in_no_name() -> None:
    runs = [run("case=tpcc_1", "machine.cores=48", f"seed={seed}") for seed in (1, 2)]
    assert name_runs(runs, {"case", "seed"}) == [Names("tpcc_1", "guided")] * 2


def test_what_was_typed_over_a_case_is_in_its_name() -> None:
    """However many runs share it, and in whichever of them it was typed."""
    usual = {"workload.warehouses": "2"}
    runs = [run("case=tpcc_2", "workload.warehouses=2"), run("case=tpcc_2", "seed=2", **usual)]
    names = Names("tpcc_2 warehouses=2", "guided")
    assert name_runs(runs, {"case", "seed"}) == [names] * 2
    other = run("case=tpcc_1", "machine.cores=4")
    assert name_runs([*runs, other], {"case", "seed"}) == [*[names] * 2, Names("tpcc_1", "guided")]


def test_a_search_is_named_by_what_tells_its_own_runs_apart() -> None:
    """Budgets of two searches that differ are told beside them, not in their names."""
    few, many = run("search.evaluations=9"), run("search=evolution", "search.evaluations=90")
    assert [names.method for names in name_runs([few, many], set())] == ["guided", "evolution"]
    found = name_runs([few, many, run("search.evaluations=90")], set())
    assert [names.method for names in found] == [
        "guided evaluations=9",
        "evolution",
        "guided evaluations=90",
    ]


def test_the_order_in_which_settings_were_typed_makes_no_other_case() -> None:
    first = [run("machine.cores=8", "workload.warehouses=2"), run("machine.cores=4")]
    second = [run("workload.warehouses=2", "machine.cores=8"), run("workload.warehouses=2")]
    found = [names.case for names in name_runs([*first, *second], set())]
    eight = "cores=8 warehouses=2"
    assert found == [eight, "cores=4 warehouses=1", eight, "cores=4 warehouses=2"]


def test_typing_what_is_usual_changes_no_name() -> None:
    runs = [run("machine.cores=4", "search.evaluations=2000"), run("seed=2")]
    assert name_runs(runs, set()) == [Names("tpcc", "guided")] * 2


def test_the_whole_name_of_a_setting_where_the_last_part_is_not_enough() -> None:
    runs = [
        run(f"machine.cores={cores}", f"validation.cores={others}")
        for cores, others in ((4, 2), (8, 2), (4, 8))
    ]
    found = [names.case for names in name_runs(runs, {"validation.cores"})]
    assert found[0] == "machine.cores=4 validation.cores=2"
    assert len(set(found)) == 3


def test_another_workload_is_named_where_there_are_several() -> None:
    runs = [run(), run("workload=ycsb", **{"workload.name": "ycsb"})]
    assert [names.case for names in name_runs(runs, set())] == ["tpcc", "ycsb"]


def test_what_is_swept_parts_runs_whatever_it_is() -> None:
    runs = [run(f"evaluation.rungs={rungs}") for rungs in ("[1,2]", "[1,3]")]
    found = [names.case for names in name_runs(runs, {"evaluation.rungs"})]
    assert found == ["rungs=[1,2]", "rungs=[1,3]"]


@pytest.mark.parametrize(
    ("besides", "words"),
    [
        ({"evaluation.rungs": "[1,3]"}, "omit one of their sweeps"),
        ({"search.evaluations": "9"}, "or set search.evaluations for both"),
        ({"machine.cores": "8"}, "machine.cores is 4 in one and 8 in the other"),
    ],
)
def test_runs_of_one_name_that_are_not_alike_are_refused(
    besides: dict[str, str], words: str
) -> None:
    """An experiment may say what was not typed."""
    with pytest.raises(UnlikeError, match=words):
        name_runs([run("case=tpcc_1"), run("case=tpcc_1", "seed=2", **besides)], {"case"})


def test_where_champions_are_compared_does_not_matter() -> None:
    runs = [run(), run("seed=2", **{"validation.cores": "8"})]
    assert len(set(name_runs(runs, set()))) == 1
