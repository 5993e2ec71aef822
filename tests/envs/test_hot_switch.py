from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from envs import NATIVE, Evaluator, Result, subject_of, untuned
from envs.hot_switch import HotSwitch, Unjudged, judge_switches, split
from envs.result import Interval, SwitchMade


def run(rates: Sequence[float], times: Sequence[float], seconds: float = 1.0) -> Result:
    """Return a run of one type with throughputs by interval and switches at times."""
    intervals = [
        Interval(at * seconds, seconds, {"one": round(rate * seconds)}, {"one": 0})
        for at, rate in enumerate(rates)
    ]
    raw = {"machine": {"kind": "threads", "cores": 2}, "types": {"one": {}}}
    switches = [SwitchMade(time, "table") for time in times]
    found = Result.from_dict(raw)
    return Result(**{**vars(found), "intervals": intervals, "switches": switches})


def only(rates: Sequence[float], at: float) -> HotSwitch:
    (found,) = validated(run(rates, [at]), "old", ["new"])
    return found


def validated(result: Result, first: str, names: Sequence[str]) -> list[HotSwitch]:
    found = judge_switches(result, first, names)
    return [one for one in found if isinstance(one, HotSwitch)]


def test_a_switch_to_a_faster_table_without_a_dip() -> None:
    found = only([100, 99, 100, 101, 150, 200, 199, 201, 200, 200], at=4.0)
    assert (found.steady_before, found.steady_after) == (100.5, 200)
    assert found.lowest == 101
    assert not found.dips
    assert found.settled_s == 2.0  # its second interval equals the steady ones
    words = found.words()
    assert "old → new at 4 s: 0.1 → 0.2 K/s (1.99 ×), no dip" in words
    assert "settled within 2 s" in words
    assert (found.lowest_after, found.start_up) == (150, 0.25)
    assert "until new is steady it has at least 0.1 K/s, 25.0% below its steady median" in words


def test_a_slow_start_without_a_dip_is_reported() -> None:
    found = only([100] * 4 + [170, 150, 200, 200], at=4.0)
    assert not found.dips
    assert (found.lowest, found.lowest_after) == (100, 150)
    assert found.as_dict()["start_up"] == pytest.approx(0.25)


def test_a_dip_falls_below_steady_intervals() -> None:
    before = [*[100] * 5, 96, 100, 100]
    no_further = only([*before, 97, *[100] * 7], at=8.0)
    assert no_further.spread == pytest.approx(0.04)
    assert no_further.fall == pytest.approx(0.03)
    assert not no_further.dips
    deeper = only([*before, 60, *[100] * 7], at=8.0)
    assert deeper.dips
    assert "a dip: the lowest interval around the switch has 0.1 K/s, 40.0% below" in deeper.words()


def test_the_interval_of_the_switch_counts() -> None:
    found = only([100] * 5 + [20] + [100] * 6, at=5.5)
    assert (found.lowest, found.dips) == (20, True)
    assert (
        only([100] * 4 + [20] + [100] * 7, at=5.0).lowest == 20
    )  # the last one before the switch counts too


def test_the_interval_of_the_switch_is_not_evidence_on_the_new_table() -> None:
    found = only([100] * 4 + [110, 200, 200, 200, 200, 200], at=4.9)
    assert (found.lowest, found.lowest_after, found.start_up) == (100, 200, 0)
    assert found.settled_s == pytest.approx(1.1)


def test_throughput_that_never_settles_is_reported() -> None:
    found = only([100] * 4 + [300, 300, 200, 200], at=4.0)
    assert found.settled_s is None
    assert "not settled" in found.words()


def test_each_of_several_switches_has_its_neighbours() -> None:
    result = run([100] * 4 + [200] * 4 + [100] * 4, [4.0, 8.0])
    up, down = validated(result, "a", ["b", "c"])
    assert (up.before, up.after, down.before, down.after) == ("a", "b", "b", "c")
    assert (up.steady_after, down.steady_after) == (200, 100)
    assert not up.dips
    assert not down.dips
    assert up.as_dict()["dips"] is False


def test_an_interrupted_run_reports_its_switches() -> None:
    result = run([100] * 4 + [200] * 4 + [100] * 2, [4.0, 8.0])
    found, other = judge_switches(result, "a", ["b", "c", "d"])
    assert isinstance(found, HotSwitch)
    assert found.after == "b"
    assert other == Unjudged(8.0, "b", "c", 2)
    assert other.words().startswith("b → c at 8 s: no verdict, because only 2 intervals were")
    assert judge_switches(run([100] * 6, []), "a", ["b"]) == []


def test_intervals_by_the_table_they_ran_under() -> None:
    intervals = run([1, 2, 3, 4], []).intervals
    sizes = [len(stretch) for stretch in split(intervals, [1.0, 2.5])]
    assert sizes == [1, 1, 2]
    # An interval that ends at the switch, except for rounding.
    intervals = run([1, 2, 3, 4], [], seconds=0.1).intervals
    assert [len(stretch) for stretch in split(intervals, [0.1 + 0.2 - 1e-16])] == [3, 1]


@pytest.fixture(scope="module")
def virtual() -> Iterator[Evaluator]:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 8, machine={"kind": "virtual"})
    yield evaluator
    evaluator.close()


@pytest.mark.parametrize("kind", ["virtual", "threads"])
def test_the_engine_counts_every_transaction_in_one_interval(kind: str) -> None:
    evaluator = Evaluator({"name": "tpcc", "warehouses": "1"}, 2, machine={"kind": kind})
    seconds = 0.004 if kind == "virtual" else 0.4
    occ, ic3 = (subject_of(name, evaluator.signature, untuned) for name in ("occ", "ic3"))
    result = evaluator.run_switching(
        occ, [(seconds / 2, ic3)], seconds, warmup=seconds / 4, seed=1, intervals=8
    )
    evaluator.close()
    for name, of_type in result.types.items():
        assert sum(one.commits[name] for one in result.intervals) == of_type.commits
        assert sum(one.aborts[name] for one in result.intervals) == of_type.aborts
    assert sum(one.seconds for one in result.intervals) >= seconds * 0.99
    (made,) = result.switches
    assert made.policy == "ic3"
    assert made.at_s >= seconds / 2
    if kind == "virtual":
        assert made.at_s == pytest.approx(seconds / 2)
        assert len(result.intervals) == 8
    assert Result.from_dict(result.as_dict()) == result


def test_on_virtual_cores_it_is_the_same_every_time(virtual: Evaluator) -> None:
    occ, ic3 = (subject_of(name, virtual.signature, untuned) for name in ("occ", "ic3"))

    def measured(at_s: float) -> Result:
        return virtual.run_switching(occ, [(at_s, ic3)], 0.002, warmup=0, seed=1, intervals=4)

    assert measured(0.001) == measured(0.001)
    # Attempts count where their worker begins its next transaction. One that keeps aborting since
    # the first interval is still counted there after the switch.
    assert measured(0.001).intervals[0].commits == measured(0.0015).intervals[0].commits
    assert measured(0.001).intervals[2] != measured(0.0015).intervals[2]
    assert virtual.grown_bytes == 0


def test_only_tables_can_be_switched_to(virtual: Evaluator) -> None:
    occ = subject_of("occ", virtual.signature, untuned)
    with pytest.raises(ValueError, match="silo is no policy table"):
        virtual.run_switching(occ, [(0.001, NATIVE["silo"])], 0.002, warmup=0, seed=1, intervals=2)


def test_a_run_without_switches_has_no_intervals(virtual: Evaluator) -> None:
    occ = subject_of("occ", virtual.signature, untuned)
    result = virtual.run(occ, 0.0005, warmup=0, seed=1)
    assert (result.intervals, result.switches) == ([], [])
    assert not {"intervals", "switches"} & result.as_dict().keys()
