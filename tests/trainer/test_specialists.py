from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envs import Arrivals, Result
from envs.result import Schedule
from policies import Encoding, Signature
from tests.trainer.test_guided import result_of
from tests.trainer.test_searches import make
from trainer.search import Candidate, Measured, Search
from trainer.search.blame import Blame
from trainer.search.effect import points
from trainer.search.elite import Elite
from trainer.search.layout import Layout
from trainer.search.pace import Pace, pace_of
from trainer.search.specialists import KEPT, Specialists, blame_of_others

MIX = (49, 47, 4)
SHARES = (0.5, 0.4, 0.1)
ALIKE = Blame((1 / 26,) * 26, (1 / 3,) * 3, 0.5)


def elite(number: int, *us: float, fitness: float = 1.0) -> Elite:
    """Return a table with a number and the mean times of its transactions, by type."""
    return Elite(Candidate((number,), ""), fitness, 1, ALIKE, Pace(us, SHARES))


BEST = elite(0, 100.0, 10.0, 60.0)  # 60 µs in the mix: 50 + 4 + 6


def specialists(*known: Elite, best: Elite = BEST) -> Specialists:
    """Add tables one by one; tables whose numbers have equal tens are of one kind."""
    found = Specialists(3, lambda one: one.vector[0] // 10)
    for one in (best, *known):
        found.tell([one], best)
    return found


def promised(found: Specialists, best: Elite = BEST) -> dict[int, float]:
    """Return the promised gains, by the numbers of tables."""
    return {one.elite.candidate.vector[0]: one.gain for one in found.promises(best)}


def ran(signature: Signature, **types: tuple[int, int, float]) -> Result:
    """Return a result with commits, unfinished transactions and seconds by type."""
    result = result_of(signature)
    kinds = {
        name: replace(result.types[name], commits=commits, unfinished=unfinished, time_s=time_s)
        for name, (commits, unfinished, time_s) in types.items()
    }
    return replace(result, types=result.types | kinds)


def test_a_pace_has_time_and_share_of_each_type(tpcc: Signature) -> None:
    result = ran(tpcc, new_order=(90, 10, 9e-3), payment=(90, 0, 9e-4), delivery=(0, 10, 0.02))
    pace = pace_of(tpcc, [result])
    assert pace is not None
    assert pace.us == pytest.approx((100.0, 10.0, 20_000.0))
    assert pace.shares == pytest.approx((0.5, 0.45, 0.05))
    assert pace.mean_us == pytest.approx(50 + 4.5 + 1000)
    assert Pace.from_json(json.loads(json.dumps(pace.as_json()))) == pace


def test_of_several_scenarios_it_is_the_geometric_mean(tpcc: Signature) -> None:
    one = ran(tpcc, new_order=(10, 0, 1e-4), payment=(10, 0, 1e-4), delivery=(10, 0, 1e-4))
    two = ran(tpcc, new_order=(10, 0, 4e-4), payment=(10, 0, 1e-4), delivery=(10, 0, 9e-4))
    pace = pace_of(tpcc, [one, two])
    assert pace is not None
    assert pace.us == pytest.approx((20.0, 10.0, 30.0))


def test_a_type_without_attempts_has_no_share(tpcc: Signature) -> None:
    pace = pace_of(tpcc, [ran(tpcc, new_order=(9, 0, 9e-6), payment=(9, 0, 9e-6))])
    assert pace == Pace((1.0, 1.0, 0.0), (0.5, 0.5, 0.0))


def test_open_loops_and_deferring_schedules_have_no_pace(tpcc: Signature) -> None:
    one = ran(tpcc, new_order=(9, 0, 1e-6), payment=(9, 0, 1e-6), delivery=(9, 0, 1e-6))
    by_a_clock = replace(one, arrivals=Arrivals())
    left_with_others = replace(one, schedule=Schedule(moved=1))
    of_old = ran(tpcc, new_order=(9, 0, 0.0), payment=(9, 0, 0.0), delivery=(9, 0, 0.0))
    for result in (by_a_clock, left_with_others, of_old, result_of(tpcc)):
        assert pace_of(tpcc, [one, result]) is None
    assert pace_of(tpcc, [one, replace(one, schedule=Schedule(overtaking=1))]) is not None
    assert pace_of(tpcc, []) is None


def test_a_specialist_promises_the_time_it_saves_the_best() -> None:
    found = specialists(elite(10, 20.0, 10.0, 9000.0), elite(20, 200.0, 5.0, 60.0))
    assert promised(found) == pytest.approx({10: 40 / 60, 20: 2 / 60})


def test_the_fastest_table_leaves_no_gain() -> None:
    assert promised(specialists(elite(10, 200.0, 20.0, 70.0))) == {}


def test_a_single_type_has_no_specialists() -> None:
    found = Specialists(1, lambda one: one.vector)
    best, quicker = (
        Elite(Candidate((0,), ""), 1.0, 1, ALIKE, Pace((us,), (1.0,))) for us in (2, 1)
    )
    found.tell([quicker], best)
    assert found.promises(best) == []


def test_the_fastest_are_kept_with_one_of_each_kind() -> None:
    alike = [elite(10 + n, 50.0 - n, 90.0, 90.0) for n in range(3)]
    others = [elite(20 + 10 * n, 60.0 + n, 90.0, 90.0) for n in range(KEPT)]
    assert list(promised(specialists(*alike, *others))) == [12, 20, 30]


def test_a_table_measured_again_keeps_its_place() -> None:
    found = specialists(elite(10, 50.0, 90.0, 90.0), elite(10, 80.0, 90.0, 90.0))
    assert promised(found) == pytest.approx({10: 10.0 / 60})


def test_poor_and_unknown_tables_displace_no_specialist() -> None:
    sound = elite(50, 50.0, 90.0, 90.0)
    hopeless = [elite(10 * n, 1.0, 1.0, 1.0, fitness=0.05) for n in range(1, 5)]
    failed = elite(60, 1.0, 1.0, 1.0, fitness=0.0)
    unknown = Elite(Candidate((70,), ""), 1.0, 1, ALIKE, None)
    never_begun = Elite(
        Candidate((80,), ""), 1.0, 1, ALIKE, Pace((0.0, 90.0, 90.0), (0.0, 0.5, 0.5))
    )
    found = specialists(sound, *hopeless, failed, unknown, never_begun)
    assert promised(found) == pytest.approx({50: 25 / 60})
    assert found.promises(unknown) == []


def test_a_better_best_drops_poor_specialists() -> None:
    found = specialists(elite(10, 20.0, 90.0, 9000.0, fitness=0.2))
    assert promised(found)
    better = elite(1, 100.0, 10.0, 60.0, fitness=3.0)
    found.tell([better], better)
    assert found.promises(better) == []


def test_specialists_survive_their_state() -> None:
    before = specialists(elite(10, 20.0, 10.0, 9000.0))
    after = Specialists(3, lambda one: one.vector[0] // 10)
    after.load_state_dict(json.loads(json.dumps(before.state_dict(), allow_nan=False)))
    assert promised(after) == promised(before) != {}


def test_a_specialist_is_blamed_where_it_is_slower_than_the_best(encoding: Encoding) -> None:
    layout = Layout(encoding)
    # It waited before NewOrder's first access and before Delivery's last.
    waits = [0.9, *[0.002] * 24, 0.052]
    one = replace(elite(10, 20.0, 20.0, 460.0), blame=Blame(tuple(waits), (1 / 3,) * 3, 0.5))
    blame = blame_of_others(layout, one, BEST, 0.2)
    # It is slower by 0.4 · 10 and 0.1 · 400 µs.
    types = (0.2 / 3, 0.8 * 4 / 44 + 0.2 / 3, 0.8 * 40 / 44 + 0.2 / 3)
    assert blame.types == pytest.approx(types)
    for number, part in enumerate(types):
        states = [at for at, kind in enumerate(layout.type_of) if kind == number]
        assert sum(blame.states[at] for at in states) == pytest.approx(part)
    assert blame.states[25] == pytest.approx(types[2] * 0.052 / (0.052 + 7 * 0.002))
    assert blame_of_others(layout, BEST, BEST, 0.2) == BEST.blame


def test_a_slower_type_without_lost_time_is_blamed_uniformly(
    encoding: Encoding,
) -> None:
    """It may just have many accesses; with `search.even=0` nothing else would blame them."""
    layout = Layout(encoding)
    waits = tuple(float(kind == 0) / layout.type_of.count(0) for kind in layout.type_of)
    one = replace(elite(10, 20.0, 10.0, 460.0), blame=Blame(waits, (1 / 3,) * 3, 0.5))
    blame = blame_of_others(layout, one, BEST, 0.0)
    delivery = [part for part, kind in zip(blame.states, layout.type_of, strict=True) if kind == 2]
    assert delivery == pytest.approx([1 / len(delivery)] * len(delivery))
    assert sum(blame.states) == pytest.approx(1.0)


class TwoSteps:
    """A fitness that two steps triple, while either alone is no gain.

    The first step makes NewOrder fast, and Delivery very slow until the second step. Every
    publication slows all types.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._layout = Layout(encoding)
        new_order, _, delivery = encoding.signature.types
        self._first = self._layout.validate(new_order.states[-1])
        self._second = self._layout.write(delivery.states[1])

    def measured(self, candidate: Candidate) -> Measured:
        published = points(self._layout, candidate.vector)
        few = len(published) < 5
        first = few and candidate.vector[self._first]
        second = few and candidate.vector[self._second]
        us = (10.0 if first else 190.0, 10.0, 10.0 if second or not first else 4000.0)
        seconds = [n * one * 1e-6 * (1 + len(published)) for n, one in zip(MIX, us, strict=True)]
        types = zip(self._layout.signature.type_names, MIX, seconds, strict=True)
        result = ran(self._layout.signature, **{name: (n, 0, s) for name, n, s in types})
        fitness = 3e-3 / sum(seconds)
        return Measured(fitness, scores=(fitness,), results=(result,))


def evaluations_until(search: Search, steps: TwoSteps, good: float) -> int:
    """Return the number of evaluations until a table is that good; 400 if none is."""
    done = 0
    while done < 400:
        asked = search.ask(search.batch)
        found = [steps.measured(one) for one in asked]
        search.tell(asked, found)
        done += len(asked)
        if max(one.fitness for one in found) >= good:
            break
    return done


@pytest.mark.slow
def test_a_gain_that_needs_two_steps_is_found(encoding: Encoding) -> None:
    def median(specialists: float) -> int:
        counts = [
            evaluations_until(
                make("guided", encoding, seed, specialists=specialists), TwoSteps(encoding), 0.9
            )
            for seed in range(1, 6)
        ]
        return sorted(counts)[2]

    assert 2 * median(0.5) < median(0.0)


def play_steps(search: Search, steps: TwoSteps, generations: int) -> list[list[Candidate]]:
    asked = []
    for _ in range(generations):
        asked.append(search.ask(search.batch))
        search.tell(asked[-1], [steps.measured(one) for one in asked[-1]])
    return asked


def has_specialists(search: Search) -> bool:
    return any(search.state_dict()["specialists"])


def test_a_search_with_specialists_resumes_identically(
    encoding: Encoding,
) -> None:
    straight, steps = make("guided", encoding), TwoSteps(encoding)
    play_steps(straight, steps, 4)
    state = json.loads(json.dumps(straight.state_dict(), allow_nan=False))
    assert has_specialists(straight)
    resumed = make("guided", encoding, 99)
    resumed.load_state_dict(state)
    assert play_steps(resumed, steps, 3) == play_steps(straight, steps, 3)
    # Specialists have an effect: without them the search continues differently.
    otherwise = make("guided", encoding, 99)
    otherwise.load_state_dict(state | {"specialists": [[], [], []]})
    straight.load_state_dict(state)
    assert play_steps(otherwise, steps, 3) != play_steps(straight, steps, 3)


def test_worst_case_fitness_has_no_specialists(encoding: Encoding) -> None:
    steps, search = TwoSteps(encoding), make("guided", encoding)
    for _ in range(4):
        asked = search.ask(search.batch)
        found = [steps.measured(one) for one in asked]
        # The results are of one of two scenarios.
        search.tell(asked, [replace(one, scores=(one.fitness, 9.0)) for one in found])
    assert not has_specialists(search)


def test_a_child_of_a_specialist_succeeds_as_an_elite(encoding: Encoding) -> None:
    steps, search = TwoSteps(encoding), make("guided", encoding, specialists=1.0, again=0)
    play_steps(search, steps, 3)
    elites = search.state_dict()["elites"]
    asked = search.ask(search.batch)
    # All children are slightly worse than the last elite, but better than most of their parents.
    won = search.state_dict()["credit"]["won"]
    search.tell(asked, [Measured(elites[-1][2] - 1e-6) for _ in asked])
    assert sum(search.state_dict()["credit"]["won"].values()) <= sum(won.values())


def test_a_run_begun_without_specialists_resumes(encoding: Encoding) -> None:
    search, steps = make("guided", encoding), TwoSteps(encoding)
    play_steps(search, steps, 4)
    state = search.state_dict()
    del state["specialists"]
    for one in state["elites"]:
        one.pop()
    search = make("guided", encoding)
    search.load_state_dict(state)
    assert not has_specialists(search)
    play_steps(search, steps, 3)
    assert has_specialists(search)
