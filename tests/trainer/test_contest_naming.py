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
    """Return a run with typed settings, on top of defaults and those of an experiment."""
    said = dict(text.split("=", 1) for text in typed)
    whole = {**USUAL, **besides, **{key: said[key] for key in said if key in USUAL}}
    return Settings(Path("runs") / "-".join(typed), said, whole)


def test_shared_settings_are_not_in_names() -> None:
    runs = [run("case=tpcc_1", "machine.cores=48", f"seed={seed}") for seed in (1, 2)]
    assert name_runs(runs, {"case", "seed"}) == [Names("tpcc_1", "guided")] * 2


def test_settings_typed_for_a_case_are_in_its_name() -> None:
    """It does not matter how many runs share them, or in which of these they were typed."""
    usual = {"workload.warehouses": "2"}
    runs = [run("case=tpcc_2", "workload.warehouses=2"), run("case=tpcc_2", "seed=2", **usual)]
    names = Names("tpcc_2 warehouses=2", "guided")
    assert name_runs(runs, {"case", "seed"}) == [names] * 2
    other = run("case=tpcc_1", "machine.cores=4")
    assert name_runs([*runs, other], {"case", "seed"}) == [*[names] * 2, Names("tpcc_1", "guided")]


def test_a_search_is_named_by_differences_among_its_own_runs() -> None:
    """Budgets that differ between searches are shown next to the names, not in them."""
    few, many = run("search.evaluations=9"), run("search=evolution", "search.evaluations=90")
    assert [names.method for names in name_runs([few, many], set())] == ["guided", "evolution"]
    found = name_runs([few, many, run("search.evaluations=90")], set())
    assert [names.method for names in found] == [
        "guided evaluations=9",
        "evolution",
        "guided evaluations=90",
    ]


def test_the_order_of_typed_settings_does_not_matter() -> None:
    first = [run("machine.cores=8", "workload.warehouses=2"), run("machine.cores=4")]
    second = [run("workload.warehouses=2", "machine.cores=8"), run("workload.warehouses=2")]
    found = [names.case for names in name_runs([*first, *second], set())]
    eight = "cores=8 warehouses=2"
    assert found == [eight, "cores=4 warehouses=1", eight, "cores=4 warehouses=2"]


def test_typing_a_default_changes_no_name() -> None:
    runs = [run("machine.cores=4", "search.evaluations=2000"), run("seed=2")]
    assert name_runs(runs, set()) == [Names("tpcc", "guided")] * 2


def test_ambiguous_settings_have_their_full_name() -> None:
    runs = [
        run(f"machine.cores={cores}", f"validation.cores={others}")
        for cores, others in ((4, 2), (8, 2), (4, 8))
    ]
    found = [names.case for names in name_runs(runs, {"validation.cores"})]
    assert found[0] == "machine.cores=4 validation.cores=2"
    assert len(set(found)) == 3


def test_the_workload_is_named_if_there_are_several() -> None:
    runs = [run(), run("workload=ycsb", **{"workload.name": "ycsb"})]
    assert [names.case for names in name_runs(runs, set())] == ["tpcc", "ycsb"]


def test_every_swept_setting_distinguishes_runs() -> None:
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
def test_different_runs_with_one_name_are_refused(besides: dict[str, str], words: str) -> None:
    """An experiment can set what was not typed."""
    with pytest.raises(UnlikeError, match=words):
        name_runs([run("case=tpcc_1"), run("case=tpcc_1", "seed=2", **besides)], {"case"})


def test_settings_of_the_comparison_of_champions_do_not_matter() -> None:
    runs = [run(), run("seed=2", **{"validation.cores": "8"})]
    assert len(set(name_runs(runs, set()))) == 1
