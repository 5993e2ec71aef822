"""The time budget of a whole training, and the forecast of its duration."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.trainer.fake_run import settings, virtual_settings
from tests.trainer.test_command import QUICK, only_run, run
from trainer.budget import BudgetError, Pacing, TimeBudget
from trainer.checkpoint import Checkpoint
from trainer.config import (
    ChampionConfig,
    RunConfig,
    SearchConfig,
    TrainConfig,
    TrainedObjectiveConfig,
    TuningConfig,
    ValidationConfig,
    VerdictConfig,
)
from trainer.duration import duration_words, parse_duration
from trainer.forecast import Forecast, TimedRounds, forecast
from trainer.phases import Cost, Phase, phase_seconds, shortened
from trainer.scenario import single_scenario

COST = Cost(per_second=2.0, loading=1.0)
BOUNDLESS = SearchConfig(name="evolution", generations=None)


class Clock:
    """A clock set by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def full(**changed: Any) -> TrainConfig:
    """Return the default settings of a training on virtual cores."""
    values: dict[str, Any] = {
        "search": BOUNDLESS,
        "tuning": TuningConfig(),
        "champion": ChampionConfig(),
        "run": RunConfig(),
        "verdict": VerdictConfig(),
        "validation": ValidationConfig(repeats=21, seconds=0.2, warmup=0.02),
    }
    return virtual_settings(None, **{**values, **changed})


def total(config: TrainConfig) -> float:
    return sum(
        phase_seconds(config, single_scenario(config), phase, COST) or 0.0 for phase in Phase
    )


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("5min", 300),
        ("5 min", 300),
        ("1h30min", 5400),
        ("1.5 hours", 5400),
        ("2m30s", 150),
        ("0.5H", 1800),
    ],
)
def test_durations_are_parsed(typed: str, seconds: float) -> None:
    assert parse_duration(typed) == seconds


@pytest.mark.parametrize(
    "typed", ["", "five", "5 parsecs", "-5min", "0", "0s", "min", "5min!", "x5s"]
)
def test_invalid_durations_are_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="such as"):
        parse_duration(typed)


def test_durations_in_words() -> None:
    seconds = [0.25, 12, 60, 312, 3600, 5400]
    words = ["0.2 s", "12 s", "1 min", "5 min 12 s", "1 h", "1 h 30 min"]
    assert [duration_words(one) for one in seconds] == words


@pytest.mark.parametrize("minutes", [3, 5, 10, 30, 600])
def test_everything_fits_in_the_budget(minutes: int) -> None:
    config = full()
    budget = TimeBudget(f"{minutes}min", now=Clock())
    planned = budget.planned(config, single_scenario(config), COST, Phase.SWEEP)
    assert total(planned) <= minutes * 60 * 1.001
    assert planned.search.seconds is not None
    assert planned.search.seconds >= 0.3 * minutes * 60
    if minutes >= 600:  # no phase is shortened, and the search gets the rest
        assert replace(planned, search=config.search) == config
    else:
        assert planned.run.repeats >= 3
        assert planned.champion.rounds >= 3


def test_a_budget_shortens_no_run_that_a_percentile_needs() -> None:
    config = full(objective=TrainedObjectiveConfig(name="p99"))
    budget = TimeBudget("3min", now=Clock())
    planned = budget.planned(config, single_scenario(config), COST, Phase.SWEEP)
    assert planned.run.seconds == config.run.seconds
    assert planned.run.repeats < config.run.repeats
    throughput = budget.planned(full(), single_scenario(config), COST, Phase.SWEEP)
    assert throughput.run.seconds < config.run.seconds


def test_a_front_is_part_of_the_forecast() -> None:
    config = full()
    front = replace(config, objective=TrainedObjectiveConfig(front=["throughput", "p99"]))
    for phase, more in ((Phase.CHOICE, True), (Phase.COMPARISON, True), (Phase.SWEEP, False)):
        one, other = (
            phase_seconds(each, single_scenario(each), phase, COST) or 0.0
            for each in (config, front)
        )
        assert (other > one) is more, phase


def test_runs_of_the_choice_and_the_comparison_settle() -> None:
    config = full()
    pacing = Pacing(config, single_scenario(config))
    pacing.settle(0.0)
    assert pacing.settings(Phase.CHOICE) == config
    pacing.settle(0.5)
    settled = pacing.settings(Phase.CHOICE)
    assert settled.run.warmup == settled.champion.warmup_seconds == 0.5
    assert settled.evaluation == config.evaluation


def test_unused_time_of_a_phase_goes_to_later_phases() -> None:
    config, clock = full(), Clock()
    budget = TimeBudget("5min", now=clock)
    at_first = budget.planned(config, single_scenario(config), COST, Phase.SWEEP)
    clock.now = 200.0
    late = budget.planned(config, single_scenario(config), COST, Phase.COMPARISON)
    clock.now = 240.0
    later = budget.planned(config, single_scenario(config), COST, Phase.COMPARISON)
    for found, left in ((late, 91), (later, 51)):
        needed = sum(
            phase_seconds(found, single_scenario(found), phase, COST) or 0.0
            for phase in (Phase.COMPARISON, Phase.VALIDATION)
        )
        assert needed <= 1.01 * left  # the number of runs is an integer
        assert found.verdict.seconds is not None
        assert found.verdict.seconds < left / 2
    assert late.run.repeats * late.run.seconds >= at_first.run.repeats * at_first.run.seconds
    assert later.run.repeats * later.run.seconds < late.run.repeats * late.run.seconds


def test_a_resumed_search_gets_its_time_in_addition() -> None:
    config = full(search=replace(BOUNDLESS, seconds=1000.0))
    budget = TimeBudget("10min", now=Clock())
    new = budget.planned(config, single_scenario(config), COST, Phase.SEARCH).search.seconds
    again = budget.planned(
        config, single_scenario(config), COST, Phase.SEARCH, searched=50.0
    ).search.seconds
    assert new is not None
    assert again == pytest.approx(new + 50.0)
    # The setting remains a bound.
    assert (
        budget.planned(config, single_scenario(config), COST, Phase.SEARCH, 990.0).search.seconds
        == 1000
    )


def test_a_budget_that_is_too_short_names_the_minimum() -> None:
    config, clock = full(), Clock()
    with pytest.raises(BudgetError, match=r"budget=10s: is too short: .* set budget=(.*) or") as no:
        TimeBudget("10s", now=clock).refuse_too_short(config, single_scenario(config), COST)
    enough = str(no.value).rpartition("budget=")[2].partition(" ")[0]
    budget = TimeBudget(enough, now=clock)
    budget.refuse_too_short(config, single_scenario(config), COST)
    assert total(
        budget.planned(config, single_scenario(config), COST, Phase.SWEEP)
    ) <= parse_duration(enough)


def test_phases_are_shortened_to_a_useful_minimum() -> None:
    config = full()
    for phase in Phase:
        config = shortened(config, phase, 0.0)
    assert (config.run.repeats, config.validation.repeats, config.champion.rounds) == (3, 3, 3)
    assert (config.tuning.rounds, config.tuning.final_rounds) == (1, 2)
    assert config.run.seconds == RunConfig().seconds / 4
    once = full(run=RunConfig(repeats=1))
    assert shortened(once, Phase.COMPARISON, 0.5).run.repeats == 1  # never more than set


def test_without_a_budget_no_setting_changes() -> None:
    config = settings(3)
    assert all(Pacing(config, single_scenario(config)).settings(phase) is config for phase in Phase)
    assert Pacing(config, single_scenario(config)).ends_before(100.0) == 0.0


def test_a_forecast_names_phases_end_and_memory() -> None:
    config = full(search=replace(BOUNDLESS, seconds=120.0))
    found = forecast(config, single_scenario(config), COST, workers=2)
    assert found.total == pytest.approx(total(config))
    assert found.growth == 2 * config.evaluation.grown_mib_max << 20
    assert found.memory > 0
    assert found.most[Phase.COMPARISON] > found.seconds[Phase.COMPARISON]
    times = {Phase.SWEEP: 10.0, Phase.SEARCH: 120.0, Phase.VALIDATION: 0.0}
    told = Forecast(times, {Phase.SWEEP: 20.0}, 2.5, 3 << 30, 1 << 30, 2 << 30).lines(
        datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
    )
    assert told == [
        "forecast: 2 min 10 s, to 12:02 UTC: sweep 10 s (undecided: to 20 s), search 2 min",
        "memory: 3.0 GiB with the databases loaded, which took 2.5 s; they may grow by 1.0 GiB, "
        "and 2.0 GiB are left",
    ]
    times = {Phase.SWEEP: 1.0, Phase.SEARCH: None}
    short = Forecast(times, {}, 0.0, 1, 3 << 30, 2 << 30, "300 generations").lines()
    assert short[0] == (
        "forecast: 1.0 s and the search: sweep 1.0 s, search 300 generations in an unknown time; "
        "search.seconds= or budget= bounds it"
    )
    assert "memory may not suffice" in short[-1]


def test_rounds_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("trainer.forecast.time.monotonic", clock)

    def slow(
        subjects: Any, seconds: float, *, warmup: float, seed: int, check: bool = False
    ) -> Any:
        for number, _ in enumerate(subjects):
            clock.now += 3 * (seconds + warmup)
            yield number, None

    timed = TimedRounds(7.0)
    assert timed.per_second == 7.0
    list(timed.of(slow)([None, None], 0.5, warmup=0.5, seed=1))
    assert timed.per_second == pytest.approx(3.0)


@pytest.fixture
def elsewhere(
    fake_engine: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    return fake_engine


SMALL = [
    *(one for one in QUICK if one != "forecast=false"),
    *("search=evolution", "search.parents=2", "search.children=2", "baselines=[silo]"),
]


def test_a_dry_run_prints_a_forecast_and_writes_nothing(elsewhere: ModuleType) -> None:
    done = run("train", *SMALL, "--dry-run", "search.seconds=600")
    assert done.exit_code == 0, done.output
    assert "forecast: 10 min" in done.stdout
    assert "search 10 min" in done.stdout
    assert "memory: " in done.stdout
    assert not Path("runs").exists()


def test_a_search_bounded_by_a_count_has_no_duration(elsewhere: ModuleType) -> None:
    counted = ["search.generations=3", "search.evaluations=2000"]
    done = run("train", *SMALL, *counted, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "search 3 generations or 2,000 evaluations in an unknown time; search.se" in done.stdout
    done = run("train", *SMALL, *counted, "--dry-run", "search.seconds=600")
    assert "search 10 min at most, or 3 generations or 2,000 evaluations" in done.stdout
    done = run("train", "-m", *SMALL, *counted, "--dry-run", "seed=1,2")
    assert done.stdout.rstrip().endswith(" and 2 searches of unknown time")


def test_a_dry_run_of_a_sweep_forecasts_every_run(elsewhere: ModuleType) -> None:
    swept = ["workload.warehouses=1,2", "seed=1,2", "search.seconds=600"]
    done = run("train", "-m", *SMALL, *swept, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "run 4 of 4: workload.warehouses=2 seed=2" in done.stdout
    assert done.stdout.count("forecast: 10 min") == 2, "a seed changes nothing"
    assert "4 runs in sequence: 40 min" in done.stdout
    assert not Path("runs").exists()
    refused = run("train", "-m", *SMALL, "--dry-run", "sweep=none")
    assert "no such sweep" in refused.output
    assert refused.exit_code == 2


@pytest.mark.slow
def test_a_budget_bounds_the_search_and_is_refused_if_too_short(elsewhere: ModuleType) -> None:
    done = run("train", *SMALL, "budget=2s", "search.generations=null", "search.evaluations=100000")
    assert done.exit_code == 0, done.output
    assert "forecast: " in done.output
    assert "budget=2s: " in done.output
    state = Checkpoint.load(only_run())
    assert 0 < state.evaluations < 100_000
    elsewhere.SECONDS_PER_RUN = 0.05
    done = run("train", *SMALL, "budget=0.3s", "seed=9")
    assert done.exit_code == 2
    assert "budget=0.3s: is too short" in done.output
    assert list(Path("runs").glob("*seed9")) == []
    done = run("train", *SMALL, "budget=soon")
    assert (done.exit_code, "budget=soon: is not a length of time" in done.output) == (2, True)
